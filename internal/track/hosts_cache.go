package track

import (
	"math"

	"qsniff/dissect/finding"
)

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
func (h *Hosts) checkCache(f *Fact, s *hostState, p *challengedClient) {
	if f.Step != Answer || f.Said == nil || f.Said.Print == 0 {
		return
	}
	b := &s.bytes
	b.add(f)
	if p == nil {
		return
	}
	p.path.addAnswer(f)
	signs, period := uint64(0), b.period()
	if p.path.stepped >= cacheAnswers {
		signs |= CacheTTL
	}
	if p.path.fast >= cacheAnswers {
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
	h.raise(f, p.path.first, finding.Expert{Code: &Cached,
		A: signs | uint64(f.TTL)<<8 | uint64(p.path.ttl)<<16 | uint64(period/1e6)<<32,
		B: uint64(max(f.Took, 0)/1e3)<<32 | uint64(p.path.floor/1e3)&math.MaxUint32}, false)
}
