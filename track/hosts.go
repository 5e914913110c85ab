package track

import (
	"math"
	"net/netip"

	"qsniff/dissect"
	"qsniff/finding"
	"qsniff/internal/lru"
)

// Hosts finds what only the messages of several address pairs show together, or many of one
// pair. It takes facts in packet order, so its findings do not depend on how partitions
// share the work.
//
// No finding rests on a packet that is not there, except where an exchange reports a
// Silence. Hosts does not distinguish floods from users, but what it holds of clients that
// never prove their address is evicted first. It is not safe for concurrent use.
type Hosts struct {
	// Raise is called with each finding, at the fact that decides it. Set it before
	// the first call.
	Raise func(*Raised)

	notes             notes // of what the sockets do not have yet
	maxNotes          int
	sockets           *lru.Table[socketKey, askedServers]
	reportedElsewhere *lru.Table[elsewhereKey, struct{}]
	servers           *lru.Table[End, hostState]
	offered           *lru.Table[pairKey, challengedClient] // clients that were given a challenge
	proven            *lru.Table[pairKey, challengedClient] // those that brought it back
	budgets           *lru.Table[pairKey, budget]
	logins            *lru.Table[loginKey, uint32]
	sources           *lru.Table[Host, loginSource]

	hasBegun bool
	firstAge int64 // Age of the first fact
	lastGap  int64 // age of the last gap in the capture
	isLossy  bool  // packets are missing at an unknown place
	evicted  uint64
	out      Raised
	frames   [2]uint64
}

// Raised is a finding of Hosts. It is valid during the call of Raise.
type Raised struct {
	Expert finding.Expert
	Frames []uint64 // on which it rests, oldest first; the last one decided it
	Nanos  int64    // Unix time of the last of Frames
	// Server and Client are invalid if the finding is about neither.
	Server, Client netip.AddrPort
}

// never is an age before all others.
const never = math.MinInt64

// NewHosts returns empty tables of size times the usual size.
func NewHosts(size float64) *Hosts {
	n := func(n int) int { return int(float64(n) * size) }
	return &Hosts{
		maxNotes:          max(n(maxNotes), 1),
		sockets:           lru.New[socketKey, askedServers](n(maxSockets)),
		reportedElsewhere: lru.New[elsewhereKey, struct{}](n(maxElsewhere)),
		servers:           lru.New[End, hostState](n(maxHosts)),
		offered:           lru.New[pairKey, challengedClient](n(maxOffered)),
		proven:            lru.New[pairKey, challengedClient](n(maxProven)),
		budgets:           lru.New[pairKey, budget](n(maxBudgets)),
		logins:            lru.New[loginKey, uint32](n(maxLogins)),
		sources:           lru.New[Host, loginSource](n(maxSources)),
		lastGap:           never,
	}
}

// Evicted returns how many servers and clients were evicted.
func (h *Hosts) Evicted() uint64 { return h.evicted }

// RecordGap records that packets are missing from the capture at age.
func (h *Hosts) RecordGap(age int64) { h.lastGap = max(h.lastGap, age) }

// SetLossy records that packets are missing from the capture at an unknown place.
func (h *Hosts) SetLossy() { h.isLossy = true }

// AddFact adds a message, or an answer that did not come.
func (h *Hosts) AddFact(f *Fact) {
	if !h.hasBegun {
		h.hasBegun, h.firstAge = true, f.Age
	}
	switch {
	case f.Type == nil || f.Type.Notice:
	case f.Type.Asks.Has(dissect.AskLogin):
		h.addLogin(f)
	case f.TCP:
	case f.Step == Silence:
		h.addSilence(f)
	case f.Reply:
		h.addReply(f)
	default:
		h.addRequest(f)
	}
}

// addRequest adds a request in a datagram.
func (h *Hosts) addRequest(f *Fact) {
	if f.Type.Asks != 0 {
		h.addNote(f, f.Type.Asks.First())
	}
	switch {
	case f.Type.Asks.Has(dissect.Queries):
		h.addQuery(f)
	case f.Type.Asks.Has(dissect.AskServers):
		h.addPageRequest(f)
	}
}

// addReply adds a reply in a datagram. A reply that nobody requested is no evidence about
// its server, as anybody can forge it.
func (h *Hosts) addReply(f *Fact) {
	switch f.Step {
	case NoStep:
		return
	case Stray:
		h.checkElsewhere(f)
		return
	}
	h.addNote(f, f.Type.Asks)
	switch {
	case f.Type.Asks.Has(dissect.Queries):
		h.addServerReply(f)
	case f.Type.Asks.Has(dissect.AskServers):
		if b := h.budgets.Get(pairOf(f)); b != nil {
			b.wasAnswered, b.isReported, b.silent, b.overAge = true, false, 0, never
		}
	}
}

// addSilence adds an answer that did not come.
func (h *Hosts) addSilence(f *Fact) {
	switch {
	case f.Type.Asks.Has(dissect.Queries):
		h.addUnansweredQuery(f)
	case f.Type.Asks.Has(dissect.AskServers):
		h.addUnansweredPage(f)
	}
}

// isUnsure reports whether packets may be missing from the capture since age.
func (h *Hosts) isUnsure(age int64) bool { return h.isLossy || h.lastGap >= age }

// raise raises a finding at f, one severity lower if it is unsure, and nothing if
// the protocol has no such finding. first is the frame where the evidence begins, and may
// be that of f.
func (h *Hosts) raise(f *Fact, first uint64, x finding.Expert, isUnsure bool) {
	if x.Code == nil {
		return
	}
	x.Severity, x.Field = x.Code.Severity, -1
	if isUnsure && x.Severity > finding.Chat {
		x.Severity--
	}
	frames := append(h.frames[:0], first)
	if f.Frame != first {
		frames = append(frames, f.Frame)
	}
	h.out = Raised{Expert: x, Frames: frames, Nanos: f.Nanos, Server: f.Server, Client: f.Client}
	h.Raise(&h.out)
}

// pairKey is a server and the address of a client, without its port: servers issue challenges
// and count requests by address.
type pairKey struct {
	server End
	client Host
}

// Hash mixes the key.
func (k pairKey) Hash(seed uint64) uint64 { return lru.MixBytes(k.server.Hash(seed), k.client[:]) }

// pairOf returns the pair of f.
func pairOf(f *Fact) pairKey { return pairKey{EndOf(f.Server), f.Client.Addr().As16()} }
