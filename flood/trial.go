package flood

import (
	"math"
	"time"

	"qsniff/track"
)

const (
	// trialSources is the size of the set in the lines with a limit for each source, so
	// the kernel follows as many as a trial does: more than the botnets that reach one
	// server with queries above such a limit, and 512 KiB of slots in a trial. Sources
	// beyond it pass, here as there.
	trialSources = 1 << 14
	// trialClients is how many proven clients a trial tells apart: four times what a
	// server's browser traffic shows in a minute (2 visits a second and some monitors),
	// 128 KiB. Those beyond it are said to be more.
	trialClients = 1 << 12
	// planNames is how many sources one incident's lines name: what Incident lists.
	planNames = 12
	// planRules is how many kinds of lines one incident has.
	planRules = 2
	// sourceIdle is how long the set remembers a source of queries: longer than any
	// bucket takes to fill again, so forgetting changes nothing but the room.
	sourceIdle = time.Minute
	// loginIdle is the same for new connections, whose bucket takes a minute to fill.
	loginIdle = 10 * time.Minute
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
	seed    uint64 // of the tables; secret
	plan    plan
	nets    [planNames]netMask
	full    [planRules]int64 // of the buckets that all sources share
	sources hashes           // of the buckets that each source has for itself
	clients hashes           // 1: lost a packet
	got     Collateral
}

// reset begins anew with the lines for in, and with the memory there is.
func (t *trial) reset(in *Incident) {
	t.plan = planOf(in)
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

// packet takes a packet that the lines may match: to the target, of a reflection
// from it, to the victim of replies. proven tells that its source (of a reflection:
// its receiver) proved its address; of replies at a victim, that the victim had
// asked this server; of attempts to log in, that the source is no guesser. Where a
// mirror doubles packets, the caller leaves the copies out: the kernel has one of
// each.
func (t *trial) packet(s *track.Sighting, proven bool) {
	if t.plan.n == 0 || !hasHeaders(s) {
		return
	}
	who := t.who(s)
	named, alone := t.named(who)
	letter := letterOf(s)
	dropped := t.drops(s, who, letter, named)
	switch {
	case proven && !alone:
		t.client(who, dropped)
	case t.plan.counts(s, letter):
		t.got.Flood++
		if dropped {
			t.got.FloodDropped++
		}
	}
}

// who is the end of a packet that is not the target.
func (t *trial) who(s *track.Sighting) *track.Host {
	if t.plan.kind == Reflection {
		return &s.Dst
	}
	return &s.Src
}

// drops tells whether one of the lines drops a packet, and charges their limits.
func (t *trial) drops(s *track.Sighting, who *track.Host, letter byte, named bool) bool {
	for i := range t.plan.rules[:t.plan.n] {
		r := &t.plan.rules[i]
		if r.matches(&t.plan, s, letter, named) && t.over(i, r, who, s.Age) {
			return true
		}
	}
	return false
}

// hasHeaders tells whether a sighting is a datagram or a segment, and not what one of
// them says, or an error about one.
func hasHeaders(s *track.Sighting) bool {
	switch s.What {
	case track.IsUnreachable, track.IsListed, track.IsLogin, track.IsWelcome, track.IsRejected:
		return false
	}
	return true
}

// named tells whether the lines name an address, and whether they name it alone: a
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

// over tells whether the limit of a rule drops a packet of who.
func (t *trial) over(i int, r *planRule, who *track.Host, now int64) bool {
	switch {
	case r.limit.packets == 0:
		return true
	case !r.line.each():
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

// client counts a packet of a client that proved its address.
func (t *trial) client(who *track.Host, lost bool) {
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
