package track

import (
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/console"
	"qsniff/internal/lru"
	"qsniff/internal/splithdr"
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
	table   *lru.Table[flowKey, dissect.FlowFacts]
	said    *lru.Table[flowKey, console.Passwords] // nil before the first
	evicted uint64
}

// NewFlows returns a memory for size flows.
func NewFlows(size int) *Flows {
	return &Flows{table: lru.New[flowKey, dissect.FlowFacts](size)}
}

// Get returns what is known; zero if nothing is.
func (f *Flows) Get(server netip.AddrPort, client netip.Addr) dissect.FlowFacts {
	if v := f.table.Get(keyOf(server, client)); v != nil {
		return *v
	}
	return dissect.FlowFacts{}
}

// Learn adds what a message taught.
func (f *Flows) Learn(server netip.AddrPort, client netip.Addr, l dissect.FlowFacts) {
	v, gone := f.table.Put(keyOf(server, client))
	if gone != nil {
		f.evicted++
	}
	v.Asked |= l.Asked
	if l.HasApp {
		v.AppID, v.HasApp = l.AppID, true
	}
	if l.Engine != splithdr.None && (l.Proven || !v.Proven) {
		v.Engine, v.Proven = l.Engine, l.Proven
	}
	if l.Proto != 0 {
		v.Proto = l.Proto
	}
	if l.RconChallenge != 0 {
		v.RconChallenge = l.RconChallenge
	}
	v.Foreign = l.Foreign // the last sign counts
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
	p, gone := f.said.Put(keyOf(server, client))
	if gone != nil {
		f.evicted++
	}
	return p
}

// Evicted is how many flows were forgotten to make room.
func (f *Flows) Evicted() uint64 { return f.evicted }
