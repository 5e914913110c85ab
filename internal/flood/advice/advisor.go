package advice

import (
	"math/rand/v2"
	"time"

	"qsniff/dissect"
	"qsniff/internal/flood"
)

// Advisor writes the advice of one detector's incidents. It is a flood.Advisor.
type Advisor struct {
	reg        *dissect.Registry
	expiry     time.Duration
	catalogs   map[*dissect.Proto]*catalog // those made so far; for nil, that of an unknown protocol
	idleTrials []*trial
	running    int
}

// New returns an advisor for incidents of a registry's protocols. Rules match until expiry after
// they were loaded, with 0 until they are removed.
func New(reg *dissect.Registry, expiry time.Duration) *Advisor {
	return &Advisor{reg: reg, expiry: expiry, catalogs: map[*dissect.Proto]*catalog{}}
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
	all := t.conclude(blind)
	in.Advice = t.advisor.write(in, &all[0], all[1:]...)
	t.advisor.idleTrials = append(t.advisor.idleTrials, t)
	t.advisor.running--
}
