// Package vantages finds servers whose answers take the same time at clients near and far. It compares
// captures that were made at several clients, the vantages, and needs no common clock: each time is the
// difference of two time stamps of one capture. It is not package diff, which follows datagrams from
// one point to another.
//
// A Collector watches the run over one capture. A request goes out and its answer comes back: that time
// goes to the series of the server and the kind of answer. A TCP handshake with the server's host, or an
// ICMP echo, is timed as well: these come from the host's system, and show how long the path is.
//
// Compare then takes two captures at a time that asked the same server. The path to it is known by the
// most trusted evidence that both have: handshakes, echoes, messages that only the server itself can
// make, other ports of its host. Where the paths differ and the answers do not, something else than the
// server answers, or answers are held back. Delays that an honest server causes do not count: it
// answers once a frame, it is busy, and jitter moves both.
package vantages

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"qsniff/dissect"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// Collector times answers and paths in one capture. It implements track.Listener and track.Watcher, and
// has to be used as both.
type Collector struct {
	servers  *lru.Table[track.End, load]
	answers  seriesTable
	paths    seriesTable
	repeated *lru.Table[exchangeID, struct{}]
	trips    *lru.Table[tripKey, trip]
	kinds    []Kind          // of answers
	numbers  map[Kind]uint32 // of these: protocols declare a fixed number of types, which bounds both
	evicted  Evicted
}

// load is how often a server was asked.
type load struct{ asked, answered uint64 }

// exchangeID is the frame of an exchange's first request.
type exchangeID uint64

// Hash mixes the key with the seed.
func (e exchangeID) Hash(seed uint64) uint64 { return lru.Mix(seed, uint64(e)) }

// Evicted counts what was evicted before the end of a capture.
type Evicted struct {
	Servers  uint64 `json:"servers_evicted" jsonschema:"servers, evicted"`
	Answers  uint64 `json:"answers_evicted" jsonschema:"series of answers, evicted"`
	Paths    uint64 `json:"paths_evicted" jsonschema:"series of handshakes and echoes, evicted"`
	Trips    uint64 `json:"trips_evicted" jsonschema:"handshakes and echoes, evicted before their second packet"`
	Repeated uint64 `json:"repeated_evicted" jsonschema:"exchanges with repeated requests, evicted"` // the time of their answer counts
}

// Capture is what a capture shows.
type Capture struct {
	Evicted Evicted
	loads   map[track.End]load
	byHost  map[track.Host][]Series // in the order of compareSeries
}

// NewCollector returns an empty collector with tables of scale times the default size.
func NewCollector(scale float64) *Collector {
	n := func(n int) int { return max(1, int(float64(n)*scale)) }
	return &Collector{servers: lru.New[track.End, load](n(maxServers)), answers: newSeriesTable(n(maxAnswers)), paths: newSeriesTable(n(maxPaths)),
		repeated: lru.New[exchangeID, struct{}](n(maxRepeated)), trips: lru.New[tripKey, trip](n(maxTrips)), numbers: map[Kind]uint32{}}
}

// number returns the number of a kind. Types of one name are one kind.
func (c *Collector) number(k Kind) uint32 {
	n, ok := c.numbers[k]
	if ok {
		return n
	}
	i := slices.IndexFunc(c.kinds, func(l Kind) bool { return k.IsTCP == l.IsTCP && k.compare(l) == 0 })
	if i < 0 {
		i, c.kinds = len(c.kinds), append(c.kinds, k)
	}
	c.numbers[k] = uint32(i)
	return uint32(i)
}

// AddFact adds a message: a request counts, and of a reply its time. The time does not count where a
// request was repeated: which one was answered is unknown.
func (c *Collector) AddFact(f *track.Fact, _ []track.Found, _ *track.ServerInfo) {
	switch {
	case f.Type == nil || f.ID == 0:
	case f.Step == track.Again:
		if _, evicted := c.repeated.Put(exchangeID(f.ID)); evicted != nil {
			c.evicted.Repeated++
		}
	case f.Step == track.Ask:
		if isTimed(f) && !f.TCP {
			c.findServer(f.Server).asked++
		}
	case (f.Step == track.Answer || f.Step == track.Challenge) && isTimed(f):
		if f.Step == track.Answer && !f.TCP {
			c.findServer(f.Server).answered++
		}
		if f.Took >= 0 && c.repeated.Peek(exchangeID(f.ID)) == nil {
			k := seriesKey{track.EndOf(f.Server), c.number(Kind{Answers, f.Proto, f.Type, f.TCP})}
			c.answers.find(k).add(f.Took, f.Frame, f.TTL)
		}
	}
}

// AddFinding ignores findings: they have no times.
func (c *Collector) AddFinding(uint64, int64, netip.AddrPort, netip.AddrPort, track.Found) {}

func (c *Collector) findServer(a netip.AddrPort) *load {
	s, evicted := c.servers.Put(track.EndOf(a))
	if evicted != nil {
		c.evicted.Servers++
	}
	return s
}

// isTimed reports whether a message is of a question whose answers are timed.
func isTimed(f *track.Fact) bool { return f.Type.Asks.Has(dissect.Public | ownWork) }

// Capture returns what the capture shows. The collector must not be used afterwards.
func (c *Collector) Capture() *Capture {
	x := &Capture{Evicted: c.evicted, loads: map[track.End]load{}, byHost: map[track.Host][]Series{}}
	x.Evicted.Answers, x.Evicted.Paths = c.answers.evicted, c.paths.evicted
	for k, s := range c.servers.All() {
		x.loads[k] = *s
	}
	for _, s := range c.paths.list(c.answers.list(nil, c.kinds), pathKinds[:]) {
		h := track.HostOf(s.End)
		x.byHost[h] = append(x.byHost[h], s)
	}
	for _, all := range x.byHost {
		slices.SortFunc(all, compareSeries)
	}
	return x
}

// Origin is what a series of times is made of.
type Origin uint8

// The origins.
const (
	Answers    Origin = iota // from a request to the answer
	Handshakes               // from a SYN to the SYN-ACK
	Echoes                   // from an ICMP echo request to its reply
	numOrigins
)

var originNames = [numOrigins]string{"answer", "tcp_handshake", "icmp_echo"}

// String is the name in output.
func (o Origin) String() string { return originNames[o] }

// Kind is what a series is of: Proto, Type and IsTCP are set of Answers.
type Kind struct {
	Origin Origin
	Proto  *dissect.Proto
	Type   *dissect.Type
	IsTCP  bool
}

// pathKinds are the kinds without a type, by origin.
var pathKinds = [numOrigins]Kind{Handshakes: {Origin: Handshakes}, Echoes: {Origin: Echoes}}

// Name is what people call it: the type of the message, or the origin.
func (k Kind) Name() string {
	switch {
	case k.Origin == Handshakes:
		return "TCP handshake"
	case k.Origin == Echoes:
		return "ICMP echo"
	case k.Type == nil: // of no series
		return ""
	}
	return k.Type.Name
}

// Protocol is the name of that of Answers, empty of others.
func (k Kind) Protocol() string {
	if k.Proto == nil {
		return ""
	}
	return k.Proto.Name
}

// compare orders kinds: answers first, by name.
func (k Kind) compare(l Kind) int {
	return cmp.Or(cmp.Compare(k.Origin, l.Origin), cmp.Compare(k.Protocol(), l.Protocol()), cmp.Compare(k.Name(), l.Name()))
}

// Series sums up the times of one kind at one end.
type Series struct {
	Kind
	End    netip.AddrPort // of the server, or of its host: an echo has no port
	Count  uint64
	Least  time.Duration
	Median time.Duration
	TTL    uint8  // of the fastest reply, or its hop limit; 0 if it is not known
	Frame  uint64 // of the fastest reply
}

// compareSeries orders series by kind and end.
func compareSeries(a, b Series) int {
	return cmp.Or(a.Kind.compare(b.Kind), a.End.Compare(b.End), cmp.Compare(bit(a.IsTCP), bit(b.IsTCP)))
}

// bit is 1 if b is set.
func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// spread returns by how much the median exceeds the least.
func (s *Series) spread() time.Duration { return max(0, s.Median-s.Least) }

// isEnough reports whether there are enough times to compare.
func (s *Series) isEnough() bool {
	if s.Origin == Answers {
		return s.Count >= leastAnswers
	}
	return s.Count >= leastTrips
}

// seriesKey is a series of a capture.
type seriesKey struct {
	end  track.End
	kind uint32 // index in Collector.kinds
}

// Hash mixes the key with the seed.
func (k seriesKey) Hash(seed uint64) uint64 { return lru.Mix(k.end.Hash(seed), uint64(k.kind)) }

// times is a series while times are added.
type times struct {
	count uint64
	least int64 // nanoseconds
	frame uint64
	ttl   uint8
	all   *hdr.Histogram // in units
}

// add adds a time in nanoseconds.
func (t *times) add(nanos int64, frame uint64, ttl uint8) {
	if t.count == 0 || nanos < t.least {
		t.least, t.frame, t.ttl = nanos, frame, ttl
	}
	t.count++
	_ = t.all.RecordValue(min(nanos, int64(longestTrip)) / int64(unit)) // in range
}

// seriesTable has the series of a capture.
type seriesTable struct {
	table   *lru.Table[seriesKey, times]
	evicted uint64
}

func newSeriesTable(size int) seriesTable {
	return seriesTable{table: lru.New[seriesKey, times](size)}
}

// find returns a series, a new one if there is none. It takes the histogram of the one that is evicted for it.
func (s *seriesTable) find(k seriesKey) *times {
	t, evicted := s.table.Put(k)
	if t.all != nil {
		return t
	}
	if evicted != nil {
		s.evicted++
		t.all = evicted.Val.all
		t.all.Reset()
		return t
	}
	t.all = hdr.New(1, int64(longestTrip/unit), timeDigits)
	return t
}

// list appends all series, of the kinds that are numbered in their keys.
func (s *seriesTable) list(to []Series, kinds []Kind) []Series {
	for k, t := range s.table.All() {
		median := time.Duration(t.all.ValueAtQuantile(50)) * unit
		to = append(to, Series{Kind: kinds[k.kind], End: k.end.AddrPort(), Count: t.count, Least: time.Duration(t.least),
			Median: max(median, time.Duration(t.least)), TTL: t.ttl, Frame: t.frame})
	}
	return to
}

// Types of ICMP and of ICMPv6 messages (RFC 792, RFC 4443).
const (
	echo, echoReply   = 8, 0
	echo6, echo6Reply = 128, 129
)

// tripKey is a handshake or an echo that waits for its second packet: who sent the first one to whom,
// and of an echo its identifier and sequence number; its ports are 0.
type tripKey struct {
	from, to track.End
	number   uint32
}

// Hash mixes the key with the seed.
func (k tripKey) Hash(seed uint64) uint64 {
	return lru.Mix(k.to.Hash(k.from.Hash(seed)), uint64(k.number))
}

// trip is its first packet.
type trip struct {
	nanos      int64
	number     uint32 // of a SYN: its first sequence number
	isSent     bool   // false: the entry is new
	isRepeated bool   // which copy was answered is unknown
	isAnswered bool
}

// Sight times handshakes and echoes; other packets show nothing of the path.
func (c *Collector) Sight(s *track.Sighting) {
	switch s.What {
	case track.IsOpened:
		c.beginTrip(tripKey{from: s.From(), to: s.To()}, s)
	case track.IsAgreed:
		c.endTrip(tripKey{from: s.To(), to: s.From()}, Handshakes, s)
	case track.IsControl:
		request, reply := uint8(echo), uint8(echoReply)
		if !s.Src.Is4() {
			request, reply = echo6, echo6Reply
		}
		switch s.Detail {
		case request:
			c.beginTrip(tripKey{s.From(), s.To(), s.Key}, s)
		case reply:
			c.endTrip(tripKey{s.To(), s.From(), s.Key}, Echoes, s)
		}
	}
}

func (c *Collector) beginTrip(k tripKey, s *track.Sighting) {
	t, evicted := c.trips.Put(k)
	if evicted != nil && !evicted.Val.isAnswered {
		c.evicted.Trips++
	}
	*t = trip{nanos: s.Nanos, number: s.Key, isSent: true, isRepeated: t.isSent && !t.isAnswered && t.number == s.Key}
}

func (c *Collector) endTrip(k tripKey, o Origin, s *track.Sighting) {
	t := c.trips.Peek(k)
	if t == nil || t.isAnswered {
		return
	}
	t.isAnswered = true
	if took := s.Nanos - t.nanos; !t.isRepeated && took > 0 && took <= int64(longestTrip) {
		c.paths.find(seriesKey{k.to, uint32(o)}).add(took, s.Frame, s.TTL)
	}
}

// Tick, Lost and End are of no use here: a trip without a second packet has no time.
func (c *Collector) Tick(_, _ int64) {}

// Lost does nothing.
func (c *Collector) Lost(uint64) {}

// End does nothing.
func (c *Collector) End(_, _ int64) {}

// limit: The tables of a Collector, 1 MiB, and 18 MiB of histograms if all series are there. In a full table the entry
// that was not used for longest is evicted; Capture.Evicted counts that. Compare holds the sums of each
// capture, 64 bytes a series.
const (
	// MaxCaptures is how many captures are compared. Chosen: people have few clients, and each two captures
	// are compared.
	MaxCaptures = 32
	// maxServers is how many servers are kept that were asked: a server browser asks thousands once,
	// and a client that is a vantage asks few again and again.
	maxServers = 4096
	// maxAnswers is how many series of answers are kept, one for each kind of answer of a server, and
	// maxPaths how many of handshakes and echoes. Chosen: 250 servers of four kinds, and as many hosts
	// with a console.
	maxAnswers = 1024
	maxPaths   = 512
	// maxTrips is how many handshakes and echoes can wait for their second packet. Chosen: a client
	// opens few at a time, and what a flood leaves open is evicted.
	maxTrips = 4096
	// maxRepeated is how many exchanges are kept that had a request repeated: they last seconds.
	maxRepeated = 1024
)

// limit: The histograms.
const (
	// unit is what times are counted in: a thousandth of the least difference that counts.
	unit = 10 * time.Microsecond
	// longestTrip is the longest time of a handshake or an echo. It is that of the wait for answers, see
	// package track.
	longestTrip = 3 * time.Second
	// timeDigits is how many significant digits of a time they keep: medians are at most 1 % too high.
	timeDigits = 2
)

const (
	// limit: leastAnswers is how many answers of a kind a capture must have to be judged, and leastTrips how many
	// handshakes or echoes. Chosen: the fastest of ten is near to the least time under the jitter of home
	// lines, and a host's system answers without that of an engine.
	leastAnswers = 10
	leastTrips   = 5
)
