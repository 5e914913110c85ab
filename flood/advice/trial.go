package advice

import (
	"encoding/binary"
	"math"
	"net/netip"

	"qsniff/flood"
	"qsniff/track"
)

// outcome is what the lines of advice would have done to the packets of one
// capture that followed the detection.
type outcome struct {
	// Flood counts the packets of the sort that the incident is about whose source had
	// not proved its address, or which the lines name. The first packet of a new client
	// is one of them: nothing tells it from the flood.
	Flood        uint64
	FloodDropped uint64
	// Clients that had proved their address, those that lost a packet, what they sent,
	// and how much of that they lost.
	Clients        int
	ClientsHit     int
	ClientPackets  uint64
	ClientLost     uint64
	HasMoreClients bool // than trialClients: Clients and ClientsHit are lower bounds
	// IsBlind is set by the caller where nobody can prove anything, as where the capture
	// has one direction.
	IsBlind bool

	plan plan // what was tried
}

// trial replays the lines of advice for one incident on the packets that follow
// its detection, to say what they would have done. It does what the kernel does,
// see allowance; what it cannot know is what clients would have done in turn: one that
// lost a packet asks again, and so proves its address later than in the capture.
type trial struct {
	advisor       *Advisor // whose memory it has
	seed          uint64   // of the tables; secret
	plan          plan
	named         [planNames]network
	sharedFull    [planRules]int64 // of the buckets that all sources share
	sourceBuckets hashTable        // of the buckets that each source has for itself
	clients       hashTable        // 1: lost a packet
	outcome       outcome
}

// reset begins anew with the lines for in, and with the memory there is.
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

// Apply takes a packet that the lines may match: to the target, of a reflection
// from it, to the victim of replies. proven tells that its source (of a reflection:
// its receiver) proved its address; of replies at a victim, that the victim had
// asked this server; of attempts to log in, that the source is no guesser. Where a
// mirror doubles packets, the caller leaves the copies out: the kernel has one of
// each.
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

// remoteEnd is the end of a packet that is not the target.
func (t *trial) remoteEnd(s *track.Sighting) *track.Host {
	if t.plan.kind == flood.Reflection {
		return &s.Dst
	}
	return &s.Src
}

// isDropped reports whether one of the lines drops a packet, and charges their limits.
func (t *trial) isDropped(s *track.Sighting, who *track.Host, named bool) bool {
	for i := range t.plan.rules[:t.plan.numRules] {
		r := &t.plan.rules[i]
		if t.plan.matches(r.kind, s, named) && t.isOver(i, r, who, s.Age) {
			return true
		}
	}
	return false
}

// isPacket reports whether a sighting is a datagram or a segment, and not what one of
// them says, or an error about one.
func isPacket(s *track.Sighting) bool {
	switch s.What {
	case track.IsUnreachable, track.IsListed, track.IsLogin, track.IsWelcome, track.IsRejected:
		return false
	}
	return true
}

// findNamed reports whether the lines name an address, and whether they name it alone: a
// proven address in a network that is blocked is collateral, one blocked for what
// it did is not.
func (t *trial) findNamed(who *track.Host) (named, alone bool) {
	for i := range t.named[:t.plan.numNames] {
		if t.named[i].contains(who) {
			return true, i >= t.plan.numNetworks
		}
	}
	return false, false
}

// isOver reports whether the limit of a rule drops a packet of who.
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
		t.sourceBuckets.removeIdle(now, r.kind.idle())
		if full = t.sourceBuckets.findOrAdd(key.Hash(t.seed)); full == nil {
			return false
		}
	}
	return r.limit.charge(full, now)
}

// countClient counts a packet of a client that proved its address.
func (t *trial) countClient(who *track.Host, lost bool) {
	t.outcome.ClientPackets++
	if lost {
		t.outcome.ClientLost++
	}
	hit := t.clients.findOrAdd(who.Hash(t.seed))
	switch {
	case hit == nil:
		t.outcome.HasMoreClients = true
	case lost && *hit != 1:
		*hit = 1
		t.outcome.ClientsHit++
	}
}

// currentOutcome is what the lines would have done so far.
func (t *trial) currentOutcome() outcome {
	c := t.outcome
	c.Clients = t.clients.numKeys
	c.plan = t.plan
	return c
}

// network is a network in two words, IPv4 mapped.
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
