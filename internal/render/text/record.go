package text

import (
	"strconv"

	"qsniff/internal/base/display"
	"qsniff/internal/render"
)

// AppendRecord appends a finding as a line that starts like a message's.
func (l *Line) AppendRecord(dst []byte, r *render.Record) []byte {
	return appendRecord(dst, &l.opt, r, l.opt.Date)
}

// AppendRecord appends a finding and an empty line.
func (t *Tree) AppendRecord(dst []byte, r *render.Record) []byte {
	return appendWrappedRecord(dst, &t.opt, r)
}

// appendWrappedRecord appends a finding like appendRecord, but in lines of at most
// Options.Width and with the date, for Tree and Hex.
func appendWrappedRecord(dst []byte, o *Options, r *render.Record) []byte {
	const hang = frameW + 1 + indentStep
	p := page{dst: dst, opt: o}
	if n := len(r.Frames); n > 0 {
		last := r.Frames[n-1]
		p.padTo(frameW - decimals(last))
		p.dst = strconv.AppendUint(append(p.dst, o.Palette.dim.on...), last, 10)
		p.dst = append(p.dst, o.Palette.dim.off...)
		p.col += decimals(last)
	}
	p.padTo(max(frameW, p.col) + 1)
	if !o.Bare {
		lo := len(p.dst)
		p.dst = o.appendClockTime(p.dst, r.Nanos, r.Start, true, &r.Hole)
		p.col += len(p.dst) - lo
		p.padTo(p.col + 1)
	}
	detail := r.Detail
	if o.Bare { // it names the ends
		detail = nil
	}
	x := r.Expert
	mark := len("! ") + len(x.Severity.String()) + 1 + len(x.Code.ID) + gap
	if p.col > hang && p.col+mark+roomForWords > o.Width {
		p.newline()
		p.padTo(hang)
	}
	p.writeFindingText(x, detail, hang)
	p.newline()
	return p.dst
}

// appendRecord appends a finding as one line.
func appendRecord(dst []byte, o *Options, r *render.Record, date bool) []byte {
	c := &o.Palette
	if len(r.Frames) > 0 {
		last := r.Frames[len(r.Frames)-1]
		dst = appendSpaces(append(dst, c.dim.on...), frameW-decimals(last))
		dst = strconv.AppendUint(dst, last, 10)
		dst = append(dst, c.dim.off...)
	} else {
		dst = appendSpaces(dst, frameW)
	}
	dst = append(dst, ' ')
	if !o.Bare {
		dst = append(o.appendClockTime(dst, r.Nanos, r.Start, date, &r.Hole), ' ')
	}
	return append(appendFinding(dst, o, r), '\n')
}

// appendFinding appends a finding without what its line begins with: frame and time.
func appendFinding(dst []byte, o *Options, r *render.Record) []byte {
	s := o.Palette.severity[r.Expert.Severity]
	dst = append(append(dst, s.on...), "! "...)
	dst = append(append(dst, r.Expert.Severity.String()...), ' ')
	dst = append(append(dst, r.Expert.Code.ID...), s.off...)
	dst = append(dst, "  "...)
	lo := len(dst)
	dst = r.Expert.AppendText(dst)
	if !o.Bare { // it names the ends
		dst = append(dst, r.Detail...)
	}
	raw := len(dst)
	dst = display.AppendEscaped(dst, dst[lo:raw], 0)
	n := copy(dst[lo:], dst[raw:])
	return dst[:lo+n]
}

// writeArrival writes the name of the interface, the tags, labels and tunnels around the
// packet, and the packet's comments in the capture file.
func (p *page) writeArrival(e *render.Event) {
	if len(e.IfName) > 0 {
		writeNote(p, "captured on ", e.IfName)
	}
	if len(e.Ways) > 0 {
		p.padTo(p.indent + indentStep)
		lo := len(p.dst)
		p.dst = append(p.dst, "via "...)
		for i := range e.Ways {
			if i > 0 {
				p.dst = append(p.dst, ", "...)
			}
			p.dst = appendWay(p.dst, &e.Ways[i])
		}
		p.writeParagraph(style{}, lo, p.indent+2*indentStep)
	}
	for _, c := range e.Comments {
		writeNote(p, "comment: ", c)
	}
}

// writeNote writes a label and text from the input, which it escapes.
func writeNote[T string | []byte](p *page, label string, text T) {
	p.padTo(p.indent + indentStep)
	lo := len(p.dst)
	p.dst = append(p.dst, label...)
	mid := len(p.dst)
	p.dst = append(p.dst, text...)
	end := len(p.dst)
	p.dst = display.AppendEscaped(p.dst, p.dst[mid:end], 0)
	p.dst = p.dst[:mid+copy(p.dst[mid:], p.dst[end:])]
	p.writeParagraph(style{}, lo, p.indent+2*indentStep)
}

func appendWay(dst []byte, w *render.Way) []byte {
	dst = append(dst, w.Kind...)
	if w.ID != 0 {
		dst = strconv.AppendUint(append(dst, ' '), uint64(w.ID), 10)
	}
	if !w.Src.IsValid() {
		return dst
	}
	dst = append(dst, ' ')
	if w.Src.Port() == 0 {
		dst = w.Src.Addr().AppendTo(dst)
		return w.Dst.Addr().AppendTo(append(dst, " > "...))
	}
	dst = w.Src.AppendTo(dst)
	return w.Dst.AppendTo(append(dst, " > "...))
}
