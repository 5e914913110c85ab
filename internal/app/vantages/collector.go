package vantages

import (
	"net/netip"
	"slices"

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
	Servers, Answers, Paths uint64 // servers, and series of either kind
	Trips                   uint64 // handshakes and echoes that waited for their second packet
	Repeated                uint64 // exchanges with repeated requests: the time of their answer counts
}

// Capture is what a capture shows.
type Capture struct {
	Evicted Evicted
	loads   map[track.End]load
	byHost  map[track.Host][]Series // in the order of compareSeries
}

// NewCollector returns an empty collector with tables of scale times the usual size.
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

// AddFact adds a message: a request counts, and of a reply its time. Where a request was repeated nobody
// knows which one was answered, and the time does not count.
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
