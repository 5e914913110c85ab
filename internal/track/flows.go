package track

import (
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/base/console"
	"qsniff/internal/base/lru"
	"qsniff/reassembly/wire"
)

// DefaultFlows is how many flows one partition holds: 65,536 in all, 4.4 MiB. The oldest is
// evicted first, but one of which more than one message came is spared once. Then a weak message of its flow is no longer
// recognized, or its engine must be guessed when an incomplete split message is given out.
const DefaultFlows = 4096

// flowKey is a server and a client's address, without the client's port:
// query tools ask each question from a socket of its own.
type flowKey struct {
	server, client Host
	port           uint16
}

// Hash mixes the key; the seed makes the result unpredictable to senders.
func (k flowKey) Hash(seed uint64) uint64 { return k.hash(seed) }

func (k *flowKey) hash(seed uint64) uint64 {
	a, b := k.server.words()
	c, d := k.client.words()
	return lru.Mix(lru.Mix2(lru.Mix2(seed, a, b), c, d), uint64(k.port))
}

// set makes k the flow of a server and a client. The port comes first: to pass the address of a
// member, Go checks k for nil by reading it unless something was written to it before, and a new
// entry of a table is not in the processor's cache yet.
func (k *flowKey) set(server netip.AddrPort, client netip.Addr) {
	k.port = server.Port()
	k.server.Set(server)
	k.client.setAddr(client)
}

// isOf reports whether k is the flow of a server and a client.
func (k *flowKey) isOf(server netip.AddrPort, client netip.Addr) bool {
	a, b := k.server.words()
	c, d := k.client.words()
	e, f := wordsOf(server.Addr())
	g, h := wordsOf(client)
	return k.port == server.Port() && a == e && b == f && c == g && d == h
}

// keyOf returns the flow of a server and a client.
func keyOf(server netip.AddrPort, client netip.Addr) (k flowKey) {
	k.set(server, client)
	return k
}

// Flows holds what servers and clients showed of each other, in bounded memory.
type Flows struct {
	table     *lru.Ring[flowKey, flow]
	cameAgain numberSet                              // the flows of which another message came since they were added or spared
	last      lookup                                 // most messages ask for one flow more than once: to recall it, to add to it, and for its exchanges
	exchanges *Exchanges                             // whose links lead from flows; nil: there are none
	passwords *lru.Table[flowKey, console.Passwords] // nil until the first OpenPasswords
	evicted   uint64
}

// NewFlows returns empty tables for size flows.
func NewFlows(size int) *Flows {
	t := lru.NewRing[flowKey, flow](size)
	return &Flows{table: t, cameAgain: newNumberSet(t.Cap())}
}

// Search is what a flow is searched by.
type Search struct {
	key  flowKey
	hash uint32
}

// set makes s the search for the flow of a server and a client in table t.
func (s *Search) set(t *lru.Ring[flowKey, flow], server netip.AddrPort, client netip.Addr) {
	s.key.set(server, client)
	s.hash = lru.Spread(s.key.hash(t.Seed()))
}

// lookup is a search for a flow, and what it found.
type lookup struct {
	Search
	isSet  bool
	number uint32 // 0 if there is none
	flow   *flow  // nil if there is none
}

// flow is dissect.FlowFacts in 16 bytes.
type flow struct {
	appID, rconChallenge uint32
	asked                dissect.Asked
	engine               wire.Engine
	proto                uint8
	flags                flowFlags
}

type flowFlags uint8

const (
	hasAppID flowFlags = 1 << iota
	engineProven
	isForeign
)

// set sets or clears a flag.
func (f *flowFlags) set(flag flowFlags, on bool) {
	*f &^= flag
	if on {
		*f |= flag
	}
}

// find looks for a flow, which becomes the last one. It returns nil if it is unknown; what it
// returns is valid until the next flow is added.
func (f *Flows) find(server netip.AddrPort, client netip.Addr) *flow {
	if l := &f.last; !l.isSet || !l.key.isOf(server, client) {
		l.isSet = true
		l.set(f.table, server, client)
		l.number, l.flow = f.table.Find(&l.key, l.hash)
	}
	return f.last.flow
}

// add adds the flow with key, which was last looked for and not found. If there is no room the oldest is
// evicted, but the maxSpared oldest are added again if they came again.
func (f *Flows) add(key *flowKey) *flow {
	for n := 0; f.table.IsFull(); n++ {
		first := f.table.First()
		if n == maxSpared || !f.cameAgain.has(first) {
			f.evicted++
			if f.exchanges != nil {
				f.exchanges.releaseFlow(first)
			}
			break
		}
		old := *f.table.At(first)
		_, e := f.append(f.table.Hash(&old.Key), first)
		*e = old
	}
	l := &f.last
	number, e := f.append(l.hash, 0)
	e.Key = *key
	l.number, l.flow = number, &e.Val
	return l.flow
}

// append adds an entry for a flow, which takes over the exchanges of flow number hidden, if that is
// not 0. The caller fills it in.
func (f *Flows) append(hash, hidden uint32) (number uint32, e *lru.Entry[flowKey, flow]) {
	number, e = f.table.Append()
	f.table.Index(number, hash, hidden)
	f.cameAgain.put(number, false)
	if f.exchanges != nil {
		f.exchanges.links.move(hidden, number)
		f.exchanges.visits.move(hidden, number)
	}
	return number, e
}

// Get returns what is known of a flow; the zero value if nothing is.
func (f *Flows) Get(server netip.AddrPort, client netip.Addr) dissect.FlowFacts {
	v := f.find(server, client)
	if v == nil {
		return dissect.FlowFacts{}
	}
	f.cameAgain.put(f.last.number, true)
	return dissect.FlowFacts{AppID: v.appID, HasApp: v.flags&hasAppID != 0, Engine: v.engine, Proven: v.flags&engineProven != 0,
		Asked: v.asked, Proto: v.proto, Foreign: v.flags&isForeign != 0, RconChallenge: v.rconChallenge}
}

// RecallReceiver sets c.ToServer: what is known if the receiver of the datagram is the server.
func (f *Flows) RecallReceiver(c *dissect.Context) { c.ToServer = f.Get(c.Dst, c.Src.Addr()) }

// RecallSender sets c.FromServer: what is known if the sender of the datagram is the server.
func (f *Flows) RecallSender(c *dissect.Context) { c.FromServer = f.Get(c.Src, c.Dst.Addr()) }

// Learn adds what a message showed of its flow.
func (f *Flows) Learn(server netip.AddrPort, client netip.Addr, l dissect.FlowFacts) {
	v := f.find(server, client)
	if v == nil {
		v = f.add(&f.last.key)
	} else {
		f.cameAgain.put(f.last.number, true)
	}
	v.asked |= l.Asked
	if l.HasApp {
		v.appID = l.AppID
		v.flags |= hasAppID
	}
	if l.Engine != wire.None && (l.Proven || v.flags&engineProven == 0) {
		v.engine = l.Engine
		v.flags.set(engineProven, l.Proven)
	}
	if l.Proto != 0 {
		v.proto = l.Proto
	}
	if l.RconChallenge != 0 {
		v.rconChallenge = l.RconChallenge
	}
	v.flags.set(isForeign, l.Foreign) // the latest message decides
}

// Prepare prepares s for a request that a client sends to a server, and asks the processor for the
// memory that it needs.
func (f *Flows) Prepare(s *Search, server, client netip.AddrPort) {
	s.set(f.table, server, client.Addr())
	f.table.Prefetch(s.hash)
	if f.exchanges != nil {
		f.exchanges.ring.PrefetchNext()
	}
}

// LearnRequest adds what a request showed of its flow, which s was prepared for: what it asks for,
// and its protocol as of dissect.FlowFacts. It is a use of the flow's passwords. It reports false,
// and adds nothing, if the flow is another game's.
func (f *Flows) LearnRequest(s *Search, asks dissect.Asked, proto uint8) bool {
	l := &f.last
	l.isSet, l.Search = true, *s
	l.number, l.flow = f.table.Find(&s.key, s.hash)
	v := l.flow
	switch {
	case v == nil: // what is added now is not read: it is not in the processor's cache yet
		v = f.add(&s.key)
	case v.flags&isForeign != 0:
		return false
	default:
		f.cameAgain.put(f.last.number, true)
		asks |= v.asked
	}
	v.asked, v.proto = asks, proto
	if f.passwords != nil {
		f.passwords.Get(f.last.key)
	}
	return true
}

// Passwords returns the passwords that the client sent to the server, nil if there are none.
// They are valid until the next call of OpenPasswords.
func (f *Flows) Passwords(server netip.AddrPort, client netip.Addr) *console.Passwords {
	if f.passwords == nil {
		return nil
	}
	return f.passwords.Get(keyOf(server, client))
}

// OpenPasswords returns the passwords of a flow and adds the flow if it has none. The flow
// whose last call is longest ago is evicted.
func (f *Flows) OpenPasswords(server netip.AddrPort, client netip.Addr) *console.Passwords {
	if f.passwords == nil {
		f.passwords = lru.New[flowKey, console.Passwords](passwordFlows)
	}
	p, evicted := f.passwords.Put(keyOf(server, client))
	if evicted != nil {
		f.evicted++
	}
	return p
}

// Evicted returns how many flows were evicted.
func (f *Flows) Evicted() uint64 { return f.evicted }

const (
	// limit: passwordFlows is how many flows of one partition keep passwords of rcon: 1,024 in all, 900
	// KiB, allocated with the first. Few addresses administer a server. Evicted ones count in
	// Flows.Evicted.
	passwordFlows = 64
)
