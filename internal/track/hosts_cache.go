package track

import (
	"math"
	"strconv"
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
	"qsniff/reassembly/wire"
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
	Means: "a cache or a proxy in front of the server answers: players and map may be old, and an answer does not show that the server is up",
	Do:    "for the state of the server ask for what is not cached, as players, or ask on the server's side of the cache; keep its time to live short",
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

// What A of Reframed says the forms differ in.
const (
	ReframedFields = 1 + iota // the fields that follow: B is two numbers of the protocol, one << 32
	ReframedHeader            // the header of parts: B is two engines << 16 | sizes, one << 32
	ReframedSplit             // B is the bytes of a split answer << 32, and of one as long or longer in one datagram
)

// Reframed is raised where a server's answers come in two forms by turns.
var Reframed = finding.Code{ID: "MBX-02", Severity: finding.Note, Fault: finding.Middlebox,
	Seen:  "answers of one server to one kind of query come in two forms by turns, or split although others as long come whole",
	Means: "something on the way, as a filter or a proxy of the provider, writes answers of its own; clients that expect the game's form may fail",
	Do:    "compare with a capture at the server; ask the provider what answers queries in the server's place",
	Text: func(dst []byte, e *finding.Expert) []byte {
		switch e.A {
		case ReframedSplit:
			dst = strconv.AppendUint(append(dst, "an answer of "...), e.B>>32, 10)
			dst = strconv.AppendUint(append(dst, " bytes comes in parts, and one of "...), e.B&0xffff_ffff, 10)
			return append(dst, " bytes of the same kind in one datagram"...)
		case ReframedHeader:
			dst = strconv.AppendUint(append(dst, "answers come by turns in parts of "...), e.B>>32&0xffff, 10)
			dst = strconv.AppendUint(append(dst, " and of "...), e.B&0xffff, 10)
			return append(dst, " bytes, or with headers of two engines"...)
		}
		dst = strconv.AppendUint(append(dst, "answers come by turns with the optional fields 0x"...), e.B>>32, 16)
		return strconv.AppendUint(append(dst, " and 0x"...), e.B&0xffff_ffff, 16)
	}}

// framing follows in which forms a server's answers to one kind of query come. A server that is
// updated or set otherwise changes its form once, one program does not go to and fro.
type framing struct {
	form, before uint64 // of the last answer, and the other one before it; 0: there was none
	turns        uint8  // how many times the form went back to the one before
	since        int64  // age of the first of these turns
	first        uint64 // frame of it
	longest      uint32 // bytes of the longest answer in one datagram
	longestAge   int64  // of the last one that long
	longestAt    uint64 // frame of it
}

// hasFields in a form is set if its lower half is which optional fields there are.
const hasFields = 1 << 63

// formOf returns the form of an answer as a number that is not 0; 0 where it shows none. A list
// comes split or not by its length, so only how it is split is a form.
func formOf(f *Fact, kind int) uint64 {
	form := uint64(f.Engine)<<48 | uint64(f.PartSize)<<32
	if kind == queryInfo && f.Said != nil && f.Said.Form >= 0 {
		return form | hasFields | uint64(f.Said.Form)
	}
	return form
}

// checkFraming raises that answers of a server to one kind of query come in two forms by turns, or
// split although others as long are not.
func (h *Hosts) checkFraming(f *Fact, s *hostState, kind int) {
	if f.Step != Answer || s.isReframed {
		return
	}
	x := &s.framing[kind]
	since := f.Age - int64(reframedFor)
	if !f.IsSplit && f.Bytes >= x.longest || x.longestAge < since {
		x.longest, x.longestAge, x.longestAt = 0, never, 0
		if !f.IsSplit {
			x.longest, x.longestAge, x.longestAt = f.Bytes, f.Age, f.Frame
		}
	}
	if f.Engine != wire.None && f.Bytes <= x.longest {
		s.isReframed = true
		h.raise(f, x.longestAt, finding.Expert{Code: &Reframed, A: ReframedSplit, B: uint64(f.Bytes)<<32 | uint64(x.longest)}, false)
		return
	}
	form := formOf(f, kind)
	if form == 0 || form == x.form {
		return
	}
	switch {
	case form != x.before || x.since < since:
		x.turns, x.since, x.first = 0, f.Age, f.Frame
	default:
		x.turns++
	}
	before := x.form
	x.before, x.form = before, form
	if x.turns < reframedTurns {
		return
	}
	s.isReframed = true
	e := finding.Expert{Code: &Reframed, A: ReframedFields, B: before<<32 | form&0xffff_ffff}
	if before>>32 != form>>32 {
		e.A, e.B = ReframedHeader, before&^hasFields>>32<<32|form&^hasFields>>32
	}
	h.raise(f, x.first, e, false)
}

// ManyAnswers is raised where a server sends A answers to one question.
var ManyAnswers = finding.Code{ID: "LIE-10", Severity: finding.Warn, Fault: finding.Server,
	Seen:  "at least 10 answers to one question of a client",
	Means: "the server, or something before it, sends its answer again and again, so that one is there when the next question comes: browsers then show a ping that is far too low, and whoever forges an address gets as many answers sent there",
	Do:    "owner: take the module that does so off, as server lists remove servers for it; client: take the first answer to each question for its time, open a new socket for the next question, and drop what comes in between",
	Text: func(dst []byte, e *finding.Expert) []byte {
		return append(strconv.AppendUint(dst, e.A, 10), " answers to one question"...)
	}}

// copiedAnswer counts the answers to one question.
type copiedAnswer struct {
	id uint32 // frame of its first request, the lower bits; 0: none
	n  uint32
}

// pendingCopies is a question of which a server goes on sending answers: when no more come, the number is raised.
type pendingCopies struct {
	fact  Fact // of the last answer
	n     uint32
	isSet bool
}

// countCopies counts an answer to a query, and raises that a server sends many to one question: once for each server,
// with all answers to the first such question, which the answer to the next one ends. One host can ask several at once,
// so those to the last ones are counted.
func (h *Hosts) countCopies(f *Fact, s *hostState) {
	if s.hasCopies {
		h.updateCopies(f)
		return
	}
	if f.ID == 0 {
		return
	}
	c := &s.copies[f.ID%copiedQuestions]
	switch {
	case f.Step == Answer:
		*c = copiedAnswer{id: uint32(f.ID), n: 1}
		return
	case f.Step != Extra || c.id != uint32(f.ID):
		return
	}
	if c.n++; c.n < manyAnswers {
		return
	}
	s.hasCopies = true
	for i := range h.copies {
		if p := &h.copies[i]; !p.isSet {
			*p = pendingCopies{fact: *f, n: c.n, isSet: true}
			return
		}
	}
	h.raiseCopies(&pendingCopies{fact: *f, n: c.n}, f.Frame, f.Nanos)
}

// updateCopies adds an answer of a server that sent many to one question, or raises how many that were.
func (h *Hosts) updateCopies(f *Fact) {
	for i := range h.copies {
		p := &h.copies[i]
		switch {
		case !p.isSet || p.fact.Server != f.Server:
		case p.fact.ID == f.ID:
			p.n++
			p.fact = *f
		case f.Step == Answer && (f.Client == p.fact.Client || f.Age-p.fact.Age > int64(answerWait)):
			h.raiseCopies(p, f.Frame, f.Nanos)
		}
	}
}

// raiseCopies raises how many answers to one question came, at the packet that shows that there are no more.
func (h *Hosts) raiseCopies(p *pendingCopies, frame uint64, nanos int64) {
	p.isSet = false
	p.fact.Frame, p.fact.Nanos = frame, nanos
	h.raise(&p.fact, p.fact.ID, finding.Expert{Code: &ManyAnswers, A: uint64(p.n)}, false)
}

// Finish raises what waits for more facts: none will come.
func (h *Hosts) Finish() {
	for i := range h.copies {
		if p := &h.copies[i]; p.isSet {
			h.raiseCopies(p, h.lastFrame, h.lastNanos)
		}
	}
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
	// limit: reframedTurns is how often answers must go back to the form that they had before, within
	// reframedFor: a server that restarts can change once, and back. Chosen.
	reframedTurns = 2
	reframedFor   = time.Minute
	// limit: manyAnswers is from how many answers on to one question no network makes the copies: a mirror
	// makes one, a router with two paths another. Servers with two forms of information send three.
	manyAnswers = 10
)
