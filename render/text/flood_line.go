package text

import (
	"fmt"
	"time"

	"qsniff/finding"
	"qsniff/flood"
	"qsniff/internal/digits"
	"qsniff/render"
)

// AppendIncident appends an event of an incident as a line that starts like a
// finding's.
func (l *Line) AppendIncident(dst []byte, x *render.Incident) []byte {
	o := &l.opt
	dst = appendSpaces(dst, frameW+1)
	dst = append(o.appendClockTime(dst, x.Nanos, x.First, o.Date, &x.Hole), ' ')
	s := o.incidentStyle(x)
	dst = append(append(append(dst, s.on...), incidentMark(x)...), s.off...)
	return append(append(appendSpaces(dst, gap), incidentWords(x)...), '\n')
}

// AppendIncident appends an event of an incident, and an empty line.
func (t *Tree) AppendIncident(dst []byte, x *render.Incident) []byte {
	return wrappedIncident(dst, &t.opt, x)
}

// AppendIncident appends an event of an incident, and an empty line.
func (h *Hex) AppendIncident(dst []byte, x *render.Incident) []byte {
	return wrappedIncident(dst, &h.opt, x)
}

func wrappedIncident(dst []byte, o *Options, x *render.Incident) []byte {
	const hang = frameW + 1 + indentStep
	p := page{dst: dst, opt: o}
	p.to(frameW + 1)
	lo := len(p.dst)
	p.dst = o.appendClockTime(p.dst, x.Nanos, x.First, true, &x.Hole)
	p.col += len(p.dst) - lo
	p.to(p.col + 1)
	mark := incidentMark(x)
	if p.col+len(mark)+gap+roomForWords > o.Width {
		p.newline()
		p.to(hang)
	}
	p.string(o.incidentStyle(x), mark)
	p.to(p.col + gap)
	lo = len(p.dst)
	p.dst = append(p.dst, incidentWords(x)...)
	p.paragraph(style{}, lo, hang)
	p.newline()
	return p.dst
}

func (o *Options) incidentStyle(x *render.Incident) style {
	if x.Level == flood.Alert {
		return o.Palette.severity[finding.Error]
	}
	return o.Palette.severity[finding.Warn]
}

func incidentMark(x *render.Incident) string { return "! " + x.Level.String() + " FLOOD" }

// incidentWords says what happened: of what begins or changes the first sentence of
// the evidence, of what is over how it was.
func incidentWords(x *render.Incident) string {
	what := fmt.Sprintf("%s at %s", x.Kind, x.Target)
	first := ""
	if len(x.Evidence) > 0 {
		first = x.Evidence[0]
	}
	switch {
	case x.Event == flood.Begins:
		return fmt.Sprintf("%s, from frame %d on: %s", what, x.Frame, first)
	case x.Event == flood.Changes && len(x.History) > 0:
		return fmt.Sprintf("%s, taken for %s before: %s", what, x.History[len(x.History)-1].Kind, first)
	case x.Event == flood.Changes:
		return fmt.Sprintf("%s goes on: %s", what, first)
	case x.End == 0:
		return fmt.Sprintf("%s is not over where the capture ends; peak %s/s, %s so far", what, short(x.Peak), amount(x.Incident))
	}
	return fmt.Sprintf("%s was over after %s; peak %s/s, %s", what, digits.Span(time.Duration(x.End-x.Start).Round(100*time.Millisecond)), short(x.Peak), amount(x.Incident))
}

// amount is how many packets it was: requests, replies at a victim of these, or anything
// else.
func amount(in *flood.Incident) string {
	if in.Class != nil {
		return digits.Counted(in.Packets, "packet")
	}
	if in.Requests == 0 {
		return digits.Counted(in.Replies, "reply", "replies")
	}
	return digits.Counted(in.Requests, "request")
}
