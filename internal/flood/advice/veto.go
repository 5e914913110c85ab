package advice

import (
	"fmt"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
)

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
