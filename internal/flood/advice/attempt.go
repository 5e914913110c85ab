package advice

import (
	"math"
	"net/netip"
	"slices"
	"time"

	"qsniff/internal/track"
)

// attempt is one plan of a trial, with the state that the kernel would have for its lines. What
// each packet needs of it comes first.
type attempt struct {
	tests         [planRules]ruleTest
	numNames      int
	sourceBuckets hashTable // when the bucket of each source is full
	answered      hashTable // when the server sent data for a challenge to each source
	peers         hashTable // when the server sent something to each source
	passBuckets   hashTable // when the bucket of each of these is full
	needsPeers    bool      // the lines look up whom the server sent something
	needsAnswered bool      // the lines look up whom the server answered
	named         [planNames]network
	plan          plan
}

// ruleTest is what a packet needs of a rule.
type ruleTest struct {
	opens       int64 // of the bucket that all sources share: packets before that time are over the limit
	costs       bucketCost
	idle        time.Duration
	isPerSource bool
	isPerPair   bool // each port of a source has its own
	spares      bool // it may not match what it looks at: one of the following is set
	isOfNames   bool
	needsPeers  bool
	letsPass    bool // those that the server has answered
}

// reset begins anew with a plan, and keeps the memory of the tables.
func (a *attempt) reset(p *plan) {
	a.plan, a.numNames, a.needsPeers, a.needsAnswered = *p, p.numNames, p.needsPeers(), p.needsAnswered()
	for i, x := range p.named[:p.numNames] {
		a.named[i] = newNetwork(x)
	}
	a.setTests()
	a.sourceBuckets.reset(trialSources)
	a.peers.reset(trialPeers)
	a.answered.reset(trialAnswered)
	a.passBuckets.reset(trialAnswered)
}

// setTests makes the tests for the rules of the plan.
func (a *attempt) setTests() {
	for i := range a.plan.rules {
		r := &a.plan.rules[i]
		x := ruleTest{opens: math.MinInt64, costs: r.limit.costs(), idle: r.kind.idleTime(), isPerSource: r.kind.isPerSource(), isPerPair: r.kind == linePairs,
			isOfNames: r.kind.isOfNames(), needsPeers: r.kind.needsPeers(), letsPass: a.plan.letsAnsweredPass(r.kind)}
		x.spares = x.isOfNames || x.needsPeers || x.letsPass
		if r.limit.packets == 0 || r.limit.burst == 0 { // it drops everything
			x.opens, x.isPerSource = math.MaxInt64, false
		}
		a.tests[i] = x
	}
}

// names reports whether the lines name an address or its network.
func (a *attempt) names(who *track.Host) bool {
	return slices.ContainsFunc(a.named[:a.numNames], func(n network) bool { return n.contains(who) })
}

// spares reports whether the lines let a host that they name pass, from the port where it asks itself.
func (a *attempt) spares(end *remoteEnd) bool {
	return a.plan.numSpared > 0 && a.plan.spares(netip.AddrPortFrom(end.host.Addr(), end.port))
}

// isSpared reports whether a rule does not match a packet that it looks at.
func (a *attempt) isSpared(r *ruleTest, end *remoteEnd, now int64) bool {
	return r.isOfNames && (!a.names(end.host) || a.spares(end)) || r.needsPeers && a.isPeer(end.hash, now) || r.letsPass && a.isLetPass(end, now)
}

// charge charges a packet that is not over the limit to the bucket that all sources share.
func (r *ruleTest) charge(now int64) {
	c := r.costs
	full := r.opens + c.most - c.each
	_ = c.charge(&full, now)
	r.opens = full - (c.most - c.each)
}

// isOver charges a packet of a source at the time now to the limit that a rule has for each, and
// reports whether the packet is over it.
func (a *attempt) isOver(r *ruleTest, source uint64, now int64) bool {
	full := a.sourceBuckets.findOrReplace(source, now, r.idle)
	return full != nil && r.costs.charge(full, now)
}

// recordSent records that the server sent something to a source at the time now. isGated
// reports whether the server gives that for a challenge only. As in the kernel, a full set
// takes no new source.
func (a *attempt) recordSent(source uint64, isGated bool, now int64) {
	if isGated && a.needsAnswered {
		a.answered.record(source, now, answeredIdle)
	}
	if a.needsPeers {
		a.peers.record(source, now, peerIdle)
	}
}

// isPeer reports whether the server sent something to a source in the last peerIdle.
func (a *attempt) isPeer(h uint64, now int64) bool {
	at := a.peers.lookup(h)
	return at != nil && *at > now-int64(peerIdle)
}

// needsPeers reports whether the lines of a plan look up whom the server sent something.
func (p *plan) needsPeers() bool {
	for _, r := range p.rules[:p.numRules] {
		if r.kind.needsPeers() {
			return true
		}
	}
	return false
}

// needsSent reports whether the lines of a plan look at what the server sends.
func (p *plan) needsSent() bool { return p.needsPeers() || p.needsAnswered() }

// What a trial has to show of lines that are printed without a warning.
const (
	// leastDropped is the least share of the flood that they drop. Chosen: what halves a
	// flood does not end it.
	leastDropped = 0.5
	// mostTouched is the largest share of the proven clients that lose a packet. Chosen:
	// one in a hundred.
	mostTouched = 0.01
	// leastTried is how many packets of a flood a trial needs to say anything, and
	// leastBursts the same in bursts of the limits that all sources share: a shorter trial
	// shows what passes at once, and not the limit. Chosen.
	leastTried  = 20
	leastBursts = 2
	// asGood is by how much two shares differ at most that count as the same.
	asGood = 0.02
)

// hitShare returns the share of the proven clients that lost a packet.
func (c *outcome) hitShare() float64 {
	if c.IsBlind {
		return 0
	}
	return share(uint64(c.ClientsHit), uint64(c.Clients))
}

// newHitShare is hitShare where those that had proved their address are let pass first.
func (c *outcome) newHitShare() float64 {
	if c.IsBlind {
		return 0
	}
	return share(uint64(c.NewHit), uint64(c.Clients))
}

// isTooShort reports whether too few packets were tried to say how much the lines drop.
func (c *outcome) isTooShort() bool { return c.Flood < max(leastTried, leastBursts*c.sharedBurst()) }

// sharedBurst returns how many packets pass at once by the limits that all sources share.
func (c *outcome) sharedBurst() (n uint64) {
	for _, r := range c.plan.rules[:c.plan.numRules] {
		if !r.kind.isPerSource() {
			n = max(n, uint64(r.limit.burst))
		}
	}
	return n
}

// dropsEnough reports whether the lines drop enough of the flood, or nothing can be said.
func (c *outcome) dropsEnough() bool {
	return c.isTooShort() || share(c.FloodDropped, c.Flood) >= leastDropped
}

// rank returns how good the outcome is: lines that drop enough and touch few clients, lines
// that do so where proven clients are let pass first, lines that only drop enough, and others.
func (c *outcome) rank() int {
	switch {
	case !c.dropsEnough():
		return 0
	case c.hitShare() <= mostTouched:
		return 3
	case c.newHitShare() <= mostTouched:
		return rankProvenFirst
	}
	return 1
}

// rankProvenFirst is the rank of lines that are good where proven clients pass first.
const rankProvenFirst = 2

func share(n, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// idleTime returns after how long without packets the kernel drops a source of such a line.
func (l lineKind) idleTime() time.Duration {
	if l == lineLogins {
		return loginIdle
	}
	return sourceIdle
}
