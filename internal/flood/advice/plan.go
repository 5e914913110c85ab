package advice

import (
	"math"
	"net/netip"
	"slices"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/hostset"
	"qsniff/internal/flood"
	"qsniff/internal/track"
)

// plan is what the lines for one incident do. It is a value, so that what a trial tried can
// still be written after the incident has changed.
type plan struct {
	id            uint64
	kind          flood.Kind
	target        netip.AddrPort // without a zone
	net           netip.Prefix   // the addresses of the target: one, or a network
	*catalog                     // which packets the lines match
	expiry        time.Duration  // of the lines; 0: none
	isTCP, isIPv6 bool
	named         [planNames]netip.Prefix // networks, then single sources, in IPv6 their /64
	own           *hostset.Networks       // they are named by no line
	ownSpared     bool                    // one of them would have been
	numNetworks   int
	numNames      int
	rules         [planRules]planRule
	numRules      int
	pass          rateLimit // with which each client passes before a cap that was just answered; none if zero
	mix           mix
	isNarrow      bool // the cap is on the types that came
	isVetoed      bool // a trial showed that it drops too little, or touches too many clients
}

// planRule is one kind of lines with its limit. The zero limit drops everything.
type planRule struct {
	kind  lineKind
	limit rateLimit
}

// newPlan returns the first plan for an incident as it is now: what the lines are if nothing
// was tried.
func (a *Advisor) newPlan(in *flood.Incident) plan { return a.newPlans(in)[0] }

// newPlans returns the plans for an incident as it is now, at most trialPlans, the one that
// fits best by what is known first. A trial tries them side by side. There is at least one,
// which has no rules where no filter helps.
func (a *Advisor) newPlans(in *flood.Incident) []plan {
	end := in.Target.End.Addr().Unmap().WithZone("")
	p := plan{id: in.ID, kind: in.Kind, target: netip.AddrPortFrom(end, in.Target.End.Port()), net: networkOf(in, end),
		catalog: a.catalogOf(in.Proto), expiry: a.expiry, own: in.Own, isTCP: in.Target.TCP, isIPv6: end.Is6()}
	if !end.IsValid() || p.isTCP && in.Kind != flood.RconBruteforce || p.target.Port() == 0 && in.Kind != flood.ReplyFloodVictim {
		return []plan{p}
	}
	p.letAnsweredPass(in, a.reg.Protos())
	p.mix = p.mixOf(in)
	if len(p.mix.oddForms) > 0 {
		p.catalog = p.withSet(a.reg.Protos(), lineOdd, p.mix.oddForms)
	}
	x := planner{in: in, base: p, all: a.reg.Protos()}
	x.addPlans()
	if len(x.plans) == 0 {
		return []plan{p}
	}
	return x.plans
}

// networkOf returns the addresses of an incident's target: end, or the network around it
// that the target names.
func networkOf(in *flood.Incident, end netip.Addr) netip.Prefix {
	if x := in.Target.Prefix; x.IsValid() && x.Contains(end) {
		return x.Masked()
	}
	return netip.PrefixFrom(end, end.BitLen())
}

// hasProof reports// hasProof reports whether clients can prove their address in the plan's protocol.
func (p *plan) hasProof() bool { return p.proto != nil && p.proto.Proof() == dissect.TokenProof }

// looksAt reports whether the lines of a kind look at a packet, as far as its sighting shows;
// those that name sources, if it is of one.
func (p *plan) looksAt(l lineKind, s *track.Sighting) bool {
	tcp := s.Flags&track.Connection != 0
	switch {
	case tcp != p.isTCP:
		return false
	case l == lineVictims:
		return true
	case tcp: // the lines look at what opens a connection
		return s.What == track.IsOpened
	case l == lineSources:
		return true
	}
	return p.sets[l].hasSighting(s)
}

// isAbout reports whether a packet is one of those that the incident counts.
func (p *plan) isAbout(s *track.Sighting) bool {
	switch p.kind {
	case flood.JunkFlood:
		switch s.What {
		case track.IsJunk, track.IsOther, track.IsReply, track.IsChallenge, track.IsPart: // a server is sent no replies
			return true
		}
		return false
	case flood.Reflection, flood.ReplyFloodVictim:
		return s.What == track.IsReply || s.What == track.IsPart || s.What == track.IsChallenge
	case flood.RconBruteforce:
		return s.What == track.IsOpened || p.sets[lineLogins].hasSighting(s)
	case flood.ChallengeBypass:
		return s.Flags&track.HasKey != 0 && s.What == track.IsRequest
	}
	return s.What == track.IsRequest || p.sets[lineQueries].hasSighting(s)
}

// fewSources is the limit of different sources in the detector's rule for floods from few.
const fewSources = 64

// addRule adds a kind of lines, if there are packets that they would match.
func (p *plan) addRule(l lineKind, a rateLimit) {
	if !l.isOfNames() && !p.isTCP && len(p.sets[l].patterns) == 0 {
		return
	}
	p.rules[p.numRules] = planRule{l, a}
	p.numRules++
}

func (p *plan) addSources(in *flood.Incident) {
	if p.nameSources(in); p.numNames > 0 {
		p.addRule(lineSources, rateLimit{})
	}
}

// addVictims limits what victims are sent. One reply a second for all that are named together
// keeps their entry in a server browser alive, if they really ask, and is of no use to the
// attacker. Where there are more victims than the incident lists, each other host gets what a
// visit needs: replies to three queries, of which rules in ten parts are the longest; parts
// pass without being counted.
func (p *plan) addVictims(in *flood.Incident) {
	if p.nameSources(in); p.numNames > 0 {
		p.addRule(lineVictims, rateLimit{1, time.Second, 5})
	}
	if p.numNames == 0 || p.numNetworks == 0 && in.Sources > 2*float64(p.numNames) {
		p.addRule(lineOthers, rateLimit{5, time.Second, 30})
	}
}

const (
	// minNamedHosts is from how many hosts of a network on the lines may name its prefix.
	// The rule on reflection has the same number (PrefixHosts).
	minNamedHosts = 8
	// minNamedShare: a source is named if it sent at least one packet for minNamedShare of
	// the busiest one. The sources of a flood send about as much as each other, and the
	// list has monitors after them.
	minNamedShare = 10
	// sharedPorts is from how many source ports on a proven address looks like that of many
	// clients: it is limited, not blocked.
	sharedPorts = 16
)

// nameSources chooses the sources to name: networks with many hosts that sent, then single
// sources outside of these.
func (p *plan) nameSources(in *flood.Incident) {
	var most uint64
	for i := range in.Top {
		most = max(most, in.Top[i].Low)
	}
	for i := range in.Prefixes {
		x := &in.Prefixes[i]
		if x.Hosts >= minNamedHosts && x.Low > 0 && x.Low >= most && x.Low >= in.Requests/minNamedShare {
			p.addName(x.Prefix)
		}
	}
	p.numNetworks = p.numNames
	for i := range in.Top {
		s := &in.Top[i]
		if s.Low == 0 || s.Low < most/minNamedShare || s.Verified && s.Ports >= sharedPorts {
			continue
		}
		a := s.Addr.Unmap().WithZone("")
		bits := 64
		if a.Is4() {
			bits = 32
		}
		p.addName(netip.PrefixFrom(a, bits))
	}
}

// addName adds a network to the named ones if there is room, it is of the target's IP
// version, at most a /16 wide, overlaps none of them, has none of one's own tools, and is not
// the target's own: blocking that would block the neighbours.
func (p *plan) addName(x netip.Prefix) {
	if !x.IsValid() || x.Addr().Is4() != p.target.Addr().Is4() || x.Bits() < 16 || p.numNames == planNames {
		return
	}
	x = x.Masked()
	if p.own.Overlaps(x) {
		p.ownSpared = true
		return
	}
	if x.Overlaps(p.net) || slices.ContainsFunc(p.named[:p.numNames], x.Overlaps) {
		return
	}
	p.named[p.numNames] = x
	p.numNames++
}

// eachRate returns the limit for one source. 10 queries a second are over three times what
// engines allow by default (sv_max_queries_sec 3) and what monitors need; the burst is for
// the refresh of several browsers that share an address. Bots that send less than twice that
// get the engines' own limit. A protocol whose servers stand less declares its own.
func (p *plan) eachRate(in *flood.Incident) rateLimit {
	switch {
	case p.operator.Each > 0:
		return rateLimit{int64(p.operator.Each), time.Second, int64(max(p.operator.Burst, p.operator.Each))}
	case in.Sources > 0 && in.Peak > 0 && in.Peak/in.Sources < 20:
		return rateLimit{3, time.Second, 30}
	}
	return rateLimit{10, time.Second, 30}
}

// loginRate returns the limit for attempts to log in: over TCP one connection in 15 s, enough
// for an administrator who mistypes. In datagrams every command carries the password, so
// more pass.
func (p *plan) loginRate() rateLimit {
	if p.isTCP {
		return rateLimit{4, time.Minute, 4}
	}
	return rateLimit{10, time.Minute, 10}
}

const (
	// capBaselines is the least cap as a multiple of the baseline: a change of the map or a
	// crowd brings several times the usual.
	capBaselines = 10
	// capJunk is the detector's junk_rate: fewer unknown packets a second are no flood.
	capJunk = 20
	// capUnknown is the cap where a protocol declares none: what a server stands if an
	// answer costs it no more than a challenge.
	capUnknown = 300
	// capVictim is the detector's victim_burst, replies in one second.
	capVictim = 200
	// capMost is the largest cap: above it, rounding the cost of a packet, a whole number
	// of nanoseconds, would change the limit by more than 0.01 %.
	capMost = 100_000
)

// capRate returns the limit for all sources together: what the server stands, or capBaselines
// times the baseline if that is more. A cap above a quarter of the flood's peak is lowered to
// that quarter, but not below four times the baseline, or 10.
func (p *plan) capRate(in *flood.Incident) rateLimit {
	base := float64(capUnknown)
	switch {
	case p.kind == flood.ReplyFloodVictim:
		base = capVictim
	case p.operator.Cap > 0:
		base = float64(p.operator.Cap)
	}
	usual := orZero(in.Baseline)
	n := max(base, capBaselines*usual)
	if peak := orZero(in.Peak); peak > 0 && n > peak/4 {
		n = max(peak/4, 4*usual, 10)
	}
	packets := int64(roundUp(min(n, capMost)))
	return rateLimit{packets, time.Second, 2 * packets}
}

// orZero returns x, or 0 where the capture could not give it.
func orZero(x float64) float64 {
	if x > 0 && !math.IsInf(x, 1) {
		return x
	}
	return 0
}

// roundUp returns the next of 1, 2, 3, 5, 10, 20 ...: round figures, as caps are chosen.
func roundUp(x float64) float64 {
	for ten := 1.0; ; ten *= 10 {
		for _, digit := range [...]float64{1, 2, 3, 5} {
			if digit*ten >= x {
				return digit * ten
			}
		}
	}
}
