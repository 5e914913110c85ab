// Package track finds out what only several messages together show. It reads no payload
// and renders nothing.
//
// In a partition, which has all packets between its pairs of ends, a message passes
//
//	Flows      what a server and a client have shown of each other before: the engine,
//	           the protocol, passwords
//	Exchanges  which request, repeats, challenge, echo and replies belong together
//
// After the partitions, the fold has the messages of all in packet order, as facts:
//
//	Fact       a message with its part in an exchange, or an answer that did not come
//	Hosts      findings that rest on many facts of one server or client
//	Listener   whoever else wants facts, as package stats does
//
// Sightings are the other way through the program: Sighting is a small record of a packet
// for those who watch a whole network (Watcher), as the packages below flood do.
package track

import (
	"math"
	"math/bits"
	"net/netip"
	"time"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
	"qsniff/internal/track/fingerprint"
)

// Message is what Exchanges read of a message.
type Message struct {
	Src, Dst netip.AddrPort
	Proto    *dissect.Proto
	Type     *dissect.Type // nil if unknown
	Key      uint64        // of the dissected message
	Bytes    uint32        // of a request
	// Frame is the packet that completed a request, but the first packet of a reply: what is
	// asked between the parts of a reply did not cause it.
	Frame uint64
	Nanos int64  // time stamp of Frame
	Age   int64  // the time that tables age by, at Frame
	Conn  uint64 // number of the TCP connection from 1; 0 for UDP
	Reply bool
	Form  dissect.Form // of the dissected message
	TTL   uint8        // of a request, or its hop limit; 0: unknown
	IPID  uint16       // of a request
	// Expert is where Place appends the findings that the exchange shows.
	Expert []finding.Expert

	jumpFrame uint64 // jumpDetector.jumpFrame at this message
}

// Exchanges finds out which messages of one partition belong together: a request,
// its repetitions, the challenge that the server demands, the request that
// brings it back, and the replies.
//
// Datagrams are paired by both ends and by what they ask for and give. One client
// socket has at most one exchange of a kind with a server at a time: what it asks again
// before the answer is a repetition. A challenge does not show for which kind it is: it goes
// to the oldest exchange that waits and has none. Messages of connections are
// paired by the number that their protocol gives them.
//
// A capture leaves three things open. An answer after two equal requests is paired with
// the second, so its time may be too short. If one of several challenges for different
// kinds is missing, the others may be paired with each other's exchanges. A copy of a
// request that the network makes after the answer counts as a new question.
//
// One partition has 1,536 exchanges of 128 bytes, links from its flows, and requests in connections: 4.1 MiB
// in all 16 partitions. The oldest is evicted first, unless it waits and so many others of its kind do not: a
// flood of requests from invented addresses evicts only exchanges to which the server has not replied, and
// answers to it only those that ended.
//
// It is not safe for concurrent use.
type Exchanges struct {
	// ReportSilence is called for each exchange whose wait ended without a reply to its last
	// request; the fact is valid during the call. That the capture shows no reply does not mean
	// that there was none: one direction may be missing as a whole. Set it before the first
	// call, or leave it nil.
	ReportSilence func(*Fact)

	flows   *Flows
	links   links // from these to the exchanges
	ring    *lru.Ring[endsKey, exchange]
	orphan  uint32    // number of the latest exchange whose flow was evicted or unknown
	tail    uint32    // number of the oldest exchange that may be under way
	moved   uint32    // number of the latest exchange that was spared
	settled numberSet // the exchanges that are no longer open
	visits  visits
	count   [numPhases]int            // of exchanges in the ring
	most    [numPhases]int            // of them, so many are spared when they are the oldest
	calls   *lru.Table[callKey, call] // requests in connections

	at      ends // of the message at hand
	jumps   jumpDetector
	kinds   []messageKind
	goneAge int64 // exchanges that ended before this age do not count any more
	lastGap int64 // age of the last gap in the capture
	evicted uint64
	fact    Fact
}

// exchange is the state of one exchange. Its times are stamps of packets but for lastAge;
// offsets are frames after the first request's.
type exchange struct {
	first         uint64 // frame of the first request
	begun         int64  // age of the first request
	lastAge       int64  // of the last request, challenge or part of a reply
	challengeTrip int64  // round trip of the last challenge, -1 if there is none
	plainNanos    int64  // of the last request without the challenge
	echoNanos     int64  // of the last request that brought it back
	plainOffset   uint32
	echoOffset    uint32
	challenge     uint32       // the last one; 0 if the capture cut it
	requestKey    uint32       // Key of the last request; 0 if it has none
	number, older uint32       // its own in the ring, and that of the one between these ends that began before
	question      uint8        // the index of its one bit of dissect.Asked
	size          uint8        // of the last request in bytes; maxSize: that or more
	plains        uint8        // requests without the challenge at hand for which no challenge came, 255 at most
	copyGap       uint8        // time between the last two equal requests without a reply, see countCopy
	forms         dissect.Form // of its requests
	livedMillis   uint16       // from the first request to the last
	requestKind   uint8        // number of the kind of the last request, 0 if there were too many kinds
	answerKind    uint8        // likewise, of the answer
	headers       headers      // what the headers of all its requests show
	state         state
	phase         phase
}

// state is how far an exchange has come.
type state uint8

const (
	replyDue         state = 1 << iota // the server has not replied to the last request
	challengeGiven                     // the server demanded a challenge
	challengeEchoed                    // the last challenge was brought back
	partsCame                          // parts of a reply to the last request came
	answerCame                         // the reply is complete
	challengeChanged                   // the challenge changed
	beganWithToken                     // the first request brought a challenge
	silenceReported                    // ReportSilence was called
)

// maxSize is the size of requests that a byte has no room for: only padded ones have as many.
const maxSize = math.MaxUint8

// size returns the size of a request as an exchange stores it.
func (m *Message) size() uint8 { return uint8(min(m.Bytes, maxSize)) }

// messageKind is what exchanges hold of a message's type, by a number.
type messageKind struct {
	proto *dissect.Proto
	typ   *dissect.Type
}

// NewExchanges returns tables in which size requests can wait for the first reply, whatever
// else comes. The other sizes are derived from that: see the constants at the end of this file. What an exchange is does not
// depend on flows, but it is found faster if its flow is there. No other Exchanges may use them.
func NewExchanges(size int, flows *Flows) *Exchanges {
	ring := lru.NewRing[endsKey, exchange](size + size/endedShare)
	x := &Exchanges{
		flows:   flows,
		links:   newLinks(flows.table.Cap()),
		ring:    ring,
		settled: newNumberSet(ring.Cap()),
		most:    [numPhases]int{open: size, challenged: size / challengedShare},
		calls:   lru.New[callKey, call](size / callShare),
		lastGap: math.MinInt64,
		goneAge: math.MinInt64,
	}
	flows.exchanges = x
	return x
}

// Evicted returns how many exchanges were evicted before they were over.
func (x *Exchanges) Evicted() uint64 { return x.evicted }

// VisitsEvicted returns how many visits of clients were evicted before they were over.
func (x *Exchanges) VisitsEvicted() uint64 { return x.visits.evicted }

// noPart is the part of a message that belongs to no exchange.
var noPart = Part{Took: -1, Trip: -1}

// Place returns the part of m in its exchange, and appends to m.Expert what it shows.
func (x *Exchanges) Place(m *Message) (p Part) {
	x.jumps.observe(m)
	m.jumpFrame = x.jumps.jumpFrame
	switch {
	case m.Conn != 0:
		return x.placeCall(m)
	case m.Type == nil && m.Reply:
		x.findEnds(m)
		return x.recordOther(x.placeUnreadable(m))
	case m.Type == nil || m.Type.Asks == 0 || m.Type.Notice:
		return noPart
	}
	x.findEnds(m)
	if m.Reply {
		return x.recordOther(x.placeReply(m))
	}
	e, step, again := x.placeRequest(m)
	e.fillPart(&p, step)
	p.Gap, p.IsThird = again.Gap, again.IsThird
	p.Signs = x.shownBefore(e)
	return p
}

// PlaceRequest is Place for a request in a datagram whose type asks for something. It returns what
// is set in its Part.
func (x *Exchanges) PlaceRequest(m *Message) (step Step, id uint64, broughtChallenge bool, again Repeat) {
	x.jumps.observe(m)
	x.findEnds(m)
	e, step, again := x.placeRequest(m)
	if step == Ask { // e is new, and reading it now would take until it is in the processor's cache
		return Ask, m.Frame, m.Key != 0, again
	}
	return step, e.first, e.hasBroughtChallenge(), again
}

// placeRequest begins an exchange with a request, or repeats the one under way. A request for
// several things belongs to the exchange of the first.
func (x *Exchanges) placeRequest(m *Message) (*exchange, Step, Repeat) {
	asks := m.Type.Asks.First()
	e, past := x.find(asks)
	if e != nil && (m.Age-e.lastAge > int64(answerWait) || int64(e.livedMillis) > retryFor.Milliseconds()) {
		x.endExchangeAt(e)
		e, past = nil, e
	}
	if e != nil {
		again := e.countCopy(m, x.kindNumber(m))
		return e, x.placeRepeat(m, e), again
	}
	x.checkFirstRequest(m, past)
	e = x.add(asks)
	e.first, e.begun, e.lastAge, e.plainNanos = m.Frame, m.Age, m.Age, m.Nanos
	state := replyDue
	if m.Key != 0 {
		state |= beganWithToken
	}
	e.plains = 1
	e.requestKey, e.challengeTrip, e.requestKind, e.state, e.size, e.forms = uint32(m.Key), -1, x.kindNumber(m), state, m.size(), m.Form
	e.headers = headersOf(m)
	return e, Ask, Repeat{}
}

// placeRepeat adds a further request to e: a repetition, or the echo of its challenge.
func (x *Exchanges) placeRepeat(m *Message, e *exchange) Step {
	step := Again
	isEcho := e.state&challengeGiven != 0 && m.Key != 0 && (uint32(m.Key) == e.challenge || x.hasGiven(m))
	if isEcho && e.state&challengeEchoed == 0 {
		step = Echo
	}
	x.checkRequest(m, e, isEcho)
	e.livedMillis = uint16(min(int64(e.livedMillis)+max(m.Age-e.lastAge, 0)/1e6, math.MaxUint16))
	e.lastAge = max(e.lastAge, m.Age)
	at := uint32(m.Frame - e.first)
	if isEcho {
		e.echoNanos, e.echoOffset, e.state = m.Nanos, at, e.state|challengeEchoed
	} else {
		e.plainNanos, e.plainOffset = m.Nanos, at
		e.plains = min(e.plains, math.MaxUint8-1) + 1
	}
	e.state |= replyDue
	e.forms |= m.Form
	e.headers &= headersOf(m)
	e.requestKind, e.requestKey, e.size = x.kindNumber(m), uint32(m.Key), m.size()
	return step
}

// fillPart makes p, which is zero, the part of a request of e. Each member is written in place: a
// processor that copies what it has just written in pieces waits for that.
func (e *exchange) fillPart(p *Part, s Step) {
	p.Step, p.ID, p.Took, p.Trip, p.BroughtChallenge = s, e.first, -1, -1, e.hasBroughtChallenge()
}

// hasBroughtChallenge reports whether a request of e brought a challenge.
func (e *exchange) hasBroughtChallenge() bool {
	return e.state&(beganWithToken|challengeEchoed) != 0
}

// lastRequest returns frame and time stamp of the last request.
func (e *exchange) lastRequest() (frame uint64, nanos int64) {
	if e.state&challengeEchoed != 0 && e.echoOffset >= e.plainOffset {
		return e.first + uint64(e.echoOffset), e.echoNanos
	}
	return e.first + uint64(e.plainOffset), e.plainNanos
}

// endExchange ends an exchange whose wait is over, between the ends k. If the server has not
// replied, and the capture has no gap since, it reports the silence.
func (x *Exchanges) endExchange(k *endsKey, e *exchange) {
	if e.state&(replyDue|partsCame|answerCame) == replyDue && e.lastAge > x.lastGap && x.ReportSilence != nil {
		f := &x.fact
		at, nanos := e.lastRequest()
		*f = Fact{Frame: at, Nanos: nanos, Age: e.lastAge, Key: uint64(e.requestKey),
			Server: netip.AddrPortFrom(k.server.Addr(), k.port),
			Client: netip.AddrPortFrom(k.client.Addr(), k.clientPort)}
		e.fillPart(&f.Part, Silence)
		f.GotChallenge = e.state&challengeGiven != 0
		f.Began = e.begun
		if e.requestKind > 0 {
			f.Proto, f.Type = x.kinds[e.requestKind-1].proto, x.kinds[e.requestKind-1].typ
			x.ReportSilence(f)
			e.state |= silenceReported
		}
	}
	x.setPhase(e, ended)
}

// endExchangeAt is endExchange between the ends at hand.
func (x *Exchanges) endExchangeAt(e *exchange) { x.endExchange(&x.at.key, e) }

// Tick ends the exchanges that waited until age. At the end of a capture no call is needed:
// nothing is reported of exchanges whose wait is not over.
func (x *Exchanges) Tick(age int64) {
	x.goneAge = age - int64(endedFor)
	x.skipEvicted()
	next := x.ring.Next()
	for n := x.tail; n != next; n++ {
		entry := x.ring.At(n)
		e := &entry.Val
		switch {
		case e.phase == ended:
		case age-e.lastAge > int64(answerWait):
			x.endExchange(&entry.Key, e)
		case age-e.begun <= int64(answerWait) && next-n < next-x.moved:
			return // those that follow began later
		}
		if n == x.tail && e.phase == ended {
			x.tail++
		}
	}
}

// skipEvicted moves the tail to the oldest exchange, unless it is that or a later one. If none is
// under way, the tail is the number of the next.
func (x *Exchanges) skipEvicted() {
	if first := x.ring.First(); x.tail-first > x.ring.Next()-first {
		x.tail = first
	}
}

// RecordGap records that packets are missing from the capture at age: a reply to what was
// asked before may be among them.
func (x *Exchanges) RecordGap(age int64) { x.lastGap = age }

// kindNumber returns the number of m's kind from 1, or 0 if there are too many.
func (x *Exchanges) kindNumber(m *Message) uint8 {
	k := messageKind{m.Proto, m.Type}
	for i := range x.kinds {
		if x.kinds[i] == k {
			return uint8(i + 1)
		}
	}
	if len(x.kinds) == maxKinds {
		return 0
	}
	x.kinds = append(x.kinds, k)
	return uint8(len(x.kinds))
}

// Repeat is what a request that repeats the one before it shows of the pace of its client. It is
// zero of other messages.
type Repeat struct {
	// Gap is the time since the request before, in nanoseconds, if that is equal and the server
	// sent nothing in between; 0 if the two may be copies of one packet.
	Gap int64
	// IsThird is set of the third equal request within copiesFor.
	IsThird bool
}

// The values of exchange.copyGap: the time between the last two requests, if they are equal and
// the server sent nothing in between, in units of copyUnit, rounded up.
const (
	noCopy   = 0                      // they are not, or there is one request
	hasTwin  = 1                      // they may be copies of one packet
	longCopy = 254                    // this time or more
	nextNone = 255                    // the next request is no copy, whatever it is
	copyUnit = int64(copiesFor) / 200 // the twins of twinFor are one unit
)

// countCopy returns what m, a further request of e, of the kind with a number, shows of the pace
// of its client. Of two requests within twinFor the second may be a copy that the network or the
// capture made of the first: it does not count, unless it is the second such one in a row.
func (e *exchange) countCopy(m *Message, kind uint8) (r Repeat) {
	if e.copyGap == nextNone || e.state&(replyDue|partsCame) != replyDue || e.requestKey != uint32(m.Key) || e.requestKind != kind || e.size != m.size() {
		e.copyGap = noCopy
		return r
	}
	gap := max(m.Age-e.lastAge, 0)
	if gap < int64(twinFor) && e.copyGap != hasTwin {
		if e.copyGap == noCopy {
			e.copyGap = hasTwin
		}
		return r
	}
	if gap == 0 { // offload merged them into one frame: the capture does not have their times
		return r
	}
	before := int64(e.copyGap) * copyUnit
	r = Repeat{Gap: gap, IsThird: e.copyGap > hasTwin && before+gap <= int64(copiesFor)}
	e.copyGap = uint8(max(min((gap+copyUnit-1)/copyUnit, longCopy), hasTwin+1))
	return r
}

// recordOther records that p is the part of a reply. If that ended no wait it may be a wrong answer
// to any open question between the ends at hand: what the client asks next is no copy.
func (x *Exchanges) recordOther(p Part) Part {
	if p.Step == NoStep || p.Step == Stray || p.Step == Extra {
		for e := x.get(x.at.newest); e != nil; e = x.get(e.older) {
			e.copyGap = nextNone
		}
	}
	return p
}

// Step is the role of a message in an exchange.
type Step uint8

// The steps.
const (
	NoStep    Step = iota // a one-way message, or a protocol that is not paired
	Ask                   // the first request of an exchange
	Again                 // the same request once more, before an answer
	Echo                  // the request with the challenge that this exchange was given
	Challenge             // a challenge in place of an answer
	Answer                // the reply
	Extra                 // a further reply to a request that was replied to, or that the client gave up
	Late                  // the reply, when the wait for it was over
	Stray                 // a reply that no request in the capture caused
	Silence               // no message: the wait for any reply to the last request ended
	Refusal               // a text of the server in place of the answer
)

var steps = [...]string{"", "ask", "again", "echo", "challenge", "answer", "extra", "late", "stray", "silence", "refusal"}

// String returns the step's name in tests.
func (s Step) String() string { return steps[s] }

// Part is the place of a message in its exchange. Times are in nanoseconds, and -1
// where there is none.
type Part struct {
	Step Step
	// BroughtChallenge is set if a request of the exchange brought a challenge: the one of this
	// exchange or, in its first request, one given before.
	BroughtChallenge bool
	// GotChallenge is set of a Silence if the server replied to an earlier request with a challenge.
	GotChallenge bool
	// IsThird is Repeat.IsThird.
	IsThird bool
	// Asked is set of a Challenge if no other question than this one can have caused it.
	Asked dissect.Asked
	// ID is the frame of the exchange's first request; 0 if the message belongs to no
	// exchange.
	ID uint64
	// Began is, of a Silence, the age of that request.
	Began int64
	// Request is the frame of the request that a reply answers: the last one before it that
	// asks for it. It is 0 for requests, and where the capture does not show which one that is.
	Request uint64
	// Took is the time from that request to the first packet of a reply: the
	// service response time of an Answer, the round trip of a Challenge.
	Took int64
	// Trip is, of an Answer, the round trip of the challenge before it.
	Trip int64
	// Gap is Repeat.Gap.
	Gap int64
	// IsObsolete is set for an Answer to a request of an obsolete type.
	IsObsolete bool
	// RequestBytes is, of an Answer, the size of the last request; 0 if that is padded to
	// maxSize or more.
	RequestBytes uint8
	// Signs are what the client's visit to the server showed up to an Answer, that included, or
	// up to a request.
	Signs fingerprint.Signs
}

// endsKey is the two ends of exchanges.
type endsKey struct {
	flowKey
	clientPort uint16
}

// Hash mixes the key with the seed, which makes the result unpredictable for senders.
func (k endsKey) Hash(seed uint64) uint64 { return lru.Mix(k.flowKey.hash(seed), uint64(k.clientPort)) }

// findEnds looks for the exchanges between the ends of m, which become those at hand.
func (x *Exchanges) findEnds(m *Message) {
	server, client := m.Dst, m.Src
	if m.Reply {
		server, client = client, server
	}
	x.flows.find(server, client.Addr())
	at := &x.at
	at.key.flowKey, at.key.clientPort, at.flow = x.flows.last.key, client.Port(), x.flows.last.number
	x.locate(at)
}

// phase is where in its life an exchange is. Of those between the same ends with the same
// question, one at most is under way, and of the others only the latest counts.
type phase uint8

const (
	open       phase = iota // the server has not replied yet
	challenged              // the server replied with a challenge
	ended                   // the answer came, or the wait is over
	numPhases
)

// setPhase moves an exchange to another phase.
func (x *Exchanges) setPhase(e *exchange, p phase) {
	x.count[e.phase]--
	x.count[p]++
	e.phase = p
	x.settled.put(e.number, p != open)
}

// asks returns what the client asks for, one bit.
func (e *exchange) asks() dissect.Asked { return 1 << e.question }

// isSpared reports whether e, the oldest exchange, stays if another needs room: as long as
// not too many are in its phase, so that a flood of requests leaves challenged exchanges alone,
// and one of answered requests those that wait. Who brings a challenge back is at its address,
// which a flood from invented ones never does.
func (x *Exchanges) isSpared(e *exchange) bool {
	return x.count[e.phase] <= x.most[e.phase] || e.phase == challenged && e.state&challengeEchoed != 0
}

// makeRoom makes sure that the oldest entry of the ring is one that need not be kept. It spares
// maxSpared exchanges at most, and reports whether it spared one.
func (x *Exchanges) makeRoom() (hasSpared bool) {
	for n := 0; x.ring.IsFull(); n++ {
		first := x.ring.First()
		if !x.settled.has(first) && x.count[open] > x.most[open] {
			x.count[open]--
			x.evicted++
			break
		}
		e := &x.ring.At(first).Val
		if e.phase == ended || n == maxSpared || !x.isSpared(e) {
			x.count[e.phase]--
			if e.phase != ended {
				x.evicted++
			}
			break
		}
		x.spare()
		hasSpared = true
	}
	return hasSpared
}

// spare adds the oldest exchange again, as the newest one.
func (x *Exchanges) spare() {
	e := *x.ring.At(x.ring.First())
	at := ends{key: e.Key}
	at.flow, _ = x.flows.table.Find(&e.Key.flowKey, x.flows.table.Hash(&e.Key.flowKey))
	x.locate(&at)
	number, v := x.attach(&at)
	older := v.older
	if older == e.Val.number { // links to an entry that is overwritten lead nowhere
		older = 0
	}
	*v, x.moved = e.Val, number
	v.number, v.older = number, older
	x.settled.put(number, v.phase != open)
}

// add begins an exchange between the ends at hand.
func (x *Exchanges) add(asks dissect.Asked) *exchange {
	if x.makeRoom() {
		x.locate(&x.at)
	}
	x.dropOlder(asks)
	number, e := x.attach(&x.at)
	e.question = uint8(bits.TrailingZeros32(uint32(asks)))
	x.settled.put(number, false)
	x.count[open]++
	return e
}

// get returns the exchange with a number, nil if there is none.
func (x *Exchanges) get(number uint32) *exchange {
	if number == 0 {
		return nil
	}
	if e := x.ring.At(number); e != nil {
		return &e.Val
	}
	return nil
}

// dropOlder unlinks the ended exchanges with this question, but for the latest. So there are
// two of each question between the same ends at most, however often one is asked.
func (x *Exchanges) dropOlder(asks dissect.Asked) {
	var newer *exchange
	seen := false
	for e := x.get(x.at.newest); e != nil; e = x.get(e.older) {
		if e.asks() == asks && seen {
			newer.older = e.older
			continue
		}
		seen = seen || e.asks() == asks
		newer = e
	}
}

// find returns the exchange between the ends at hand with this question that is under way, and
// the latest that ended; nil if there is none.
func (x *Exchanges) find(asks dissect.Asked) (underWay, past *exchange) {
	for e := x.get(x.at.newest); e != nil; e = x.get(e.older) {
		switch {
		case e.asks() != asks:
		case e.phase != ended:
			underWay = e
		case x.isGone(e):
			return underWay, nil
		default:
			return underWay, e
		}
	}
	return underWay, nil
}

// isGone reports whether e, which ended, did so too long ago to count.
func (x *Exchanges) isGone(e *exchange) bool { return e.lastAge < x.goneAge }

// findEnded returns, of the latest ended exchanges between the ends at hand of each question in
// asks, the one that began last, if accepts is true of it, and how many there are.
func (x *Exchanges) findEnded(asks dissect.Asked, accepts func(*exchange) bool) (best *exchange, n int) {
	for e := x.get(x.at.newest); e != nil; e = x.get(e.older) {
		if e.phase != ended || e.asks()&asks == 0 {
			continue
		}
		asks &^= e.asks()
		if !x.isGone(e) && accepts(e) {
			n++
			if best == nil || e.first > best.first {
				best = e
			}
		}
	}
	return best, n
}

const (
	// limit: DefaultExchanges is how many requests of one partition can wait for the first reply of their
	// server, whatever else comes: 16,384 in all. A server that is up answers within 100 ms or so, so that
	// is enough for 160,000 requests in a second.
	DefaultExchanges = 1024
	// limit: endedShare is the divisor of that for the room that ended exchanges have if all others wait,
	// challengedShare that for how many wait whose client was given a challenge and has a round trip to
	// bring it back, callShare that for requests in connections, of which consoles have few.
	challengedShare = 4
	endedShare      = 2
	callShare       = 4
	// limit: maxSpared is how many old entries in a row are spared when one must be evicted. Chosen: it
	// bounds the work for one packet, and a flood is rarely as mixed.
	maxSpared = 8
	// limit: retryFor is how long after the first request an equal one is its repetition: three tries of
	// the most patient client. A client that still asks then is polling, and each poll that nobody answers
	// counts.
	retryFor = 10 * time.Second
	// limit: endedFor is how long an ended exchange is kept: an incomplete message of IP fragments is
	// given out 30 s after its first fragment, and is placed by that fragment's time.
	endedFor = 35 * time.Second
	// limit: copiesFor is within which three equal requests show a client that does not wait. Chosen: no
	// server is so near and so slow that a third one would help.
	copiesFor = time.Second
	// limit: twinFor is within which an equal request may be a copy of the one before that a network or a
	// mirror port made: as with --dedup, which compares more of two packets.
	twinFor = 5 * time.Millisecond
	// limit: maxKinds is how many kinds of message exchanges can number in eight bits; protocols have a
	// few dozen.
	maxKinds = 255
)
