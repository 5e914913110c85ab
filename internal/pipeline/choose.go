package pipeline

import (
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
)

// Filter chooses which messages, findings and incidents of a run are shown, counted and
// written. All packets are decoded, whatever it chooses.
type Filter struct {
	Program *filter.Program
	// Outcomes has the outcomes of exchanges, from an earlier run over the same capture. If
	// it is nil and the program needs them, a message is held until its exchange is over.
	Outcomes *Outcomes
}

// holds reports whether messages are held until their exchanges are over.
func (f *Filter) holds() bool { return f != nil && f.Program.NeedsAnswers() && f.Outcomes == nil }

// wantsPairs reports whether messages are chosen by their exchanges.
func (f *Filter) wantsPairs() bool { return f != nil && f.Program.NeedsPairs() }

// allowsRecords reports whether findings may be chosen that belong to no message.
func (f *Filter) allowsRecords() bool { return f == nil || f.Program.CanMatchRecords() }

// AllowsIncidents reports whether incidents may be chosen.
func (f *Filter) AllowsIncidents() bool { return f == nil || f.Program.CanMatchIncidents() }

// chooser evaluates a Filter in one goroutine. A nil one chooses everything.
type chooser struct {
	matcher  *filter.Matcher
	outcomes *Outcomes // nil: unknown
}

func newChooser(f *Filter) *chooser {
	if f == nil {
		return nil
	}
	return &chooser{f.Program.Matcher(), f.Outcomes}
}

// choose returns whether a message is chosen; neither filter.All nor filter.None if that
// depends on the outcome of its exchange, which is unknown.
func (c *chooser) choose(e *render.Event) filter.Truth {
	if c == nil {
		return filter.All
	}
	t := c.matcher.Match(e)
	if c.outcomes == nil || isDecided(t) {
		return t
	}
	return truthOf(t.At(c.outcomes.indexOf(e.Exchange.ID)))
}

// chooseRecord reports whether a finding is chosen that belongs to no message.
func (c *chooser) chooseRecord(r *render.Record) bool { return c == nil || c.matcher.MatchRecord(r) }

// chooseIncident reports whether an event of an incident is chosen.
func (c *chooser) chooseIncident(x *render.IncidentEvent) bool {
	return c == nil || c.matcher.MatchIncident(x)
}

// isDecided reports whether no outcome changes t.
func isDecided(t filter.Truth) bool { return t == filter.All || t == filter.None }

func truthOf(b bool) filter.Truth {
	if b {
		return filter.All
	}
	return filter.None
}
