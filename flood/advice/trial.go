package advice

import (
	"encoding/binary"
	"math"
	"net/netip"

	"qsniff/flood"
	"qsniff/track"
)

// outcome counts what the lines of an advice would have done to the packets of the capture
// that followed the detection.
type outcome struct {
	// Flood counts the packets that the incident is about and whose source had not proved
	// its address, or is named alone by the lines. The first packet of a new client is
	// one of them: it cannot be distinguished from the flood.
	Flood        uint64
	FloodDropped uint64
	// Clients counts the clients that had proved their address, ClientsHit those of them
	// that lost a packet, ClientPackets what they sent, ClientLost what of it was dropped.
	Clients        int
	ClientsHit     int
	ClientPackets  uint64
	ClientLost     uint64
	HasMoreClients bool // more than trialClients: Clients and ClientsHit are lower bounds
	// IsBlind is set by the caller where the capture shows no proof of any address, as
	// where it has one direction only.
	IsBlind bool

	plan plan // what was tried
}

// trial applies the lines of the advice for one incident to the packets that follow its
// detection, and counts what they would have done. Its limits work as the kernel's, see
// rateLimit. How clients would have reacted is unknown: one that lost a packet asks again, and
// proves its address later than in the capture.
type trial struct {
	advisor       *Advisor // whose memory it has
	seed          uint64   // of the tables; secret
	plan          plan
	named         [planNames]network
	sharedFull    [planRules]int64 // when the buckets that all sources share are full
	sourceBuckets hashTable        // when the bucket of each source is full
	clients       hashTable        // proven ones; 1: it lost a packet
	outcome       outcome
}

// reset begins anew with the lines for in, and keeps the memory of the tables.
func (t *trial) reset(in *flood.Incident) {
	t.plan = t.advisor.newPlan(in)
	for i, p := range t.plan.named[:t.plan.numNames] {
		t.named[i] = newNetwork(p)
	}
	for i := range t.sharedFull {
		t.sharedFull[i] = math.MinInt64
	}
	t.sourceBuckets.reset(trialSources)
	t.clients.reset(trialClients)
	t.outcome = outcome{}
}

// Apply applies the lines to a packet: one to the target, of a reflection one from it, or one
// to the victim of replies. For proven see flood.Trial. Where a mirror doubles packets, the
// caller must not pass the copies: the kernel gets one of each.
func (t *trial) Apply(s *track.Sighting, proven bool) {
	if t.plan.numRules == 0 || !isPacket(s) {
		return
	}
	who := t.remoteEnd(s)
	named, alone := t.findNamed(who)
	dropped := t.isDropped(s, who, named)
	switch {
	case proven && !alone:
		t.countClient(who, dropped)
	case t.plan.isAbout(s):
		t.outcome.Flood++
		if dropped {
			t.outcome.FloodDropped++
		}
	}
}

// remoteEnd returns the end of a packet that is not the target.
func (t *trial) remoteEnd(s *track.Sighting) *track.Host {
	if t.plan.kind == flood.Reflection {
		return &s.Dst
	}
	return &s.Src
}

// isDropped reports whether one of the lines drops a packet of who, and charges the limits of
// those that match.
func (t *trial) isDropped(s *track.Sighting, who *track.Host, named bool) bool {
	for i := range t.plan.rules[:t.plan.numRules] {
		r := &t.plan.rules[i]
		if t.plan.matches(r.kind, s, named) && t.isOver(i, r, who, s.Age) {
			return true
		}
	}
	return false
}

// isPacket reports whether a sighting is of a datagram or a segment, and not of a message in
// one, or of an ICMP error about one.
func isPacket(s *track.Sighting) bool {
	switch s.What {
	case track.IsUnreachable, track.IsListed, track.IsLogin, track.IsWelcome, track.IsRejected:
		return false
	}
	return true
}

// findNamed reports whether the lines name an address, and whether they name it alone and not
// its network. A proven client in a blocked network is a loss; one that is blocked for what
// it sent is none.
func (t *trial) findNamed(who *track.Host) (named, alone bool) {
	for i := range t.named[:t.plan.numNames] {
		if t.named[i].contains(who) {
			return true, i >= t.plan.numNetworks
		}
	}
	return false, false
}

// isOver charges a packet of who at the time now to the limit of rule i, and reports whether
// the packet is over it.
func (t *trial) isOver(i int, r *planRule, who *track.Host, now int64) bool {
	switch {
	case r.limit.packets == 0:
		return true
	case !r.kind.isPerSource():
		return r.limit.charge(&t.sharedFull[i], now)
	}
	key := *who
	if !key.Is4() {
		clear(key[8:]) // a host has a whole /64 to send from
	}
	full := t.sourceBuckets.findOrAdd(key.Hash(t.seed))
	if full == nil {
		t.sourceBuckets.removeIdle(now, r.kind.idleTime())
		if full = t.sourceBuckets.findOrAdd(key.Hash(t.seed)); full == nil {
			return false
		}
	}
	return r.limit.charge(full, now)
}

// countClient counts a packet of a client that proved its address; isLost reports whether the
// lines drop it.
func (t *trial) countClient(who *track.Host, isLost bool) {
	t.outcome.ClientPackets++
	if isLost {
		t.outcome.ClientLost++
	}
	hit := t.clients.findOrAdd(who.Hash(t.seed))
	switch {
	case hit == nil:
		t.outcome.HasMoreClients = true
	case isLost && *hit != 1:
		*hit = 1
		t.outcome.ClientsHit++
	}
}

// outcomeSoFar returns what the lines would have done so far.
func (t *trial) outcomeSoFar() outcome {
	c := t.outcome
	c.Clients = t.clients.numKeys
	c.plan = t.plan
	return c
}

// network is a network prefix in two words, IPv4 mapped to IPv6.
type network struct{ hi, lo, hiMask, loMask uint64 }

func newNetwork(p netip.Prefix) network {
	bits := p.Bits()
	if p.Addr().Is4() {
		bits += 96
	}
	a := p.Addr().As16()
	n := network{hiMask: ^uint64(0), loMask: ^uint64(0)}
	if bits < 64 {
		n.hiMask, n.loMask = n.hiMask<<(64-bits), 0
	} else {
		n.loMask <<= 128 - bits
	}
	n.hi, n.lo = binary.BigEndian.Uint64(a[:8])&n.hiMask, binary.BigEndian.Uint64(a[8:])&n.loMask
	return n
}

func (n *network) contains(h *track.Host) bool {
	return binary.BigEndian.Uint64(h[:8])&n.hiMask == n.hi && binary.BigEndian.Uint64(h[8:])&n.loMask == n.lo
}
