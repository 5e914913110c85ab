package vantages

import (
	"cmp"
	"net/netip"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"qsniff/dissect"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

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

// spread returns by how much the usual time exceeds the least.
func (s *Series) spread() time.Duration { return max(0, s.Median-s.Least) }

// isEnough reports whether there are enough times to judge by.
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
