package advice

import (
	"math"
	"net/netip"
	"slices"
	"time"

	"qsniff/dissect"
	"qsniff/flood"
	"qsniff/track"
)

// idle is how long the kernel is to remember such a source.
func (l lineKind) idle() time.Duration {
	if l == lineLogins {
		return loginIdle
	}
	return sourceIdle
}

// plan is the lines for one incident. It is a value: what a trial tried can be
// written after the incident has changed.
type plan struct {
	id     uint64
	kind   flood.Kind
	target netip.AddrPort // of the target, without a zone
	// What the lines look at; tcp and six say of what packets.
	*catalog
	isTCP, isIPv6 bool
	named         [planNames]netip.Prefix // networks, then single sources, in IPv6 their /64
	numNetworks   int
	numNames      int
	rules         [planRules]planRule
	numRules      int
}

// planRule is one kind of lines with its limit; without one it drops everything.
type planRule struct {
	kind  lineKind
	limit rateLimit
}

// newPlan chooses the lines for an incident from what is known of it now.
func (a *Advisor) newPlan(in *flood.Incident) plan {
	end := in.Target.End.Addr().Unmap().WithZone("")
	p := plan{id: in.ID, kind: in.Kind, target: netip.AddrPortFrom(end, in.Target.End.Port()),
		catalog: a.catalogOf(in.Proto), isTCP: in.Target.TCP, isIPv6: end.Is6()}
	if !end.IsValid() || p.isTCP && in.Kind != flood.RconBruteforce || p.target.Port() == 0 && in.Kind != flood.ReplyFloodVictim {
		return p
	}
	switch in.Kind {
	case flood.FloodFew:
		p.addSources(in)
		p.addRule(lineQueries, p.eachRate(in))
	case flood.FloodDistributed:
		p.addRule(lineQueries, p.eachRate(in))
		p.addRule(lineFirst, p.capRate(in))
	case flood.FloodSpoofed:
		p.addRule(lineFirst, p.capRate(in))
	case flood.ChallengeBypass:
		// A guess can come from a forged address. Few sources that each guess for a while
		// are worth naming; many are left to the limit.
		if in.Sources < namedFew {
			p.addSources(in)
		}
		p.addRule(lineQueries, p.eachRate(in))
	case flood.Reflection:
		p.addVictims(in)
	case flood.ReplyFloodVictim:
		p.addRule(lineUnasked, p.capRate(in))
	case flood.JunkFlood:
		p.addRule(lineJunk, rateLimit{capJunk, time.Second, 2 * capJunk})
	case flood.RconBruteforce:
		p.addSources(in)
		p.addRule(lineLogins, p.loginRate())
	}
	return p
}

// hasProof reports whether clients can prove their address in the protocol.
func (p *plan) hasProof() bool { return p.proto != nil && p.proto.Proof() == dissect.TokenProof }

// matches reports whether the lines of a rule look at a packet: what their text says of
// its bytes, said of a sighting.
func (p *plan) matches(l lineKind, s *track.Sighting, isNamed bool) bool {
	tcp := s.Flags&track.Connection != 0
	switch {
	case tcp != p.isTCP:
		return false
	case l == lineVictims:
		return isNamed
	case l == lineSources: // over TCP the lines look at what opens a connection
		return isNamed && (!tcp || s.What == track.IsOpened)
	case tcp:
		return s.What == track.IsOpened
	}
	return p.sets[l].hasSighting(s)
}

// isAbout reports whether a packet is of the sort that the incident is about.
func (p *plan) isAbout(s *track.Sighting) bool {
	switch p.kind {
	case flood.JunkFlood:
		return s.What == track.IsJunk || s.What == track.IsOther
	case flood.Reflection, flood.ReplyFloodVictim:
		return s.What == track.IsReply || s.What == track.IsPart || s.What == track.IsChallenge
	case flood.RconBruteforce:
		return s.What == track.IsOpened || p.sets[lineLogins].hasSighting(s)
	}
	return s.What == track.IsRequest || p.sets[lineQueries].hasSighting(s)
}

// namedFew is the detector's bound of a flood from few.
const namedFew = 64

// addRule adds a kind of lines, if there is anything that they would look at.
func (p *plan) addRule(l lineKind, a rateLimit) {
	if l != lineSources && l != lineVictims && !p.isTCP && len(p.sets[l].patterns) == 0 {
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

// addVictims limits what victims are sent: one reply a second for all that are named together keeps their entry in
// a server browser alive, if they really ask, and is of no use to the sender. Where
// there are more than the incident lists, each host gets what a visit needs: three
// queries and their replies, rules in ten parts the longest of them, which pass
// uncounted.
func (p *plan) addVictims(in *flood.Incident) {
	if p.nameSources(in); p.numNames > 0 {
		p.addRule(lineVictims, rateLimit{1, time.Second, 5})
	}
	if p.numNames == 0 || p.numNetworks == 0 && in.Sources > 2*float64(p.numNames) {
		p.addRule(lineOthers, rateLimit{5, time.Second, 30})
	}
}

const (
	// namedHosts is how many of a network must have been seen for its prefix to stand
	// in the lines, as in the rule for floods from one network.
	namedHosts = 8
	// namedShare is the share of the busiest source, one in so many, that another has to have to be named: a flood's
	// sources do about the same, and the list has monitors after them.
	namedShare = 10
	// namedPorts is where a proven address looks like many clients behind one, see the
	// rule for pollers: it is limited, not blocked.
	namedPorts = 16
)

// nameSources lists the sources to name: networks that many hosts of sent, then single
// sources outside of these.
func (p *plan) nameSources(in *flood.Incident) {
	var most uint64
	for i := range in.Top {
		most = max(most, in.Top[i].Low)
	}
	for i := range in.Prefixes {
		x := &in.Prefixes[i]
		if x.Hosts >= namedHosts && x.Low > 0 && x.Low >= most && x.Low >= in.Requests/namedShare {
			p.addName(x.Prefix)
		}
	}
	p.numNetworks = p.numNames
	for i := range in.Top {
		s := &in.Top[i]
		if s.Low == 0 || s.Low < most/namedShare || s.Verified && s.Ports >= namedPorts {
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

// addName adds a network, if it is of the target's family, new, and not the target's own:
// blocking that would block the neighbours.
func (p *plan) addName(x netip.Prefix) {
	if !x.IsValid() || x.Addr().Is4() != p.target.Addr().Is4() || x.Bits() < 16 || p.numNames == planNames {
		return
	}
	x = x.Masked()
	if x.Contains(p.target.Addr()) || slices.ContainsFunc(p.named[:p.numNames], x.Overlaps) {
		return
	}
	p.named[p.numNames] = x
	p.numNames++
}

// eachRate is what one source may ask: 10 a second is over three times what the
// engines allow by default (sv_max_queries_sec 3) and what monitors need, and the
// burst is a refresh of several browsers behind one address. Bots that stay near
// that get the engines' own limit. Protocols whose servers stand less say so.
func (p *plan) eachRate(in *flood.Incident) rateLimit {
	switch {
	case p.operator.Each > 0:
		return rateLimit{int64(p.operator.Each), time.Second, int64(max(p.operator.Burst, p.operator.Each))}
	case in.Sources > 0 && in.Peak > 0 && in.Peak/in.Sources < 20:
		return rateLimit{3, time.Second, 30}
	}
	return rateLimit{10, time.Second, 30}
}

// loginRate leaves an administrator who mistypes a try every quarter of a minute.
// In datagrams every command carries the password.
func (p *plan) loginRate() rateLimit {
	if p.isTCP {
		return rateLimit{4, time.Minute, 4}
	}
	return rateLimit{10, time.Minute, 10}
}

const (
	// capBaselines is how far above the traffic of before a cap stays: a map change or a
	// crowd brings several times the usual.
	capBaselines = 10
	// capJunk is the detector's bound: fewer unknown packets than that are no flood.
	capJunk = 20
	// capUnknown is the cap where a protocol says nothing: what a server stands to which
	// an answer costs no more than a challenge.
	capUnknown = 300
	// capVictim is the detector's bound for replies in one second.
	capVictim = 200
	// capMost keeps the cost of a packet in nanoseconds exact enough to mean something.
	capMost = 100_000
)

// capRate returns how much of everybody's traffic together passes: what the server stands,
// or ten times the traffic of before if that is more. Of a flood that is hardly
// more itself it lets a quarter pass.
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

// orZero returns a figure, or 0 where the capture could not give it.
func orZero(x float64) float64 {
	if x > 0 && !math.IsInf(x, 1) {
		return x
	}
	return 0
}

// roundUp is the next of 1, 2, 3, 5, 10, 20 ...: figures that say they were chosen.
func roundUp(x float64) float64 {
	for ten := 1.0; ; ten *= 10 {
		for _, digit := range [...]float64{1, 2, 3, 5} {
			if digit*ten >= x {
				return digit * ten
			}
		}
	}
}
