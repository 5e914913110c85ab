package track

import (
	"math"
	"strconv"
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
)

// The signs in A of Cached.
const (
	CacheTTL      = 1 << iota // the TTL of answers is not that of challenges
	CacheFast                 // answers come before the server can have been asked
	CachePeriod               // the same bytes for a fixed time, again and again
	CacheOutlived             // an answer from before a change of the map
)

// Cached is raised where something answers in the place of a server: A is the signs, the TTL of
// an answer << 8, that of a challenge << 16, and for how many milliseconds bytes stay the same <<
// 32. B is the time of an answer << 32 and the shortest of a challenge, in microseconds.
var Cached = finding.Code{ID: "MBX-01", Severity: finding.Note, Fault: finding.Middlebox,
	Seen: "answers to requests for information differ from the server's challenges in at least two ways: their TTL, a time of answer " +
		"shorter than the path, the same bytes for a fixed time, a map that the server left before",
	Means:  "a cache or a proxy in front of the server answers: players and map may be old, and an answer does not show that the server is up",
	Owner:  "keep the cache's time to live short, and watch the server from its own end of the cache",
	Client: "ask for what is not cached, as players, to learn the state of the server",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = append(dst, "answered in the server's place"...)
		if e.A&CacheTTL != 0 {
			dst = strconv.AppendUint(append(dst, ", TTL "...), e.A>>8&0xff, 10)
			dst = strconv.AppendUint(append(dst, " where challenges have "...), e.A>>16&0xff, 10)
		}
		if e.A&CacheFast != 0 {
			dst = digits.AppendElapsed(append(dst, ", after "...), int64(e.B>>32*1e3), " ")
			dst = digits.AppendElapsed(append(dst, " where a challenge takes "...), int64(e.B&0xffff_ffff*1e3), " ")
			dst = append(dst, " at least"...)
		}
		if e.A&CacheOutlived != 0 {
			dst = append(dst, ", with a map that the server had left"...)
		}
		if e.A&CachePeriod == 0 {
			return append(dst, ": how old its numbers are is not known"...)
		}
		period := int64(e.A >> 32 * 1e6)
		dst = digits.AppendElapsed(append(dst, ", the same bytes for "...), period, " ")
		return digits.AppendElapsed(append(dst, " each time: its numbers may be stale by "...), period, " ")
	}}

// caches finds servers in whose place something else answers.
type caches struct {
	*Hosts
	paths   *states[replyPath] // by client
	servers *states[sameBytes]
}

func newCaches(h *Hosts) check {
	c := &caches{Hosts: h, paths: newClientStates[replyPath](h), servers: newServerStates[sameBytes](h)}
	return check{finds: []*finding.Code{&Cached}, wants: []want{{challenge, c.addChallenge}, {answer, c.checkCache}}}
}

// addChallenge adds a challenge to what is known of the path to the server.
func (c *caches) addChallenge(f *view) {
	if f.client != nil {
		c.paths.at(f.client.slot).addChallenge(f.Fact)
	}
}

// replyPath is what the replies of a server to a client that proved its address show of where
// they come from: a cache in front of the server is nearer, or passes fewer routers.
type replyPath struct {
	ttl     uint8 // of the last challenge; 0: it is unknown
	trips   uint8 // round trips of challenges
	stepped uint8 // answers in a row whose TTL is far from that
	fast    uint8 // answers in a row that took less than half of floor
	floor   int64 // the shortest round trip of a challenge
	first   uint64
}

// addChallenge adds a challenge, which only the server itself can give.
func (p *replyPath) addChallenge(f *Fact) {
	if f.Step != Challenge && f.Step != Answer {
		return
	}
	if f.TTL != p.ttl {
		p.ttl, p.stepped = f.TTL, 0
	}
	if f.Took < 0 {
		return
	}
	if p.trips == 0 || f.Took < p.floor {
		p.floor = f.Took
	}
	p.trips = min(p.trips, math.MaxUint8-1) + 1
}

// addAnswer adds an answer to a request for information.
func (p *replyPath) addAnswer(f *Fact) {
	if p.stepped == 0 && p.fast == 0 {
		p.first = f.Frame
	}
	if f.TTL != 0 && p.ttl != 0 {
		p.stepped = countInRow(p.stepped, max(f.TTL, p.ttl)-min(f.TTL, p.ttl) > ttlSlack)
	}
	if f.Took >= 0 && p.trips >= cacheTrips && p.floor >= int64(leastFloor) {
		p.fast = countInRow(p.fast, f.Took < p.floor/2)
	}
}

// countInRow returns n, how many in a row fit, after another one.
func countInRow(n uint8, fits bool) uint8 {
	if !fits {
		return 0
	}
	return min(n, math.MaxUint8-1) + 1
}

// sameBytes follows how long the answers of a server to requests for information stay the same
// byte for byte.
type sameBytes struct {
	print, mapPrint uint64 // of the last answer
	since           int64  // age of the first answer with these bytes; never if there may be earlier ones
	answers         uint32 // with these bytes
	// before are the bytes and the map before these.
	before, mapBefore uint64
	lengths           [cachePeriods]int64 // of time, for which bytes stayed the same, a ring
	n                 uint8               // of them
	hasOutlived       bool                // an answer from before a change of the map came once more
	isReported        bool
	isPeriodReported  bool // with the time for which bytes stay the same
}

// add adds an answer.
func (s *sameBytes) add(f *Fact) {
	if f.Said.Print == s.print {
		s.answers++
		return
	}
	switch {
	case s.print == 0:
		s.since = never
	case s.since == never || s.answers < cacheAnswers:
		s.since, s.n = f.Age, 0
	default:
		copy(s.lengths[1:], s.lengths[:])
		s.lengths[0] = f.Age - s.since
		s.n = min(s.n+1, cachePeriods)
		s.since = f.Age
	}
	s.hasOutlived = s.hasOutlived || f.Said.Print == s.before && s.mapBefore != s.mapPrint && s.mapPrint != 0
	s.before, s.mapBefore = s.print, s.mapPrint
	s.print, s.mapPrint, s.answers = f.Said.Print, f.Said.Map, 1
}

// period returns for how long the bytes stay the same each time, 0 if not for a fixed time.
func (s *sameBytes) period() int64 {
	if s.n < cachePeriods {
		return 0
	}
	least, most, sum := s.lengths[0], s.lengths[0], int64(0)
	for _, d := range s.lengths {
		least, most, sum = min(least, d), max(most, d), sum+d
	}
	if mean := sum / cachePeriods; least >= int64(leastPeriod) && most-least <= mean/periodSlack {
		return mean
	}
	return 0
}

// checkCache raises that something else than the server answers a request for information of a
// client that proved its address, p.
func (c *caches) checkCache(f *view) {
	if f.Step != Answer || f.Said == nil || f.Said.Print == 0 {
		return
	}
	b, p := c.servers.at(f.server.slot), f.proven()
	b.add(f.Fact)
	if p == nil {
		return
	}
	path := c.paths.at(p.slot)
	path.addAnswer(f.Fact)
	signs, period := uint64(0), b.period()
	if path.stepped >= cacheAnswers {
		signs |= CacheTTL
	}
	if path.fast >= cacheAnswers {
		signs |= CacheFast
	}
	if period > 0 {
		signs |= CachePeriod
	}
	if b.hasOutlived {
		signs |= CacheOutlived
	}
	// With the period it is known how old the numbers are: that is worth another finding.
	if signs&(signs-1) == 0 || b.isReported && (b.isPeriodReported || period == 0) {
		return
	}
	b.isReported, b.isPeriodReported = true, period > 0
	c.Report(f.Fact, path.first, finding.Expert{Code: &Cached,
		A: signs | uint64(f.TTL)<<8 | uint64(path.ttl)<<16 | uint64(period/1e6)<<32,
		B: uint64(max(f.Took, 0)/1e3)<<32 | uint64(path.floor/1e3)&math.MaxUint32}, false)
}

const (
	// limit: A cache in front of a server shows by two signs of these. cacheAnswers answers in a row have
	// a TTL that differs from that of challenges by more than ttlSlack: one router more or less comes with
	// routes that change. As many take less than half of the shortest of cacheTrips round trips of
	// challenges, leastFloor or more: less than that is the time of a program, and no path. cachePeriods
	// times in a row the bytes of answers stay the same for leastPeriod or more, each time as long up to a
	// share of 1/periodSlack, which cacheAnswers answers measure.
	cacheAnswers = 3
	ttlSlack     = 1
	cacheTrips   = 5
	leastFloor   = time.Millisecond
	cachePeriods = 5
	leastPeriod  = time.Second
	periodSlack  = 4
)
