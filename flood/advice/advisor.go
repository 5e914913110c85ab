package advice

import (
	"math/rand/v2"

	"qsniff/flood"
)

// Advisor writes the advice of one detector's incidents. It is a flood.Advisor.
type Advisor struct {
	free    []*trial
	running int
}

// New returns an advisor.
func New() *Advisor { return &Advisor{} }

// Advise writes the advice for in as it is now, without having tried it.
func (a *Advisor) Advise(in *flood.Incident) { in.Advice, in.Rules = advise(in, nil) }

// Try writes the advice and begins to try its rules; it returns nil where too many are
// tried already, and for notes, which have none.
func (a *Advisor) Try(in *flood.Incident) flood.Trial {
	a.Advise(in)
	if in.Level == flood.Info || a.running == maxTrials {
		return nil
	}
	if len(a.free) == 0 {
		a.free = append(a.free, &trial{seed: rand.Uint64(), advisor: a})
	}
	t := a.free[len(a.free)-1]
	a.free = a.free[:len(a.free)-1]
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
	c := t.result()
	c.Blind = blind
	in.Advice, in.Rules = advise(in, &c)
	t.advisor.free = append(t.advisor.free, t)
	t.advisor.running--
}
