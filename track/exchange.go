package track

import (
	"math"
	"net/netip"

	"qsniff/dissect"
	"qsniff/finding"
	"qsniff/internal/lru"
)

// Message is what Exchanges need to know of a message.
type Message struct {
	Src, Dst netip.AddrPort
	Proto    *dissect.Proto
	Type     *dissect.Type // nil if unknown
	Key      uint64        // of the dissected message
	// Frame is the packet that completed a request, and the first one of a reply: a
	// request between the parts of a reply did not cause it.
	Frame uint64
	Nanos int64  // time stamp of Frame
	Age   int64  // the time that tables age by, at Frame
	Conn  uint64 // of TCP, the number of the connection from 1; 0 for UDP
	Reply bool
	// Expert is where Place adds what the exchange shows.
	Expert []finding.Expert

	set uint64 // what clock says
}

// Exchanges finds out which messages of one partition belong together: a request,
// its repetitions, the challenge that the server demands and the request that
// brings it back, and the replies.
//
// Datagrams are paired by both ends and by what they ask for and give. One client
// socket has one exchange of a kind with a server at a time: what it asks before an
// answer came is asked again. A challenge does not say for which kind it is; it is
// the oldest exchange's that waits and has none. Messages of connections are
// paired by the number that their protocol gives them.
//
// Some things a capture cannot tell. An answer after two equal requests is taken
// for that of the second, so its time may be too short. Challenges for several
// kinds, of which one is lost, may be taken for each other's. A copy of a request
// that the network makes after the answer is a new question.
//
// It is not safe for concurrent use.
type Exchanges struct {
	// Silent is called for each exchange whose wait ended without a word of the
	// server to its last request; the fact is valid during the call. That the
	// capture shows no answer does not mean that there was none: one direction may
	// be missing as a whole. Set it before the first call, or leave it nil.
	Silent func(*Fact)

	open       table // the client's word only
	challenged table // the server answered with a challenge
	past       table // answered, or the wait is over
	calls      *lru.Table[callKey, call]

	clock   clock
	kinds   []kind
	gap     int64 // age of the last gap in the capture
	evicted uint64
	fact    Fact
}

type table = *lru.Table[exchangeKey, exchange]

// exchangeKey names what one end may ask another.
type exchangeKey struct {
	server, client         [16]byte
	serverPort, clientPort uint16
	asks                   dissect.Asked // one bit
}

// Hash mixes the key; the seed makes the result unpredictable to senders.
func (k exchangeKey) Hash(seed uint64) uint64 {
	h := lru.MixBytes(lru.MixBytes(seed, k.server[:]), k.client[:])
	return lru.Mix(h, uint64(k.serverPort)<<32|uint64(k.clientPort)<<16|uint64(k.asks))
}

// exchange is what is known of one. Frames are counted from the first request's.
type exchange struct {
	first     uint64
	age       int64 // of the last request, challenge or part of a reply
	trip      int64 // round trip of the last challenge, -1 if there is none
	plain     int64 // time stamp of the last request without the challenge
	echo      int64 // and of the last one that brought it back
	plainAt   uint32
	echoAt    uint32
	challenge uint32 // the last one; 0 if the capture cut it
	key       uint32 // of the last request; 0 if it has none
	lived     uint16 // milliseconds from the first request to the last
	asked     uint8  // number of the kind of the last request, 0 if there were too many kinds
	answered  uint8  // likewise, of the answer
	state     state
}

// state is how far an exchange is.
type state uint8

const (
	owes    state = 1 << iota // the server has not replied to the last request
	given                     // the server demanded a challenge
	echoed                    // and the last one was brought back
	heard                     // parts of a reply are on their way
	replied                   // the answer came
	rotated                   // the challenge changed
	keyed                     // the first request brought a challenge
	silent                    // it was said that the server owes a word
)

// kind is a kind of message.
type kind struct {
	proto *dissect.Proto
	typ   *dissect.Type
}

// NewExchanges returns tables for size requests that nobody answered, and for as
// many others as they take.
func NewExchanges(size int) *Exchanges {
	return &Exchanges{
		open:       lru.New[exchangeKey, exchange](size),
		challenged: lru.New[exchangeKey, exchange](size / challengedShare),
		past:       lru.New[exchangeKey, exchange](size / pastShare),
		calls:      lru.New[callKey, call](size / callShare),
		gap:        math.MinInt64,
	}
}

// Evicted is how many exchanges made room for others before they were over.
func (x *Exchanges) Evicted() uint64 { return x.evicted }

// nothing is the part of a message that is of no exchange.
var nothing = Part{Took: -1, Trip: -1}

// Place says which part m has in which exchange.
func (x *Exchanges) Place(m *Message) Part {
	x.clock.see(m)
	m.set = x.clock.set
	switch {
	case m.Conn != 0:
		return x.placeCall(m)
	case m.Type == nil && m.Reply:
		return x.unknown(m)
	case m.Type == nil || m.Type.Asks == 0 || m.Type.Notice:
		return nothing
	case m.Reply:
		return x.reply(m)
	}
	return x.request(m)
}

// key names what m asks for, or what of it the bit asks gives. A request for
// several things goes by the first.
func (m *Message) key(asks dissect.Asked) exchangeKey {
	server, client := m.Dst, m.Src
	if m.Reply {
		server, client = client, server
	}
	return exchangeKey{server: server.Addr().As16(), client: client.Addr().As16(),
		serverPort: server.Port(), clientPort: client.Port(), asks: asks.First()}
}

// request places a request.
func (x *Exchanges) request(m *Message) Part {
	k := m.key(m.Type.Asks)
	in, e := x.challenged, x.challenged.Get(k)
	if e == nil {
		in, e = x.open, x.begin(k)
	}
	if e.first != 0 && (m.Age-e.age > int64(answerWait) || int64(e.lived) > retryFor.Milliseconds()) {
		x.end(in, k, e)
		e = x.begin(k)
	}
	if e.first != 0 {
		return x.repeat(m, e)
	}
	*e = exchange{first: m.Frame, plain: m.Nanos, age: m.Age, key: uint32(m.Key), trip: -1, asked: x.kindOf(m), state: owes}
	if m.Key != 0 {
		e.state |= keyed
	}
	x.judgeAnew(m, x.past.Peek(k))
	return e.part(Ask)
}

// begin returns the exchange of k that waits for its first word of the server, a
// zero one if there is none.
func (x *Exchanges) begin(k exchangeKey) *exchange {
	e, evicted := x.open.Put(k)
	if evicted != nil {
		x.evicted++
	}
	return e
}

// repeat places a further request of e.
func (x *Exchanges) repeat(m *Message, e *exchange) Part {
	step := Again
	own := e.state&given != 0 && m.Key != 0 && (uint32(m.Key) == e.challenge || x.gave(m))
	if own && e.state&echoed == 0 {
		step = Echo
	}
	x.judgeRequest(m, e, own)
	e.lived = uint16(min(int64(e.lived)+max(m.Age-e.age, 0)/1e6, math.MaxUint16))
	e.age = max(e.age, m.Age)
	at := uint32(m.Frame - e.first)
	if own {
		e.echo, e.echoAt, e.state = m.Nanos, at, e.state|echoed
	} else {
		e.plain, e.plainAt = m.Nanos, at
	}
	e.state |= owes
	e.asked, e.key = x.kindOf(m), uint32(m.Key)
	return e.part(step)
}

// part is that of a request of e.
func (e *exchange) part(s Step) Part {
	return Part{Step: s, ID: e.first, Took: -1, Trip: -1, Keyed: e.state&(keyed|echoed) != 0}
}

// last returns frame and time stamp of the last request.
func (e *exchange) last() (frame uint64, nanos int64) {
	if e.state&echoed != 0 && e.echoAt >= e.plainAt {
		return e.first + uint64(e.echoAt), e.echo
	}
	return e.first + uint64(e.plainAt), e.plain
}

// end puts an exchange that is over aside. Where the server owes a word, and
// nothing suggests that the capture missed it, that is said.
func (x *Exchanges) end(in table, k exchangeKey, e *exchange) {
	if e.state&(owes|heard|replied) == owes && e.age > x.gap && x.Silent != nil {
		f := &x.fact
		at, nanos := e.last()
		*f = Fact{Frame: at, Nanos: nanos, Age: e.age, Key: uint64(e.key),
			Server: netip.AddrPortFrom(netip.AddrFrom16(k.server).Unmap(), k.serverPort),
			Client: netip.AddrPortFrom(netip.AddrFrom16(k.client).Unmap(), k.clientPort), Part: e.part(Silence)}
		if e.asked > 0 {
			f.Proto, f.Type = x.kinds[e.asked-1].proto, x.kinds[e.asked-1].typ
			x.Silent(f)
			e.state |= silent
		}
	}
	x.retire(in, k, e)
}

// retire moves an exchange to those that are over.
func (x *Exchanges) retire(in table, k exchangeKey, e *exchange) *exchange {
	was := *e
	in.Delete(k)
	p, _ := x.past.Put(k)
	*p = was
	return p
}

// Tick ends the exchanges that waited until age, and forgets those that are over
// for long. Nothing is said of exchanges whose wait is not over when the capture
// ends, so the end needs no other call.
func (x *Exchanges) Tick(age int64) {
	for _, in := range [...]table{x.open, x.challenged} {
		for {
			k, e, ok := in.Oldest()
			if !ok || age-e.age <= int64(answerWait) {
				break
			}
			x.end(in, k, e)
		}
	}
	for {
		k, e, ok := x.past.Oldest()
		if !ok || age-e.age <= int64(rememberedFor) {
			return
		}
		x.past.Delete(k)
	}
}

// Gap says that packets are missing from the capture at age: an answer to what was
// asked before may be among them.
func (x *Exchanges) Gap(age int64) { x.gap = age }

// kindOf numbers the kind of m.
func (x *Exchanges) kindOf(m *Message) uint8 {
	k := kind{m.Proto, m.Type}
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
