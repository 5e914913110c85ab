package track

import (
	"math"
	"net/netip"

	"qsniff/dissect"
	"qsniff/finding"
	"qsniff/internal/lru"
)

// Hosts finds what only the messages of several address pairs show together, or
// many of one: it is the fold's side of this package. It takes facts in packet order,
// so what it finds does not depend on who made them.
//
// Nothing is claimed because a packet is not there, except where an exchange says
// so (Silence). It does not tell floods from users: what it remembers of clients that
// never prove their address is the first to make room. It is not safe for concurrent
// use.
type Hosts struct {
	// Raise is called with each finding, at the fact that decides it. Set it before
	// the first call.
	Raise func(*Raised)

	sockets *lru.Table[socketKey, sockets]
	told    *lru.Table[elsewhereKey, struct{}]
	servers *lru.Table[End, host]
	offered *lru.Table[pairKey, pair] // clients that were given a challenge
	proven  *lru.Table[pairKey, pair] // those that brought it back
	budgets *lru.Table[pairKey, budget]
	logins  *lru.Table[loginKey, uint32]
	sources *lru.Table[Host, source]

	begun   bool
	began   int64 // age of the first fact
	gap     int64 // of the last gap in the capture
	lossy   bool  // packets are missing, and nobody knows where
	evicted uint64
	out     Raised
	frames  [2]uint64
}

// Raised is a finding of Hosts. It is valid during the call of Raise.
type Raised struct {
	Expert finding.Expert
	Frames []uint64 // that it rests on, oldest first; the last one decided it
	Nanos  int64    // Unix time of the last of Frames
	// Server and Client are not valid where the finding is about neither.
	Server, Client netip.AddrPort
}

// never is an age before all others.
const never = math.MinInt64

// NewHosts returns tables of size times the usual size.
func NewHosts(size float64) *Hosts {
	n := func(n int) int { return int(float64(n) * size) }
	return &Hosts{
		sockets: lru.New[socketKey, sockets](n(maxSockets)),
		told:    lru.New[elsewhereKey, struct{}](n(maxTold)),
		servers: lru.New[End, host](n(maxHosts)),
		offered: lru.New[pairKey, pair](n(maxOffered)),
		proven:  lru.New[pairKey, pair](n(maxProven)),
		budgets: lru.New[pairKey, budget](n(maxBudgets)),
		logins:  lru.New[loginKey, uint32](n(maxLogins)),
		sources: lru.New[Host, source](n(maxSources)),
		gap:     never,
	}
}

// Evicted is how many servers and clients made room for others.
func (h *Hosts) Evicted() uint64 { return h.evicted }

// Gap says that packets are missing from the capture at age.
func (h *Hosts) Gap(age int64) { h.gap = max(h.gap, age) }

// Lossy says that packets are missing from the capture, and nobody knows where.
func (h *Hosts) Lossy() { h.lossy = true }

// Fact takes a message, or an answer that did not come.
func (h *Hosts) Fact(f *Fact) {
	if !h.begun {
		h.begun, h.began = true, f.Age
	}
	switch {
	case f.Type == nil || f.Type.Notice:
	case f.Type.Asks.Has(dissect.AskLogin):
		h.login(f)
	case f.TCP:
	case f.Step == Silence:
		h.silence(f)
	case f.Reply:
		h.reply(f)
	default:
		h.request(f)
	}
}

// request takes a request in a datagram.
func (h *Hosts) request(f *Fact) {
	h.ask(f)
	switch {
	case f.Type.Asks.Has(dissect.Queries):
		h.query(f)
	case f.Type.Asks.Has(dissect.AskServers):
		h.page(f)
	}
}

// reply takes a reply in a datagram. One that nobody asked for, which anybody can
// forge, teaches nothing about its server.
func (h *Hosts) reply(f *Fact) {
	switch f.Step {
	case NoStep:
		return
	case Stray:
		h.elsewhere(f)
		return
	}
	h.settle(f)
	switch {
	case f.Type.Asks.Has(dissect.Queries):
		h.serves(f)
	case f.Type.Asks.Has(dissect.AskServers):
		if b := h.budgets.Get(pairOf(f)); b != nil {
			b.answered, b.told, b.silent, b.over = true, false, 0, never
		}
	}
}

// silence takes an answer that did not come.
func (h *Hosts) silence(f *Fact) {
	switch {
	case f.Type.Asks.Has(dissect.Queries):
		h.unanswered(f)
	case f.Type.Asks.Has(dissect.AskServers):
		h.unserved(f)
	}
}

// unsure reports whether the capture may lack packets since age.
func (h *Hosts) unsure(age int64) bool { return h.lossy || h.gap >= age }

// raise raises a finding at f, one severity lower if it is not sure, and nothing if
// the protocol has no such finding. The frame of what came first may be f's.
func (h *Hosts) raise(f *Fact, first uint64, x finding.Expert, unsure bool) {
	if x.Code == nil {
		return
	}
	x.Severity, x.Field = x.Code.Severity, -1
	if unsure && x.Severity > finding.Chat {
		x.Severity--
	}
	frames := append(h.frames[:0], first)
	if f.Frame != first {
		frames = append(frames, f.Frame)
	}
	h.out = Raised{Expert: x, Frames: frames, Nanos: f.Nanos, Server: f.Server, Client: f.Client}
	h.Raise(&h.out)
}

// pairKey is a server and the address of a client: what a server remembers of a
// client seldom depends on its port.
type pairKey struct {
	server End
	client Host
}

// Hash mixes the key.
func (k pairKey) Hash(seed uint64) uint64 { return lru.MixBytes(k.server.Hash(seed), k.client[:]) }

func pairOf(f *Fact) pairKey { return pairKey{EndOf(f.Server), f.Client.Addr().As16()} }
