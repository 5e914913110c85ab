package proof

import (
	"net/netip"
	"slices"

	"qsniff/dissect"
	"qsniff/internal/base/hostset"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// Method is a set of ways to prove an address.
type Method uint8

// The ways.
const (
	Challenge Method = 1 << iota
	Handshake
)

// Options choose what is collected. The zero value collects the proofs of all servers.
type Options struct {
	Ours  *hostset.Set // servers whose challenges and handshakes count; nil: all
	Scale float64      // of the tables, as a multiple of the usual; 0: the usual
}

// Collector collects proofs. It implements track.Watcher.
type Collector struct {
	ours       *hostset.Set
	proven     *lru.Table[track.Host, provenSource]
	offered    *lru.Table[offerKey, offer]
	handshakes *lru.Table[connKey, handshake]
	servers    *lru.Table[socket, serverState]
	counts     Counts
	asked      []*dissect.Proto // as in Summary

	evicted        uint64 // proven sources
	evictedPending uint64 // challenges and handshakes that could still have been completed
}

// socket is one end of UDP or TCP.
type socket struct {
	track.End
	isTCP bool
}

// Hash returns different values for the same end of UDP and of TCP.
func (e socket) Hash(seed uint64) uint64 {
	if e.isTCP {
		seed++
	}
	return e.End.Hash(seed)
}

// offerKey is a server and the address to which it gave a challenge.
type offerKey struct {
	server socket
	client track.Host
}

// Hash mixes the key with the seed.
func (k offerKey) Hash(seed uint64) uint64 { return k.client.Hash(k.server.Hash(seed)) }

// offer is the last two challenges that the server gave to the address, the newer one first.
type offer [2]challenge

// challenge is a number that a server gave.
type challenge struct {
	value   uint32
	isGiven bool
	isUsed  bool  // it was brought back since
	givenAt int64 // Sighting.Age
}

// connKey is the ends of a TCP connection.
type connKey struct {
	server, client socket
}

// Hash mixes the key with the seed.
func (k connKey) Hash(seed uint64) uint64 { return k.client.Hash(k.server.Hash(seed)) }

// handshake is a connection to which the server agreed.
type handshake struct {
	isn      uint32 // the server's first sequence number
	agreedAt int64
}

// serverState is the challenge that a server gave last.
type serverState struct {
	lastChallenge uint32
	repeats       uint8 // how many times in a row it was given to another address than before
	isShared      bool  // the server gives it to everybody
	lastClient    track.Host
}

// provenSource is an address that proved itself.
type provenSource struct {
	first, last int64
	proofs      uint64
	methods     Method
	kept        uint8 // servers in use
	hasMore     bool  // it proved itself to further servers
	servers     [keptServers]socket
}

// New returns an empty collector.
func New(opt Options) *Collector {
	if opt.Scale == 0 {
		opt.Scale = 1
	}
	size := func(n int) int { return int(float64(n) * opt.Scale) }
	return &Collector{
		ours:       opt.Ours,
		proven:     lru.New[track.Host, provenSource](size(maxProven)),
		offered:    lru.New[offerKey, offer](size(maxOffered)),
		handshakes: lru.New[connKey, handshake](size(maxPending)),
		servers:    lru.New[socket, serverState](size(maxServers)),
	}
}

// Sight implements track.Watcher: it counts a packet and records what it proves.
func (c *Collector) Sight(s *track.Sighting) {
	switch s.What {
	case track.IsRequest:
		if c.isOurs(s.Dst, s.DstPort) {
			c.counts.Requests++
			if s.Proto != nil && !slices.Contains(c.asked, s.Proto) {
				c.asked = append(c.asked, s.Proto)
			}
			c.checkEcho(s)
		}
	case track.IsReply, track.IsPart:
		if c.isOurs(s.Src, s.SrcPort) {
			c.counts.Replies++
		}
	case track.IsChallenge:
		if c.isOurs(s.Src, s.SrcPort) {
			c.counts.Challenges++
			c.recordChallenge(s)
		}
	case track.IsOpened:
		if c.isOurs(s.Dst, s.DstPort) {
			c.counts.Opened++
		}
	case track.IsAgreed:
		if c.isOurs(s.Src, s.SrcPort) {
			c.counts.Agreed++
			c.recordSYNACK(s)
		}
	case track.IsAcked:
		c.checkACK(s)
	}
}

// Tick does nothing: the age of a challenge is checked when it is brought back.
func (c *Collector) Tick(age, nanos int64) {}

// Lost counts packets that the capture lacks.
func (c *Collector) Lost(packets uint64) { c.counts.Lost += packets }

// End does nothing.
func (c *Collector) End(age, nanos int64) {}

// isOurs reports whether proofs for the server at h and port count.
func (c *Collector) isOurs(h track.Host, port uint16) bool {
	return c.ours == nil || c.ours.Has(netip.AddrPortFrom(h.Addr(), port))
}

// recordChallenge stores the challenge that a server gives to an address.
func (c *Collector) recordChallenge(s *track.Sighting) {
	if s.Flags&track.HasKey == 0 {
		return
	}
	server := socket{End: s.From()}
	if c.countGiven(server, s) {
		return
	}
	k := offerKey{server, s.Dst}
	o := c.offered.Get(k)
	if o == nil {
		var evicted *lru.Evicted[offerKey, offer]
		if o, evicted = c.offered.Put(k); evicted != nil && evicted.Val.isPending(s.Age) {
			c.evictedPending++
		}
	}
	switch {
	case !o[0].isGiven || o[0].value != s.Key:
		o[1], o[0] = o[0], challenge{value: s.Key, isGiven: true, givenAt: s.Age}
	default: // given again: it can be brought back again
		o[0].givenAt, o[0].isUsed = s.Age, false
	}
}

// isPending reports whether the newer challenge can still be brought back.
func (o *offer) isPending(age int64) bool {
	return !o[0].isUsed && age-o[0].givenAt <= freshFor.Nanoseconds()
}

// countGiven counts the challenge that a server gives and reports whether the server gives
// it to everybody.
func (c *Collector) countGiven(server socket, s *track.Sighting) (shared bool) {
	g, _ := c.servers.Put(server)
	switch {
	case g.isShared:
		return true
	case g.lastChallenge != s.Key || g.lastClient == (track.Host{}):
		g.lastChallenge, g.repeats = s.Key, 0
	case g.lastClient != s.Dst:
		g.repeats++
		g.isShared = g.repeats >= sharedWith
	}
	g.lastClient = s.Dst
	return g.isShared
}

// checkEcho records a proof if a request brings back a challenge.
func (c *Collector) checkEcho(s *track.Sighting) {
	if s.Flags&track.HasKey == 0 {
		return
	}
	server := socket{End: s.To()}
	o := c.offered.Get(offerKey{server, s.Src})
	if o == nil {
		return
	}
	for i := range o {
		x := &o[i]
		if !x.isGiven || x.value != s.Key || s.Age-x.givenAt > freshFor.Nanoseconds() {
			continue
		}
		if g := c.servers.Peek(server); g != nil && g.isShared {
			return
		}
		c.recordProof(s, server, Challenge, !x.isUsed)
		x.isUsed = true
		return
	}
}

// recordSYNACK stores a connection to which a server agrees.
func (c *Collector) recordSYNACK(s *track.Sighting) {
	k := connKey{socket{s.From(), true}, socket{s.To(), true}}
	p, evicted := c.handshakes.Put(k)
	if evicted != nil && s.Age-evicted.Val.agreedAt <= freshFor.Nanoseconds() {
		c.evictedPending++
	}
	*p = handshake{s.Key, s.Age}
}

// checkACK records a proof if a segment is the third one of a handshake.
func (c *Collector) checkACK(s *track.Sighting) {
	k := connKey{socket{s.To(), true}, socket{s.From(), true}}
	p := c.handshakes.Peek(k)
	if p == nil || p.isn != s.Key {
		return
	}
	fresh := s.Age-p.agreedAt <= freshFor.Nanoseconds()
	c.handshakes.Delete(k)
	if fresh {
		c.recordProof(s, k.server, Handshake, true)
	}
}

// recordProof records that the sender of s is at its address. isNew is false where it was
// proved by the same challenge before: a challenge that comes back with every request of a
// poll is one proof.
func (c *Collector) recordProof(s *track.Sighting, to socket, method Method, isNew bool) {
	x, evicted := c.proven.Put(s.Src)
	if evicted != nil {
		c.evicted++
	}
	if x.proofs == 0 {
		x.first = s.Nanos
	}
	if isNew || x.proofs == 0 {
		x.proofs++
	}
	x.last = max(x.last, s.Nanos)
	x.methods |= method
	x.addServer(to)
}

// addServer adds a server to the list of the source, or sets hasMore if the list is full.
func (x *provenSource) addServer(to socket) {
	for i := range x.servers[:x.kept] {
		if x.servers[i] == to {
			return
		}
	}
	if x.kept == keptServers {
		x.hasMore = true
		return
	}
	x.servers[x.kept] = to
	x.kept++
}

// IsProven reports whether an address has proved itself so far.
func (c *Collector) IsProven(h track.Host) bool {
	x := c.proven.Peek(h)
	return x != nil && !c.isHollow(x)
}

// isHollow reports whether all proofs of a source are echoes of challenges that their
// servers give to everybody. A server may turn out to do that after the proof.
func (c *Collector) isHollow(x *provenSource) bool {
	if x.methods&Handshake != 0 || x.hasMore {
		return false
	}
	for i := range x.servers[:x.kept] {
		if g := c.servers.Peek(x.servers[i]); g == nil || !g.isShared {
			return false
		}
	}
	return true
}
