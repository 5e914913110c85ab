package proof

import (
	"net/netip"

	"qsniff/internal/hostset"
	"qsniff/internal/lru"
	"qsniff/track"
)

// How is a way, or ways, to prove an address.
type How uint8

// The ways.
const (
	Challenge How = 1 << iota
	Handshake
)

// Options choose what is collected. The zero value is everything.
type Options struct {
	Ours  *hostset.Set // servers whose challenges and handshakes count; nil: all
	Scale float64      // of the tables, as a multiple of the usual; 0: the usual
}

// Collector collects proofs. It implements track.Watcher.
type Collector struct {
	ours    *hostset.Set
	proven  *lru.Table[track.Host, source]
	offered *lru.Table[offerKey, offer]
	pending *lru.Table[pendingKey, pending]
	servers *lru.Table[end, giver]
	seen    Seen

	forgotten  uint64 // proven sources that made room
	overlooked uint64 // challenges and handshakes that made room while they were fresh
}

// end is one end of UDP or TCP, and which of them.
type end struct {
	track.End
	tcp bool
}

// Hash tells the ends of UDP and TCP apart.
func (e end) Hash(seed uint64) uint64 {
	if e.tcp {
		seed++
	}
	return e.End.Hash(seed)
}

// offerKey is a server and the address that it gave a challenge.
type offerKey struct {
	server end
	client track.Host
}

func (k offerKey) Hash(seed uint64) uint64 { return k.client.Hash(k.server.Hash(seed)) }

// offer is the last two challenges, the newer one first.
type offer [2]challenge

type challenge struct {
	key   uint32
	given bool
	used  bool  // it was brought back since
	age   int64 // when it was given
}

// pendingKey is the ends of a TCP connection.
type pendingKey struct {
	server, client end
}

func (k pendingKey) Hash(seed uint64) uint64 { return k.client.Hash(k.server.Hash(seed)) }

// pending is a connection that the server agreed to.
type pending struct {
	isn uint32
	age int64
}

// giver is the challenge that a server gave last.
type giver struct {
	key    uint32
	again  uint8 // how many times in a row it was given to another address
	shared bool  // to everybody
	to     track.Host
}

// source is an address that proved itself.
type source struct {
	first, last int64
	proofs      uint64
	how         How
	n           uint8 // servers kept
	more        bool  // than those
	servers     [keptServers]end
}

// New returns a collector.
func New(opt Options) *Collector {
	if opt.Scale == 0 {
		opt.Scale = 1
	}
	size := func(n int) int { return int(float64(n) * opt.Scale) }
	return &Collector{
		ours:    opt.Ours,
		proven:  lru.New[track.Host, source](size(maxProven)),
		offered: lru.New[offerKey, offer](size(maxOffered)),
		pending: lru.New[pendingKey, pending](size(maxPending)),
		servers: lru.New[end, giver](size(maxServers)),
	}
}

// Sight takes a packet.
func (c *Collector) Sight(s *track.Sighting) {
	switch s.What {
	case track.IsRequest:
		if c.concerns(s.Dst, s.DstPort) {
			c.seen.Requests++
			c.request(s)
		}
	case track.IsReply, track.IsPart:
		if c.concerns(s.Src, s.SrcPort) {
			c.seen.Replies++
		}
	case track.IsChallenge:
		if c.concerns(s.Src, s.SrcPort) {
			c.seen.Challenges++
			c.offer(s)
		}
	case track.IsOpened:
		if c.concerns(s.Dst, s.DstPort) {
			c.seen.Opened++
		}
	case track.IsAgreed:
		if c.concerns(s.Src, s.SrcPort) {
			c.seen.Agreed++
			c.agreed(s)
		}
	case track.IsAcked:
		c.acked(s)
	}
}

// Tick does nothing: what is too old is told by its age when it is used.
func (c *Collector) Tick(age, nanos int64) {}

// Lost counts packets that the capture lacks.
func (c *Collector) Lost(packets uint64) { c.seen.Lost += packets }

// End does nothing.
func (c *Collector) End(age, nanos int64) {}

func (c *Collector) concerns(h track.Host, port uint16) bool {
	return c.ours == nil || c.ours.Has(netip.AddrPortFrom(h.Addr(), port))
}

// offer remembers a challenge.
func (c *Collector) offer(s *track.Sighting) {
	if s.Flags&track.HasKey == 0 {
		return
	}
	server := end{End: s.From()}
	if c.gave(server, s) {
		return
	}
	k := offerKey{server, s.Dst}
	o := c.offered.Get(k)
	if o == nil {
		var gone *lru.Evicted[offerKey, offer]
		if o, gone = c.offered.Put(k); gone != nil && gone.Val.open(s.Age) {
			c.overlooked++
		}
	}
	switch {
	case !o[0].given || o[0].key != s.Key:
		o[1], o[0] = o[0], challenge{key: s.Key, given: true, age: s.Age}
	case s.Flags&track.Copy == 0: // the same once more, and once more to be brought back
		o[0].age, o[0].used = s.Age, false
	}
}

// open reports whether a challenge can still be brought back.
func (o *offer) open(age int64) bool {
	return !o[0].used && age-o[0].age <= freshFor.Nanoseconds()
}

// gave notes what a server gives and reports whether it gives that to everybody.
func (c *Collector) gave(server end, s *track.Sighting) (shared bool) {
	g, _ := c.servers.Put(server)
	switch {
	case g.shared:
		return true
	case g.key != s.Key || g.to == (track.Host{}):
		g.key, g.again = s.Key, 0
	case g.to != s.Dst:
		g.again++
		g.shared = g.again >= sharedWith
	}
	g.to = s.Dst
	return g.shared
}

// request takes a request: one that brings a challenge back is a proof.
func (c *Collector) request(s *track.Sighting) {
	if s.Flags&track.HasKey == 0 {
		return
	}
	server := end{End: s.To()}
	o := c.offered.Get(offerKey{server, s.Src})
	if o == nil {
		return
	}
	for i := range o {
		x := &o[i]
		if !x.given || x.key != s.Key || s.Age-x.age > freshFor.Nanoseconds() {
			continue
		}
		if g := c.servers.Peek(server); g != nil && g.shared {
			return
		}
		c.prove(s, server, Challenge, !x.used)
		x.used = true
		return
	}
}

// agreed remembers a SYN that was answered.
func (c *Collector) agreed(s *track.Sighting) {
	k := pendingKey{end{s.From(), true}, end{s.To(), true}}
	p, gone := c.pending.Put(k)
	if gone != nil && s.Age-gone.Val.age <= freshFor.Nanoseconds() {
		c.overlooked++
	}
	*p = pending{s.Key, s.Age}
}

// acked takes a segment that may be the third of a handshake.
func (c *Collector) acked(s *track.Sighting) {
	k := pendingKey{end{s.To(), true}, end{s.From(), true}}
	p := c.pending.Peek(k)
	if p == nil || p.isn != s.Key {
		return
	}
	fresh := s.Age-p.age <= freshFor.Nanoseconds()
	c.pending.Delete(k)
	if fresh {
		c.prove(s, k.server, Handshake, true)
	}
}

// prove notes that the sender of s is where it says. A challenge that is brought
// back with every request of a poll is one proof.
func (c *Collector) prove(s *track.Sighting, to end, how How, anew bool) {
	x, gone := c.proven.Put(s.Src)
	if gone != nil {
		c.forgotten++
	}
	if x.proofs == 0 {
		x.first = s.Nanos
	}
	if anew || x.proofs == 0 {
		x.proofs++
	}
	x.last = max(x.last, s.Nanos)
	x.how |= how
	x.add(to)
}

// add keeps a server, or the word that there are more.
func (x *source) add(to end) {
	for i := range x.servers[:x.n] {
		if x.servers[i] == to {
			return
		}
	}
	if x.n == keptServers {
		x.more = true
		return
	}
	x.servers[x.n] = to
	x.n++
}

// Proven reports whether an address has proved itself so far.
func (c *Collector) Proven(h track.Host) bool {
	x := c.proven.Peek(h)
	return x != nil && !c.hollow(x)
}

// hollow reports whether all proofs of a source were given to servers that give one
// challenge to everybody, which may have turned out later.
func (c *Collector) hollow(x *source) bool {
	if x.how&Handshake != 0 || x.more {
		return false
	}
	for i := range x.servers[:x.n] {
		if g := c.servers.Peek(x.servers[i]); g == nil || !g.shared {
			return false
		}
	}
	return true
}
