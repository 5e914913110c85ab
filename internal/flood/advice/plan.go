package advice

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/hostset"
	"qsniff/internal/flood"
	"qsniff/internal/track"
)

// plan is what the lines for one incident do. It is a value, so that what a trial tried can
// still be written after the incident has changed.
type plan struct {
	id            uint64
	detected      int64 // Unix time in nanoseconds
	kind          flood.Kind
	target        netip.AddrPort // without a zone
	net           netip.Prefix   // the addresses of the target: one, or a network
	*catalog                     // which packets the lines match
	class         *classMatch    // of lineClass; nil: packets are found by their bytes
	ports         []uint16       // of a network, besides that of the target
	expiry        time.Duration  // of the lines; 0: none
	isTCP, isIPv6 bool
	named         [planNames]netip.Prefix   // networks, then single sources, in IPv6 their /64
	own           *hostset.Networks         // they are named by no line
	ownSpared     bool                      // one of them would have been
	spared        [planNames]netip.AddrPort // from which named hosts ask themselves
	numSpared     int
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
	p := plan{id: in.ID, detected: in.Detected, kind: in.Kind, target: netip.AddrPortFrom(end, in.Target.End.Port()), net: networkOf(in, end), ports: slices.Clone(in.MorePorts),
		catalog: a.catalogOf(in.Proto), expiry: a.expiry, own: in.Own, isTCP: in.Target.TCP, isIPv6: end.Is6()}
	if in.Class != nil && in.Kind == flood.OtherFlood && end.IsValid() {
		p.addClass(in)
		return []plan{p}
	}
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
	if !l.isOfNames() && l != lineClass && !p.isTCP && len(p.sets[l].patterns) == 0 {
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
	if in.Class == nil && (p.numNames == 0 || p.numNetworks == 0 && in.Sources > 2*float64(p.numNames)) {
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
		if s.OwnPort != 0 && p.numSpared < planNames {
			p.spared[p.numSpared] = netip.AddrPortFrom(a, s.OwnPort)
			p.numSpared++
		}
	}
}

// spares reports whether a named host asks from a port itself, while others forge its address.
func (p *plan) spares(end netip.AddrPort) bool {
	return slices.Contains(p.spared[:p.numSpared], end)
}

// addName adds a network to the named ones if there is room, it is of the target's IP
// version, at most a /16 wide, overlaps none of them, has none of the operator's own tools, and is not
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

// pairRate is the limit for one address and port: a browser asks one to three things in a visit, each
// of which takes two packets where the server asks for a challenge, and another visit follows within
// the minute at most. Chosen: two such visits at once, and one in eighteen seconds.
var pairRate = rateLimit{20, time.Minute, 12}

// busyRate returns from which limit on a client is none for a trial. Of bots that complete each query it
// is what makes a source keen in package measure, of each address and port.
func (p *plan) busyRate(in *flood.Incident) rateLimit {
	if p.kind == flood.FloodCompleting && !isOfOne(in) {
		return rateLimit{30, time.Minute, 12}
	}
	return p.eachRate(in)
}

// isOfOne reports whether one address sends most of an incident's packets.
func isOfOne(in *flood.Incident) bool { return len(in.Top) > 0 && in.Share(in.Top[0].Low) >= 0.5 }

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
	// capLeast is the smallest cap. Chosen: engines have limits of 30 a second and more.
	capLeast = 10
	// capVictim is the detector's victim_burst, replies in one second.
	capVictim = 200
	// capMost is the largest cap: above it, rounding the cost of a packet, a whole number
	// of nanoseconds, would change the limit by more than 0.01 %.
	capMost = 100_000
)

// capRate returns the limit for all sources together: what servers of the protocol stand, or capBaselines
// times the baseline if that is more. A cap above a quarter of the flood's peak is lowered to
// that quarter, but not below four times the baseline, or capLeast. Where the server showed what it
// answers at most, the cap is below that.
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
		n = max(peak/4, 4*usual, capLeast)
	}
	n = roundUp(min(n, capMost))
	if in.Stands > 0 {
		n = min(n, leftByLimit(in.Stands, usual))
	}
	packets := int64(n)
	return rateLimit{packets, time.Second, 2 * packets}
}

// leftByLimit returns the cap at a server that answers no more than so many requests a second. What passes the cap must
// leave room for those who bring challenges back and for clients that pass before it: the usual queries, each with its
// echo, and no less than a quarter of the limit. A quarter of it is left to the cap as well.
func leftByLimit(limit, usual float64) float64 {
	return max(roundDown(max(min(limit-2*usual, limit*3/4), limit/4)), capLeast)
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

// roundDown returns x without what is after its first two digits.
func roundDown(x float64) float64 {
	ten := 1.0
	for 100*ten <= x {
		ten *= 10
	}
	return math.Floor(x/ten) * ten
}

// planner makes the plans for one incident.
type planner struct {
	in    *flood.Incident
	base  plan // without rules
	all   []*dissect.Proto
	plans []plan
}

// add adds a plan with the rules that build adds, if there are any, no plan has the same, and
// there is room.
func (x *planner) add(build func(p *plan)) {
	p := x.base
	build(&p)
	if p.numRules > 0 && len(x.plans) < trialPlans && !slices.ContainsFunc(x.plans, p.doesSame) {
		x.plans = append(x.plans, p)
	}
}

// doesSame reports whether two plans for an incident have the same rules.
func (p *plan) doesSame(q plan) bool {
	return p.rules == q.rules && p.named == q.named && p.isNarrow == q.isNarrow
}

// addPlans adds the plans for the incident, the one that fits best first: what drops nothing
// that a client sends before limits, and narrow limits before wide ones.
func (x *planner) addPlans() {
	in := x.in
	sources := func(p *plan) { p.addSources(in) }
	each := func(p *plan) { p.addRule(lineQueries, p.eachRate(in)) }
	wide := func(p *plan) { p.addRule(lineFirst, p.capRate(in)) }
	join := func(rules ...func(*plan)) func(*plan) {
		return func(p *plan) {
			for _, add := range rules {
				add(p)
			}
		}
	}
	switch in.Kind {
	case flood.FloodFew:
		x.add(join(sources, each))
		x.add(each)
		x.add(join(x.addFitting, each))
	case flood.FloodDistributed:
		x.add(join(each, wide))
		x.add(each)
		x.add(x.addFitting)
		x.add(join(x.addFitting, each))
	case flood.FloodCompleting:
		pairs := func(p *plan) { p.addRule(linePairs, pairRate) }
		if !isOfOne(in) {
			x.add(pairs)
		}
		x.add(each)
		x.add(join(pairs, each))
	case flood.FloodSpoofed:
		x.add(x.addFitting)
		x.add(join(unissued, wide))
		x.add(wide)
		x.add(each)
	case flood.ChallengeBypass:
		// A guess can come from a forged address. Few sources that each guess for a while
		// are worth naming; many are left to the other lines.
		if in.Sources >= fewSources {
			sources = func(*plan) {}
		}
		x.add(join(sources, unissued))
		x.add(join(sources, each))
		x.add(unissued)
		x.add(each)
	case flood.Reflection:
		x.add(func(p *plan) { p.addVictims(in) })
		if in.Class == nil { // of another game's replies no forms are known
			x.add(func(p *plan) { p.addRule(lineOthers, rateLimit{5, time.Second, 30}) })
		}
	case flood.ReplyFloodVictim:
		x.add(func(p *plan) { p.addRule(lineUnasked, p.capRate(in)) })
	case flood.JunkFlood:
		x.addJunkPlans()
	case flood.RconBruteforce:
		logins := func(p *plan) { p.addRule(lineLogins, p.loginRate()) }
		x.add(join(sources, logins))
		x.add(logins)
	}
}

func unissued(p *plan) { p.addRule(lineUnissued, rateLimit{}) }

// addFitting adds the rules for what came to a plan: lengths that no client sends and
// challenges that the server never gave are dropped, queries without a challenge are capped.
// The cap is on the types that came, so that clients' other questions pass; where nothing is
// known of them, on all.
func (x *planner) addFitting(p *plan) {
	m := &p.mix
	if m.odd >= fitShare {
		p.addRule(lineOdd, rateLimit{})
	}
	if m.keyed >= fitShare {
		unissued(p)
	}
	if m.isKnown && m.plain < fitShare {
		return
	}
	if types := m.plainPatterns(); len(types) > 0 {
		p.catalog, p.isNarrow = p.withSet(x.all, lineFirst, types), true
	}
	p.addRule(lineFirst, p.capRate(x.in))
}

// addJunkPlans adds the plans against what is no query: what begins like one is capped, and
// so is anything else from sources that the server sent nothing to.
func (x *planner) addJunkPlans() {
	limit := rateLimit{capJunk, time.Second, 2 * capJunk}
	marked := func(p *plan) { p.addRule(lineJunk, limit) }
	strangers := func(p *plan) { p.addRule(lineStrangers, limit) }
	if x.base.mix.strange < 0.5 {
		x.add(marked)
		x.add(func(p *plan) { marked(p); strangers(p) })
		return
	}
	x.add(strangers)
	x.add(func(p *plan) { marked(p); strangers(p) })
}

// uselessDropped is the share of the flood below which lines are not printed at all. Chosen:
// so little changes nothing for the server, and a hoster who loads them believes that he did
// something.
const uselessDropped = 0.1

// isUseless reports whether the lines drop next to nothing.
func (c *outcome) isUseless() bool {
	return !c.dropsEnough() && share(c.FloodDropped, c.Flood) < uselessDropped
}

// veto returns what has to be known before the lines are loaded, if the trial shows that they
// drop too little or touch too many clients; c is the best of the outcomes.
func (c *outcome) veto(in *flood.Incident, others []outcome) []string {
	switch c.rank() {
	case 3:
		return nil
	case 0:
		return c.explainTooLittle(others)
	}
	if c.rescues() {
		return nil
	}
	s := fmt.Sprintf("Before you load the lines below: on this capture they would have touched %s of %s (%s), more than 1 in 100.",
		thousands(uint64(c.ClientsHit)), thousands(uint64(c.Clients))+" "+c.clientNoun(uint64(c.Clients)),
		shareOf(uint64(c.ClientsHit), uint64(c.Clients)))
	if c.rank() == rankProvenFirst {
		return []string{s + fmt.Sprintf(" Load them with the proven clients, as \"qsniff floods -o nft --proven\" prints them:"+
			" these pass first, and then %s would have been touched.", thousands(uint64(c.NewHit)))}
	}
	return []string{s + " None of the lines that were tried touches fewer and still drops half of the flood. If the server stands" +
		" the flood, do not load them; let the provider filter if it does not."}
}

// explainTooLittle returns what to do where no lines drop enough.
func (c *outcome) explainTooLittle(others []outcome) []string {
	tried := "These lines were tried"
	if n := len(others) + 1; n > 1 {
		tried = fmt.Sprintf("%d sets of lines were tried", n)
	}
	s := fmt.Sprintf("Filters on this host stop too little of this flood: %s on the packets of this capture, and the best would have"+
		" dropped %s of them (%s of %s).", tried, shareOf(c.FloodDropped, c.Flood), thousands(c.FloodDropped), digits.Counted(c.Flood, "packet"))
	if c.isUseless() {
		s += " So none are printed."
	} else {
		s += " They are below, because there is nothing better here."
	}
	return []string{s, "What helps is upstream: ask the provider to filter it before it reaches the host, and show him what came and" +
		" from where. Until then the server answers what it can."}
}

// describeOthers returns what the other plans of a trial would have done, in a sentence.
func describeOthers(others []outcome) string {
	if len(others) == 0 || others[0].Flood == 0 {
		return ""
	}
	s := " Tried as well, and not chosen: "
	for i := range others {
		c := &others[i]
		if i > 0 {
			s += "; "
		}
		s += c.plan.describeRules() + " (" + shareOf(c.FloodDropped, c.Flood) + " dropped"
		if !c.IsBlind && c.Clients > 0 {
			s += fmt.Sprintf(", %s of %s touched", thousands(uint64(c.ClientsHit)), digits.Counted(uint64(c.Clients), "client"))
		}
		s += ")"
	}
	return s + "."
}

// describeRules returns the rules of a plan in a few words.
func (p *plan) describeRules() string {
	s := ""
	for i := range p.rules[:p.numRules] {
		if i > 0 {
			s += " and "
		}
		s += p.ruleNoun(p.rules[i].kind)
	}
	return s
}

// ruleNoun returns what a kind of lines is called.
func (p *plan) ruleNoun(l lineKind) string {
	switch l {
	case lineSources:
		return "the busiest sources blocked"
	case lineQueries:
		return "a limit for each source"
	case linePairs:
		return "a limit for each address and port"
	case lineFirst:
		if p.isNarrow {
			return "a cap on the queries that came"
		}
		return "a cap on all first queries"
	case lineVictims:
		return "the victims cut off"
	case lineOthers:
		return "a limit for each receiver"
	case lineUnasked:
		return "a cap on replies"
	case lineJunk:
		return "a cap on what begins like a query"
	case lineLogins:
		return "a limit for attempts to log in"
	case lineOdd:
		return "odd lengths dropped"
	case lineClass:
		return "the class dropped"
	case lineEach:
		return "a limit for each address"
	case lineForm:
		return "a cap on the message"
	case lineUnissued:
		return "challenges dropped that the server did not give"
	}
	return "a cap on strangers"
}

// describeShortness returns why the share that was dropped says little, if it does.
func (c *outcome) describeShortness() string {
	if c == nil || c.Flood == 0 || !c.isTooShort() || c.sharedBurst() == 0 || share(c.FloodDropped, c.Flood) >= leastDropped {
		return ""
	}
	return fmt.Sprintf(" So few packets do not show what a limit does to more of them: %s pass before it begins.", thousands(c.sharedBurst()))
}

const (
	// limit: planNames is how many sources the lines of one incident name: the eight sources and four
	// networks that an Incident lists.
	planNames = 12
	// limit: planRules is how many kinds of lines one incident has.
	planRules = 3
)
