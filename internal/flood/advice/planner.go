package advice

import (
	"slices"
	"time"

	"qsniff/dissect"
	"qsniff/internal/flood"
)

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
		x.add(func(p *plan) { p.addRule(lineOthers, rateLimit{5, time.Second, 30}) })
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
