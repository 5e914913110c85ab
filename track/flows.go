package track

import (
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/console"
	"qsniff/internal/lru"
	"qsniff/wire"
)

// DefaultFlows is how many flows one partition remembers: 65,536 in all, about
// 7 MiB. The oldest is forgotten first; what that costs is a weak message that is
// no longer believed, or a guess at flush time.
const DefaultFlows = 4096

// flowKey names a server and a client's address. The client's port is left out:
// query tools ask each question from a socket of its own.
type flowKey struct {
	server, client [16]byte
	port           uint16
}

// Hash mixes the key; the seed makes the result unpredictable to senders.
func (k flowKey) Hash(seed uint64) uint64 {
	h := lru.MixBytes(seed, k.server[:])
	h = lru.MixBytes(h, k.client[:])
	return lru.Mix(h, uint64(k.port))
}

func keyOf(server netip.AddrPort, client netip.Addr) flowKey {
	return flowKey{server: server.Addr().As16(), client: client.As16(), port: server.Port()}
}

// Flows is a bounded memory of what servers and clients showed each other.
type Flows struct {
	table   *lru.Table[flowKey, flow]
	said    *lru.Table[flowKey, console.Passwords] // nil before the first
	evicted uint64
}

// NewFlows returns a memory for size flows.
func NewFlows(size int) *Flows {
	return &Flows{table: lru.New[flowKey, flow](size)}
}

// flow is dissect.FlowFacts in 16 bytes, so that an entry of the table is as long as a
// line of the processor's cache: looking one up is what a flood costs most.
type flow struct {
	appID, rconChallenge uint32
	asked                dissect.Asked
	engine               wire.Engine
	proto                uint8
	flags                flowFlags
}

type flowFlags uint8

const (
	hasApp flowFlags = 1 << iota
	proven
	foreign
)

// set sets or clears a flag.
func (f *flowFlags) set(flag flowFlags, on bool) {
	*f &^= flag
	if on {
		*f |= flag
	}
}

// Get returns what is known; zero if nothing is.
func (f *Flows) Get(server netip.AddrPort, client netip.Addr) dissect.FlowFacts {
	v := f.table.Get(keyOf(server, client))
	if v == nil {
		return dissect.FlowFacts{}
	}
	return dissect.FlowFacts{AppID: v.appID, HasApp: v.flags&hasApp != 0, Engine: v.engine, Proven: v.flags&proven != 0,
		Asked: v.asked, Proto: v.proto, Foreign: v.flags&foreign != 0, RconChallenge: v.rconChallenge}
}

// RecallReceiver fills in what is known if the receiver of a datagram is the server.
func (f *Flows) RecallReceiver(c *dissect.Context) { c.ToServer = f.Get(c.Dst, c.Src.Addr()) }

// RecallSender fills in what is known if its sender is.
func (f *Flows) RecallSender(c *dissect.Context) { c.FromServer = f.Get(c.Src, c.Dst.Addr()) }

// Learn adds what a message taught.
func (f *Flows) Learn(server netip.AddrPort, client netip.Addr, l dissect.FlowFacts) {
	v, evicted := f.table.Put(keyOf(server, client))
	if evicted != nil {
		f.evicted++
	}
	v.asked |= l.Asked
	if l.HasApp {
		v.appID = l.AppID
		v.flags |= hasApp
	}
	if l.Engine != wire.None && (l.Proven || v.flags&proven == 0) {
		v.engine = l.Engine
		v.flags.set(proven, l.Proven)
	}
	if l.Proto != 0 {
		v.proto = l.Proto
	}
	if l.RconChallenge != 0 {
		v.rconChallenge = l.RconChallenge
	}
	v.flags.set(foreign, l.Foreign) // the last sign counts
}

// Said returns the passwords that the client sent the server, nil if there are none.
// It is valid until the next call of Listen.
func (f *Flows) Said(server netip.AddrPort, client netip.Addr) *console.Passwords {
	if f.said == nil {
		return nil
	}
	return f.said.Get(keyOf(server, client))
}

// Listen is Said for a flow that sends one now. Flows whose last password is longest
// ago make room.
func (f *Flows) Listen(server netip.AddrPort, client netip.Addr) *console.Passwords {
	if f.said == nil {
		f.said = lru.New[flowKey, console.Passwords](saidFlows)
	}
	p, evicted := f.said.Put(keyOf(server, client))
	if evicted != nil {
		f.evicted++
	}
	return p
}

// Evicted is how many flows were forgotten to make room.
func (f *Flows) Evicted() uint64 { return f.evicted }
