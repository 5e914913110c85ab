package advice

import (
	"math/rand/v2"

	"qsniff/dissect"
	"qsniff/flood"
)

// Advisor writes the advice of one detector's incidents. It is a flood.Advisor.
type Advisor struct {
	reg      *dissect.Registry
	catalogs map[*dissect.Proto]*catalog // those made so far, nil's for what is not known
	idle     []*trial
	running  int
}

// New returns an advisor for incidents of a registry's protocols.
func New(reg *dissect.Registry) *Advisor {
	return &Advisor{reg: reg, catalogs: map[*dissect.Proto]*catalog{}}
}

// catalogOf returns the catalog of a protocol, or that of all for nil.
func (a *Advisor) catalogOf(p *dissect.Proto) *catalog {
	c := a.catalogs[p]
	if c == nil {
		c = newCatalog(a.reg, p)
		a.catalogs[p] = c
	}
	return c
}

// Advise writes the advice for in as it is now, without having tried it.
func (a *Advisor) Advise(in *flood.Incident) { in.Advice, in.Rules = a.write(in, nil) }

// Try writes the advice and begins to try its rules; it returns nil where too many are
// tried already, and for notes, which have none.
func (a *Advisor) Try(in *flood.Incident) flood.Trial {
	a.Advise(in)
	if in.Level == flood.Info || a.running == maxTrials {
		return nil
	}
	if len(a.idle) == 0 {
		a.idle = append(a.idle, &trial{seed: rand.Uint64(), advisor: a})
	}
	t := a.idle[len(a.idle)-1]
	a.idle = a.idle[:len(a.idle)-1]
	a.running++
	t.reset(in)
	return t
}

// Restart tries the rules for in as it is now, in place of those tried so far.
func (t *trial) Restart(in *flood.Incident) {
	t.reset(in)
	t.advisor.Advise(in)
}

// Conclude writes the advice with what was measured and ends the trial.
func (t *trial) Conclude(in *flood.Incident, blind bool) {
	c := t.currentOutcome()
	c.IsBlind = blind
	in.Advice, in.Rules = t.advisor.write(in, &c)
	t.advisor.idle = append(t.advisor.idle, t)
	t.advisor.running--
}
