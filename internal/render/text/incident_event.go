package text

import (
	"fmt"
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
	"qsniff/internal/render"
)

// AppendIncident appends an event of an incident as a block, between two empty lines.
func (l *Line) AppendIncident(dst []byte, x *render.IncidentEvent) []byte {
	return appendWrappedIncident(append(dst, '\n'), &l.opt, l.opt.Date, x)
}

// AppendIncident appends an event of an incident, and an empty line.
func (t *Tree) AppendIncident(dst []byte, x *render.IncidentEvent) []byte {
	return appendWrappedIncident(dst, &t.opt, true, x)
}

// AppendIncident appends an event of an incident, and an empty line.
func (h *Hex) AppendIncident(dst []byte, x *render.IncidentEvent) []byte {
	return appendWrappedIncident(dst, &h.opt, true, x)
}

// appendWrappedIncident appends an event in lines of at most Options.Width, and an
// empty line. hasDate adds the date to a time of day.
func appendWrappedIncident(dst []byte, o *Options, hasDate bool, x *render.IncidentEvent) []byte {
	const hang = frameW + 1 + indentStep
	p := page{dst: dst, opt: o}
	p.padTo(frameW + 1)
	lo := len(p.dst)
	p.dst = o.appendClockTime(p.dst, x.Nanos, x.First, hasDate, &x.Hole)
	p.col += len(p.dst) - lo
	p.padTo(p.col + 1)
	mark := incidentMark(x)
	if p.col+len(mark)+gap+roomForWords > o.Width {
		p.newline()
		p.padTo(hang)
	}
	p.writeString(o.incidentStyle(x), mark)
	p.padTo(p.col + gap)
	lo = len(p.dst)
	p.dst = append(p.dst, IncidentWords(x)...)
	p.writeParagraph(style{}, lo, hang)
	p.newline()
	return p.dst
}

func (o *Options) incidentStyle(x *render.IncidentEvent) style {
	if x.Level == flood.Alert {
		return o.Palette.severity[finding.Error]
	}
	return o.Palette.severity[finding.Warn]
}

func incidentMark(x *render.IncidentEvent) string { return "! " + x.Level.String() + " FLOOD" }

// IncidentWords returns what happened, as one sentence: with the first sentence of the evidence
// where an incident begins or changes, with its length and size where it is over.
func IncidentWords(x *render.IncidentEvent) string {
	what := fmt.Sprintf("%s at %s", x.Kind, x.Target)
	first := firstEvidence(x.Incident, x.Nanos)
	switch {
	case x.Event == flood.Begins:
		return fmt.Sprintf("%s, from frame %d on: %s", what, x.Frame, first)
	case x.Event == flood.Changes && len(x.History) > 0:
		return fmt.Sprintf("%s, taken for %s before: %s", what, x.History[len(x.History)-1].Kind, first)
	case x.Event == flood.Changes:
		return fmt.Sprintf("%s goes on: %s", what, first)
	case x.End == 0:
		return fmt.Sprintf("%s is not over where the capture ends; peak %s/s, %s so far", what, short(x.Peak), x.Count())
	}
	return fmt.Sprintf("%s was over after %s; peak %s/s, %s", what, digits.Span(time.Duration(x.End-x.Start).Round(100*time.Millisecond)), short(x.Peak), x.Count())
}
