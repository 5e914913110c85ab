package track

import (
	"math"
	"net/netip"

	"qsniff/dissect"
	"qsniff/finding"
	"qsniff/internal/lru"
)

// Message is what Exchanges read of a message.
type Message struct {
	Src, Dst netip.AddrPort
	Proto    *dissect.Proto
	Type     *dissect.Type // nil if unknown
	Key      uint64        // of the dissected message
	// Frame is the packet that completed a request, but the first packet of a reply: what is
	// asked between the parts of a reply did not cause it.
	Frame uint64
	Nanos int64  // time stamp of Frame
	Age   int64  // the time that tables age by, at Frame
	Conn  uint64 // number of the TCP connection from 1; 0 for UDP
	Reply bool
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
// It is not safe for concurrent use.
type Exchanges struct {
	// ReportSilence is called for each exchange whose wait ended without a reply to its last
	// request; the fact is valid during the call. That the capture shows no reply does not mean
	// that there was none: one direction may be missing as a whole. Set it before the first
	// call, or leave it nil.
	ReportSilence func(*Fact)

	open       table                     // the server has not replied yet
	challenged table                     // the server replied with a challenge
	ended      table                     // the answer came, or the wait is over
	calls      *lru.Table[callKey, call] // requests in connections

	jumps   jumpDetector
	kinds   []messageKind
	lastGap int64 // age of the last gap in the capture
	evicted uint64
	fact    Fact
}

type table = *lru.Table[exchangeKey, exchange]

// exchangeKey is two ends and one thing that one may ask the other.
type exchangeKey struct {
	server, client         [16]byte
	serverPort, clientPort uint16
	asks                   dissect.Asked // one bit
}

// Hash mixes the key with the seed, which makes the result unpredictable for senders.
func (k exchangeKey) Hash(seed uint64) uint64 {
	h := lru.MixBytes(lru.MixBytes(seed, k.server[:]), k.client[:])
	return lru.Mix(h, uint64(k.serverPort)<<32|uint64(k.clientPort)<<16|uint64(k.asks))
}

// exchange is the state of one exchange. Its times are stamps of packets but for lastAge;
// offsets are frames after the first request's.
type exchange struct {
	first         uint64 // frame of the first request
	lastAge       int64  // of the last request, challenge or part of a reply
	challengeTrip int64  // round trip of the last challenge, -1 if there is none
	plainNanos    int64  // of the last request without the challenge
	echoNanos     int64  // of the last request that brought it back
	plainOffset   uint32
	echoOffset    uint32
	challenge     uint32 // the last one; 0 if the capture cut it
	requestKey    uint32 // Key of the last request; 0 if it has none
	livedMillis   uint16 // from the first request to the last
	requestKind   uint8  // number of the kind of the last request, 0 if there were too many kinds
	answerKind    uint8  // likewise, of the answer
	state         state
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

// messageKind is what exchanges hold of a message's type, by a number.
type messageKind struct {
	proto *dissect.Proto
	typ   *dissect.Type
}

// NewExchanges returns tables for size requests that nobody answered. The other tables are
// derived from that, see limits.go.
func NewExchanges(size int) *Exchanges {
	return &Exchanges{
		open:       lru.New[exchangeKey, exchange](size),
		challenged: lru.New[exchangeKey, exchange](size / challengedShare),
		ended:      lru.New[exchangeKey, exchange](size / endedShare),
		calls:      lru.New[callKey, call](size / callShare),
		lastGap:    math.MinInt64,
	}
}

// Evicted returns how many exchanges were evicted before they were over.
func (x *Exchanges) Evicted() uint64 { return x.evicted }

// noPart is the part of a message that belongs to no exchange.
var noPart = Part{Took: -1, Trip: -1}

// Place returns the part of m in its exchange, and appends to m.Expert what it shows.
func (x *Exchanges) Place(m *Message) Part {
	x.jumps.observe(m)
	m.jumpFrame = x.jumps.jumpFrame
	switch {
	case m.Conn != 0:
		return x.placeCall(m)
	case m.Type == nil && m.Reply:
		return x.placeUnreadable(m)
	case m.Type == nil || m.Type.Asks == 0 || m.Type.Notice:
		return noPart
	case m.Reply:
		return x.placeReply(m)
	}
	return x.placeRequest(m)
}

// key returns the exchange of what m asks for or, of a reply, of the lowest bit of asks. A
// request for several things belongs to the exchange of the first.
func (m *Message) key(asks dissect.Asked) exchangeKey {
	server, client := m.Dst, m.Src
	if m.Reply {
		server, client = client, server
	}
	return exchangeKey{server: server.Addr().As16(), client: client.Addr().As16(),
		serverPort: server.Port(), clientPort: client.Port(), asks: asks.First()}
}

// placeRequest begins an exchange with a request, or repeats the one under way.
func (x *Exchanges) placeRequest(m *Message) Part {
	k := m.key(m.Type.Asks)
	in, e := x.challenged, x.challenged.Get(k)
	if e == nil {
		in, e = x.open, x.beginExchange(k)
	}
	if e.first != 0 && (m.Age-e.lastAge > int64(answerWait) || int64(e.livedMillis) > retryFor.Milliseconds()) {
		x.endExchange(in, k, e)
		e = x.beginExchange(k)
	}
	if e.first != 0 {
		return x.placeRepeat(m, e)
	}
	*e = exchange{first: m.Frame, plainNanos: m.Nanos, lastAge: m.Age, requestKey: uint32(m.Key), challengeTrip: -1, requestKind: x.kindNumber(m), state: replyDue}
	if m.Key != 0 {
		e.state |= beganWithToken
	}
	x.checkFirstRequest(m, x.ended.Peek(k))
	return e.requestPart(Ask)
}

// beginExchange returns the entry of k among the open exchanges, a zero one if it is new.
func (x *Exchanges) beginExchange(k exchangeKey) *exchange {
	e, evicted := x.open.Put(k)
	if evicted != nil {
		x.evicted++
	}
	return e
}

// placeRepeat adds a further request to e: a repetition, or the echo of its challenge.
func (x *Exchanges) placeRepeat(m *Message, e *exchange) Part {
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
	}
	e.state |= replyDue
	e.requestKind, e.requestKey = x.kindNumber(m), uint32(m.Key)
	return e.requestPart(step)
}

// requestPart returns the part of a request of e.
func (e *exchange) requestPart(s Step) Part {
	return Part{Step: s, ID: e.first, Took: -1, Trip: -1, BroughtChallenge: e.state&(beganWithToken|challengeEchoed) != 0}
}

// lastRequest returns frame and time stamp of the last request.
func (e *exchange) lastRequest() (frame uint64, nanos int64) {
	if e.state&challengeEchoed != 0 && e.echoOffset >= e.plainOffset {
		return e.first + uint64(e.echoOffset), e.echoNanos
	}
	return e.first + uint64(e.plainOffset), e.plainNanos
}

// endExchange moves an exchange whose wait is over to the ended ones. If the server has not
// replied, and the capture has no gap since, it reports the silence.
func (x *Exchanges) endExchange(in table, k exchangeKey, e *exchange) {
	if e.state&(replyDue|partsCame|answerCame) == replyDue && e.lastAge > x.lastGap && x.ReportSilence != nil {
		f := &x.fact
		at, nanos := e.lastRequest()
		*f = Fact{Frame: at, Nanos: nanos, Age: e.lastAge, Key: uint64(e.requestKey),
			Server: netip.AddrPortFrom(netip.AddrFrom16(k.server).Unmap(), k.serverPort),
			Client: netip.AddrPortFrom(netip.AddrFrom16(k.client).Unmap(), k.clientPort), Part: e.requestPart(Silence)}
		if e.requestKind > 0 {
			f.Proto, f.Type = x.kinds[e.requestKind-1].proto, x.kinds[e.requestKind-1].typ
			x.ReportSilence(f)
			e.state |= silenceReported
		}
	}
	x.retire(in, k, e)
}

// retire moves an exchange from table in to the ended ones and returns its new place.
func (x *Exchanges) retire(in table, k exchangeKey, e *exchange) *exchange {
	was := *e
	in.Delete(k)
	p, _ := x.ended.Put(k)
	*p = was
	return p
}

// Tick ends the exchanges that waited until age, and drops those that ended longer than
// endedFor ago. At the end of a capture no call is needed: nothing is reported of
// exchanges whose wait is not over.
func (x *Exchanges) Tick(age int64) {
	for _, in := range [...]table{x.open, x.challenged} {
		for {
			k, e, ok := in.Oldest()
			if !ok || age-e.lastAge <= int64(answerWait) {
				break
			}
			x.endExchange(in, k, e)
		}
	}
	for {
		k, e, ok := x.ended.Oldest()
		if !ok || age-e.lastAge <= int64(endedFor) {
			return
		}
		x.ended.Delete(k)
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
