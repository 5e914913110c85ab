package track

import (
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/console"
	"qsniff/internal/lru"
	"qsniff/wire"
)

// DefaultFlows is how many flows one partition holds: 65,536 in all, 4.4 MiB. The oldest is
// evicted first, but one of which more than one message came is spared once. Then a weak message of its flow is no longer
// recognized, or its engine must be guessed when an incomplete split message is given out.
const DefaultFlows = 4096

// flowKey is a server and a client's address, without the client's port:
// query tools ask each question from a socket of its own.
type flowKey struct {
	server, client [16]byte
	port           uint16
}

// Hash mixes the key; the seed makes the result unpredictable to senders.
func (k flowKey) Hash(seed uint64) uint64 {
	return lru.Mix(lru.Mix16(lru.Mix16(seed, &k.server), &k.client), uint64(k.port))
}

// keyOf returns the flow of a server and a client.
func keyOf(server netip.AddrPort, client netip.Addr) flowKey {
	return flowKey{server: server.Addr().As16(), client: client.As16(), port: server.Port()}
}

// Flows holds what servers and clients showed of each other, in bounded memory.
type Flows struct {
	table     *lru.Ring[flowKey, flow]
	cameAgain numberSet                              // the flows of which another message came since they were added or spared
	last      lookup                                 // most messages ask for one flow twice: to recall it, and to add to it
	passwords *lru.Table[flowKey, console.Passwords] // nil until the first OpenPasswords
	evicted   uint64
}

// NewFlows returns empty tables for size flows.
func NewFlows(size int) *Flows {
	t := lru.NewRing[flowKey, flow](size)
	return &Flows{table: t, cameAgain: newNumberSet(t.Cap())}
}

// lookup is a search for a flow.
type lookup struct {
	isSet  bool
	key    flowKey
	hash   uint32
	number uint32
	flow   *flow // nil if there is none
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

// find returns a flow, nil if it is unknown. It is valid until the next call.
func (f *Flows) find(server netip.AddrPort, client netip.Addr) *flow {
	k := keyOf(server, client)
	if l := &f.last; !l.isSet || k != l.key {
		l.isSet, l.key, l.hash = true, k, f.table.Hash(&k)
		l.number, l.flow = f.table.Find(&k, l.hash)
	}
	return f.last.flow
}

// add adds the flow that was last looked for and not found. If there is no room the oldest is
// evicted, but the maxSpared oldest are added again if they came again.
func (f *Flows) add() *flow {
	for n := 0; f.table.IsFull(); n++ {
		first := f.table.First()
		if n == maxSpared || !f.cameAgain.has(first) {
			f.evicted++
			break
		}
		e := *f.table.At(first)
		_, v := f.addEntry(&e.Key, f.table.Hash(&e.Key), first)
		*v = e.Val
	}
	l := &f.last
	l.number, l.flow = f.addEntry(&l.key, l.hash, 0)
	return l.flow
}

func (f *Flows) addEntry(k *flowKey, hash, hidden uint32) (number uint32, v *flow) {
	number, v = f.table.Add(k, hash, hidden)
	f.cameAgain.put(number, false)
	return number, v
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
		v = f.add()
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
