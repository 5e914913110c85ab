package text

import "qsniff/internal/render"

// AppendReading appends a line of e without what it begins with: frame, time and ends. For
// programs that have columns for these.
func (l *Line) AppendReading(dst []byte, e *render.Event) []byte { return l.appendMessage(dst, e) }

// AppendFinding appends a finding likewise.
func (l *Line) AppendFinding(dst []byte, r *render.Record) []byte {
	return appendFinding(dst, &l.opt, r)
}

// AppendTime appends a time as a line has it; before is that of the line before.
func (l *Line) AppendTime(dst []byte, nanos, start, before int64) []byte {
	o := l.opt
	if o.Clock == render.Delta {
		o.Clock, start = render.Relative, before
	}
	return o.appendClockTime(dst, nanos, start, o.Date, nil)
}
