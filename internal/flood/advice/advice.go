// Package advice writes what to do about an incident: in words, and as rules for
// nftables and iptables with the incident's addresses and rates filled in. It tries the
// rules on the packets of the capture that follow the detection and reports what they
// would have dropped, of the flood and of clients that had proved their address. It loads no
// rule, and it decides nothing about incidents: package flood does.
//
// An incident passes through it in this order:
//
//	begins   newPlan chooses the rules (plan.go): which kinds of lines, which addresses they
//	         name, which limits they have. The words (words.go), nft's file (nft.go) and
//	         iptables' (iptables.go) are written from the plan. A trial of the plan
//	         starts (trial.go), unless maxTrials run already.
//	packets  each packet to or from the target is matched with the plan's lines and
//	         charged to their buckets (rules.go), as the kernel would.
//	changes  another kind: a new plan, and the trial starts anew.
//	ends     the same texts, with what the trial measured.
//
// What a packet must look like to be matched is declared by the protocols: this package
// names none of them. From the roles of their types catalog.go chooses, for each kind of
// line, the patterns of packets and the types of sightings that have them. catalog.go turns
// patterns into tests of words, which nft.go and iptables.go write for either tool.
//
// State: for each trial a table of hashed addresses of limited size (hashtable.go),
// for each of its plans those that stand for the kernel's sets, and one bucket for each rule.
// A trial's memory is used again for the next one.
package advice

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
)

// textWidth is the width in columns of most lines.
const textWidth = 78

// write returns what to do about an incident: words, rules, and what these would have done
// to the packets of the capture. The rules are those of c, the best of a trial, and others are
// the outcomes of its other plans; where c is nil or about another verdict, they are those for
// in as it is now.
func (a *Advisor) write(in *flood.Incident, c *outcome, others ...outcome) flood.Advice {
	p := a.newPlan(in)
	if c != nil && c.plan.kind == in.Kind && c.plan.id == in.ID {
		p = c.plan
		p.ports = slices.Clone(in.MorePorts) // some may have been found since
	} else {
		c, others = nil, nil // its trial was about another verdict
	}
	if c != nil {
		c.isSampled, c.answers, c.limitShare = in.IsSampled, in.Answers, 1
		if in.Stands > 0 && in.Peak > in.Stands {
			c.limitShare = in.Stands / in.Peak
		}
	}
	var veto []string
	if c != nil && p.numRules > 0 && in.Class == nil {
		veto = c.veto(in, others)
		p.isVetoed = len(veto) > 0
		if p.isVetoed && c.isUseless() {
			p.numRules = 0 // so that no sentence is about them
		}
	}
	// A sentence that the protocol does not declare is empty.
	words := slices.DeleteFunc(append(append(veto, p.paragraphs(in)...), p.ownWords()), func(s string) bool { return s == "" })
	switch {
	case p.isVetoed && p.numRules == 0:
	case p.numRules == 0 && p.kind.Level() == flood.Alert && p.kind != flood.Scan && len(words) > 0:
		words = append(words, "There are no ready lines for this target.")
	case p.numRules > 0:
		x := flood.Advice{Words: words, Rules: &p, Measured: c.describe() + c.describeShortness() + describeOthers(others),
			ProvenFirst: c != nil && !c.IsBlind && c.ClientsHit > c.NewHit}
		if len(veto) > 0 {
			x.Veto = veto[0]
		}
		c.fill(&x)
		if x.Cost != nil {
			if n := len(c.losses.All); n <= a.listable {
				a.listable -= n
				x.Losses = c.losses
			}
		}
		return x
	}
	x := flood.Advice{Words: words}
	if len(veto) > 0 {
		x.Veto = veto[0]
	}
	return x
}

// fill fills in the figures of an advice.
func (c *outcome) fill(x *flood.Advice) {
	if c != nil && !c.isSampled {
		x.Tried, x.Dropped, x.TooFew = c.Flood, c.FloodDropped, c.describeShortness()
	}
	if c != nil && c.hasCost() {
		x.Cost = new(flood.CostOf(c.losses))
	}
}

// describe returns what the lines for nftables would have done, in sentences.
func (c *outcome) describe() string {
	if c == nil {
		return "What these lines would have done to the packets of this capture was not measured."
	}
	s := "No packet of the flood followed its detection in this capture, so these lines could not be tried on any. "
	if c.isSampled {
		s = "These lines were not tried on this capture: limits act on what lies between its samples. "
	}
	if c.Flood > 0 {
		s = fmt.Sprintf("From its detection to the end of this capture, the lines for nftables would have dropped %s "+
			"of the flood (%s of %s)", shareOf(c.FloodDropped, c.Flood), thousands(c.FloodDropped),
			digits.Counted(c.Flood, "packet"))
		if c.hasCost() {
			cost := flood.CostOf(c.losses)
			s += ". " + DescribeCost(&cost) + c.describeLimit()
			if lost := DescribeLost(&c.answers); lost != "" {
				s += " As it was, " + lost + "."
			}
			return s
		}
		if !c.IsBlind && c.Clients > 0 && !hasClasses(c.plan.kind) {
			return s + " and " + c.describeClients()
		}
		s += ". "
	} else if !c.IsBlind && c.Clients > 0 && !hasClasses(c.plan.kind) {
		return s + "They would have " + c.describeClients()
	}
	return s + c.explainUnknown()
}

// hasCost reports whether the trial shows what clients would have lost.
func (c *outcome) hasCost() bool { return !c.IsBlind && len(c.losses.All) > 0 && c.Flood > 0 }

// describeLimit returns that there were more clients than were counted one by one.
func (c *outcome) describeLimit() string {
	if !c.HasMoreClients {
		return ""
	}
	return fmt.Sprintf(" These are the first %s clients: there were more.", thousands(trialClients))
}

// describeClients returns what proven clients would have lost.
func (c *outcome) describeClients() string {
	who := c.clientNoun(uint64(c.Clients))
	if c.HasMoreClients {
		who = fmt.Sprintf("the first %s %s", thousands(uint64(c.Clients)), who)
	} else {
		who = fmt.Sprintf("%s %s", thousands(uint64(c.Clients)), who)
	}
	switch {
	case c.ClientLost == 0:
		return fmt.Sprintf("touched 0 of %s.", who)
	case c.ClientsHit == 0 && !c.HasMoreClients:
		return fmt.Sprintf("touched 0 of %s: %s of their %s would have been lost, and of nobody's 1 in %d.", who,
			thousands(c.ClientLost), digits.Counted(c.ClientPackets, "packet"), flood.TouchedShare)
	case c.ClientsHit == 0: // only clients beyond the table
		return fmt.Sprintf("touched 0 of %s, but later ones: %s of %s of all of them.", who,
			thousands(c.ClientLost), digits.Counted(c.ClientPackets, "packet"))
	}
	s := fmt.Sprintf("touched %s of %s, which would have lost %s of their %s (%s).", thousands(uint64(c.ClientsHit)),
		who, thousands(c.ClientLost), digits.Counted(c.ClientPackets, "packet"), shareOf(c.ClientLost, c.ClientPackets))
	if c.NewHit < c.ClientsHit {
		s += fmt.Sprintf(" Where those that had proved it before pass first (--proven), %s.", thousands(uint64(c.NewHit)))
	}
	return s
}

// clientNoun returns what the proven clients of a plan are called.
func (c *outcome) clientNoun(n uint64) string {
	switch c.plan.kind {
	case flood.ReplyFloodVictim:
		return digits.Noun(n, "server that this host had asked", "servers that this host had asked")
	case flood.RconBruteforce:
		return digits.Noun(n, "source that had proved to be no guesser", "sources that had proved to be no guesser")
	}
	return digits.Noun(n, "client that had proved its address", "clients that had proved their address")
}

// explainUnknown returns why the number of clients is unknown.
func (c *outcome) explainUnknown() string {
	if c.IsBlind {
		return "What they would have cost real clients is unknown: this capture does not show who proved an address, " +
			"as where it has one direction only."
	}
	return "What they would have cost real clients is unknown: none that had proved its address sent anything meanwhile."
}

// shareOf returns the share that n is of of as text: percent with one decimal, rounded down.
// Only none is "0 %", and only all is "100 %".
func shareOf(n, of uint64) string {
	if of == 0 {
		return "0 %"
	}
	tenths := uint64(float64(n) / float64(of) * 1000)
	switch {
	case n == of:
		return "100 %"
	case n == 0:
		return "0 %"
	case tenths == 0:
		return "under 0.1 %"
	case tenths >= 1000:
		tenths = 999
	}
	return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
}

func thousands(n uint64) string { return digits.Grouped(int64(min(n, 1<<62))) }

// Advisor writes the advice of one detector's incidents, as a flood.Advisor.
type Advisor struct {
	reg        *dissect.Registry
	expiry     time.Duration
	catalogs   map[*dissect.Proto]*catalog // those made so far; for nil, that of an unknown protocol
	idleTrials []*trial
	running    int
	seed       uint64 // of the hashes of clients in all trials
	listable   int    // clients that incidents may still list
}

// New returns an advisor for incidents of a registry's protocols. Rules match until expiry after
// they were loaded, with 0 until they are removed.
func New(reg *dissect.Registry, expiry time.Duration) *Advisor {
	return &Advisor{reg: reg, expiry: expiry, catalogs: map[*dissect.Proto]*catalog{}, seed: rand.Uint64(), listable: listedClients}
}

// catalogOf returns the catalog of a protocol, for nil that of all together.
func (a *Advisor) catalogOf(p *dissect.Proto) *catalog {
	c := a.catalogs[p]
	if c == nil {
		c = newCatalog(a.reg, p)
		a.catalogs[p] = c
	}
	return c
}

// Advise writes the advice for in as it is now, without figures of a trial.
func (a *Advisor) Advise(in *flood.Incident) { in.Advice = a.write(in, nil) }

// Try writes the advice for in as it is now and returns a trial of its rules. It returns nil
// while maxTrials run, and for notes, which have no rules.
func (a *Advisor) Try(in *flood.Incident) flood.Trial {
	a.Advise(in)
	if in.Level == flood.Info || a.running == maxTrials {
		return nil
	}
	if len(a.idleTrials) == 0 {
		a.idleTrials = append(a.idleTrials, &trial{seed: a.seed, advisor: a})
	}
	t := a.idleTrials[len(a.idleTrials)-1]
	a.idleTrials = a.idleTrials[:len(a.idleTrials)-1]
	a.running++
	t.reset(in)
	return t
}

// Restart writes the advice for in as it is now and tries its rules in place of those before.
func (t *trial) Restart(in *flood.Incident) {
	past := t.Answers()
	t.reset(in)
	t.past = past
	t.advisor.Advise(in)
}

// Refit begins anew if the caps of the rules for the incident as it is now differ much from those that are tried.
func (t *trial) Refit(in *flood.Incident) bool {
	p := t.advisor.newPlan(in)
	is, was := p.findRule(lineFirst), t.attempts[0].plan.findRule(lineFirst)
	if is == nil || was == nil {
		return false
	}
	if n, old := is.limit.packets, was.limit.packets; 2*n > old && 2*old > n {
		return false
	}
	t.Restart(in)
	return true
}

// Measure fills in the figures of the advice that was written: those of the first plan.
func (t *trial) Measure(in *flood.Incident, blind bool) {
	if in.Advice.Rules == nil || in.IsSampled || t.isEmpty {
		return
	}
	c := t.outcomeOf(0)
	c.losses, c.IsBlind = t.lossesOf(0, &c, in.End), blind
	c.fill(&in.Advice)
}

// Conclude writes the advice with what was measured and ends the trial.
func (t *trial) Conclude(in *flood.Incident, blind bool) {
	all := t.conclude(blind, in.End)
	in.Advice = t.advisor.write(in, &all[0], all[1:]...)
	t.advisor.idleTrials = append(t.advisor.idleTrials, t)
	t.advisor.running--
}

const (
	// limit: listedClients is how many clients the incidents of a run list with what they would lose, so that
	// the cost of all rules together can be found: 16 full trials, 1.5 MiB. Incidents that end later have their
	// own cost only.
	listedClients = 16 * trialClients
	// limit: maxTrials is how many trials run at a time, of up to 6.9 MiB each (measured: four plans with
	// both tables full and their marks, and the clients), 56 MiB in all. Trials begin with nothing, grow
	// with the sources that come, and keep their memory for the next incident. Incidents that begin while
	// so many run get advice without figures.
	maxTrials = 8
)
