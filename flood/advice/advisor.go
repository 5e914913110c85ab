package advice

import (
	"math/rand/v2"

	"qsniff/dissect"
	"qsniff/flood"
)

// Advisor writes the advice of one detector's incidents. It is a flood.Advisor.
type Advisor struct {
	reg        *dissect.Registry
	catalogs   map[*dissect.Proto]*catalog // those made so far; for nil, that of an unknown protocol
	idleTrials []*trial
	running    int
}

// New returns an advisor for incidents of a registry's protocols.
func New(reg *dissect.Registry) *Advisor {
	return &Advisor{reg: reg, catalogs: map[*dissect.Proto]*catalog{}}
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
		a.idleTrials = append(a.idleTrials, &trial{seed: rand.Uint64(), advisor: a})
	}
	t := a.idleTrials[len(a.idleTrials)-1]
	a.idleTrials = a.idleTrials[:len(a.idleTrials)-1]
	a.running++
	t.reset(in)
	return t
}

// Restart writes the advice for in as it is now and tries its rules in place of those before.
func (t *trial) Restart(in *flood.Incident) {
	t.reset(in)
	t.advisor.Advise(in)
}

// Conclude writes the advice with what was measured and ends the trial.
func (t *trial) Conclude(in *flood.Incident, blind bool) {
	c := t.outcomeSoFar()
	c.IsBlind = blind
	in.Advice = t.advisor.write(in, &c)
	t.advisor.idleTrials = append(t.advisor.idleTrials, t)
	t.advisor.running--
}
