package advice

import (
	"math"

	"qsniff/flood"
	"qsniff/track"
)

// Collateral is what the lines of advice would have done to the packets of one
// capture that followed the detection.
type Collateral struct {
	// Flood counts the packets of the sort that the incident is about whose source had
	// not proved its address, or which the lines name. The first packet of a new client
	// is one of them: nothing tells it from the flood.
	Flood        uint64
	FloodDropped uint64
	// Clients that had proved their address, those that lost a packet, what they sent,
	// and how much of that they lost.
	Clients       int
	ClientsHit    int
	ClientPackets uint64
	ClientLost    uint64
	MoreClients   bool // than trialClients: Clients and ClientsHit are lower bounds
	// Blind is set by the caller where nobody can prove anything, as where the capture
	// has one direction.
	Blind bool

	plan plan // what was tried
}

// trial replays the lines of advice for one incident on the packets that follow
// its detection, to say what they would have done. It does what the kernel does,
// see allowance; what it cannot know is what clients would have done in turn: one that
// lost a packet asks again, and so proves its address later than in the capture.
type trial struct {
	advisor *Advisor // whose memory it has
	seed    uint64   // of the tables; secret
	plan    plan
	nets    [planNames]netMask
	full    [planRules]int64 // of the buckets that all sources share
	sources hashes           // of the buckets that each source has for itself
	clients hashes           // 1: lost a packet
	got     Collateral
}

// reset begins anew with the lines for in, and with the memory there is.
func (t *trial) reset(in *flood.Incident) {
	t.plan = t.advisor.planOf(in)
	for i, p := range t.plan.named[:t.plan.names] {
		t.nets[i] = maskOf(p)
	}
	for i := range t.full {
		t.full[i] = math.MinInt64
	}
	t.sources.reset(trialSources)
	t.clients.reset(trialClients)
	t.got = Collateral{}
}

// Show takes a packet that the lines may match: to the target, of a reflection
// from it, to the victim of replies. proven tells that its source (of a reflection:
// its receiver) proved its address; of replies at a victim, that the victim had
// asked this server; of attempts to log in, that the source is no guesser. Where a
// mirror doubles packets, the caller leaves the copies out: the kernel has one of
// each.
func (t *trial) Show(s *track.Sighting, proven bool) {
	if t.plan.n == 0 || !hasHeaders(s) {
		return
	}
	who := t.who(s)
	named, alone := t.named(who)
	dropped := t.drops(s, who, named)
	switch {
	case proven && !alone:
		t.countClient(who, dropped)
	case t.plan.isAbout(s):
		t.got.Flood++
		if dropped {
			t.got.FloodDropped++
		}
	}
}

// who is the end of a packet that is not the target.
func (t *trial) who(s *track.Sighting) *track.Host {
	if t.plan.kind == flood.Reflection {
		return &s.Dst
	}
	return &s.Src
}

// drops reports whether one of the lines drops a packet, and charges their limits.
func (t *trial) drops(s *track.Sighting, who *track.Host, named bool) bool {
	for i := range t.plan.rules[:t.plan.n] {
		r := &t.plan.rules[i]
		if t.plan.matches(r.line, s, named) && t.isOver(i, r, who, s.Age) {
			return true
		}
	}
	return false
}

// hasHeaders reports whether a sighting is a datagram or a segment, and not what one of
// them says, or an error about one.
func hasHeaders(s *track.Sighting) bool {
	switch s.What {
	case track.IsUnreachable, track.IsListed, track.IsLogin, track.IsWelcome, track.IsRejected:
		return false
	}
	return true
}

// named reports whether the lines name an address, and whether they name it alone: a
// proven address in a network that is blocked is collateral, one blocked for what
// it did is not.
func (t *trial) named(who *track.Host) (named, alone bool) {
	for i := range t.nets[:t.plan.names] {
		if t.nets[i].has(who) {
			return true, i >= t.plan.networks
		}
	}
	return false, false
}

// isOver reports whether the limit of a rule drops a packet of who.
func (t *trial) isOver(i int, r *planRule, who *track.Host, now int64) bool {
	switch {
	case r.limit.packets == 0:
		return true
	case !r.line.isPerSource():
		return r.limit.over(&t.full[i], now)
	}
	key := *who
	if !key.Is4() {
		clear(key[8:]) // a host has a whole /64 to send from
	}
	full := t.sources.at(key.Hash(t.seed))
	if full == nil {
		t.sources.forget(now, r.line.idle())
		if full = t.sources.at(key.Hash(t.seed)); full == nil {
			return false
		}
	}
	return r.limit.over(full, now)
}

// countClient counts a packet of a client that proved its address.
func (t *trial) countClient(who *track.Host, lost bool) {
	t.got.ClientPackets++
	if lost {
		t.got.ClientLost++
	}
	hit := t.clients.at(who.Hash(t.seed))
	switch {
	case hit == nil:
		t.got.MoreClients = true
	case lost && *hit != 1:
		*hit = 1
		t.got.ClientsHit++
	}
}

// result is what the lines would have done so far.
func (t *trial) result() Collateral {
	c := t.got
	c.Clients = t.clients.n
	c.plan = t.plan
	return c
}
