package text

import (
	"net/netip"
	"strconv"
	"strings"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/display"
	"qsniff/internal/render"
)

// writeHead writes the headline. Those of its parts that do not fit go to further lines,
// which are indented.
func (p *page) writeHead(e *render.Event) {
	c := &p.opt.Palette
	lo := len(p.dst)
	p.dst = strconv.AppendUint(append(append(p.dst, p.opt.unit()...), ' '), e.Frame, 10)
	p.placeInHead(c.head, lo)
	if !p.opt.Bare {
		p.writeOrigin(e)
	}
	lo = len(p.dst)
	p.dst = appendTitle(p.dst, e)
	p.placeInHead(c.head, lo)
	lo = len(p.dst)
	p.dst = append(p.dst, e.Direction()...)
	p.placeInHead(style{}, lo)
	p.writeRelation(e)
	lo = len(p.dst)
	p.dst = appendSize(p.dst, p.m, plural(p.m.Wire, " byte", " bytes"))
	p.placeInHead(style{}, lo)
	if s := p.m.Status; s != dissect.Complete {
		lo = len(p.dst)
		p.dst = append(p.dst, s.String()...)
		p.placeInHead(c.status[s], lo)
	}
	if p.m.Why != "" {
		lo = len(p.dst)
		p.dst = append(append(append(p.dst, p.m.Conf.String()...), ": "...), p.m.Why...)
		p.placeInHead(c.dim, lo)
	}
	p.writeFindingCounts()
	p.newline()
	p.writeJoined(e)
	p.writeArrival(e)
}

// writeOrigin writes the input, the interface, the time, source and destination.
func (p *page) writeOrigin(e *render.Event) {
	if e.File >= 0 {
		p.writeNumbered(p.opt.Palette.dim, "input ", int64(e.File))
	}
	if e.Iface >= 0 {
		p.writeNumbered(p.opt.Palette.dim, "interface ", int64(e.Iface))
	}
	lo := len(p.dst)
	p.dst = p.opt.appendClockTime(p.dst, e.Nanos, e.Start, true, &e.Hole)
	p.placeInHead(style{}, lo)
	e.Hole.At = len(p.dst) - e.Hole.Width
	p.writeEnds(e.Src, e.Dst)
}

// writeRelation writes what the message does to a request of its exchange: "answers frame
// 7 after 12 ms".
func (p *page) writeRelation(e *render.Event) {
	x := &e.Exchange
	if p.opt.Bare || x.ID == 0 || x.Verb == "" {
		return
	}
	lo := len(p.dst)
	frame := x.ID
	if x.Request != 0 {
		frame = x.Request
	}
	if e.Reply && x.Request == 0 {
		p.dst = append(p.dst, "belongs to"...)
	} else {
		p.dst = append(p.dst, x.Verb...)
	}
	p.dst = strconv.AppendUint(append(p.dst, " frame "...), frame, 10)
	if x.Request != 0 && x.RTT >= 0 {
		p.dst = digits.AppendElapsed(append(p.dst, " after "...), x.RTT, " ")
	}
	p.placeInHead(style{}, lo)
}

// placeInHead places the text from lo to the end of dst in the headline.
func (p *page) placeInHead(s style, lo int) { p.place(s, lo, gap, indentStep) }

// place lays out the text from lo to the end of dst: apart cells after what is in the line,
// or in a new line, indented by hang, if it does not fit.
func (p *page) place(s style, lo, apart, hang int) {
	x := span{lo, len(p.dst)}
	end := x.hi
	if p.col > hang {
		if p.col+apart+display.Cells(p.dst[lo:]) > p.opt.Width {
			p.newline()
			p.padTo(hang)
		} else {
			p.padTo(p.col + apart)
		}
	}
	for p.writeFitting(s, &x, p.opt.Width-p.col); x.hasText(); p.writeFitting(s, &x, p.opt.Width-p.col) {
		p.newline()
		p.padTo(hang)
	}
	p.slide(lo, end)
}

func (p *page) writeNumbered(s style, label string, n int64) {
	lo := len(p.dst)
	p.dst = strconv.AppendInt(append(p.dst, label...), n, 10)
	p.placeInHead(s, lo)
}

// writeEnds writes source and destination: together, unless a line cannot hold two of IPv6.
func (p *page) writeEnds(src, dst netip.AddrPort) {
	lo := len(p.dst)
	p.dst = src.AppendTo(p.dst)
	mid := len(p.dst)
	p.dst = dst.AppendTo(append(p.dst, " > "...))
	if indentStep+len(p.dst)-lo <= p.opt.Width {
		p.placeInHead(style{}, lo)
		return
	}
	p.dst = p.dst[:mid]
	p.placeInHead(style{}, lo)
	lo = len(p.dst)
	p.dst = dst.AppendTo(append(p.dst, "> "...))
	p.placeInHead(style{}, lo)
}

// writeFindingCounts writes how many findings of each severity the message has, worst
// first: those themselves may be many lines below.
func (p *page) writeFindingCounts() {
	var n [finding.Error + 1]int
	for i := range p.m.Expert {
		n[p.m.Expert[i].Severity]++
	}
	for s := finding.Error; ; s-- {
		if n[s] > 0 {
			lo := len(p.dst)
			p.dst = strconv.AppendInt(p.dst, int64(n[s]), 10)
			p.dst = append(append(p.dst, ' '), s.String()...)
			p.placeInHead(p.opt.Palette.severity[s], lo)
		}
		if s == finding.Chat {
			return
		}
	}
}

// writeJoined writes the parts or fragments that the message was joined from, if any.
func (p *page) writeJoined(e *render.Event) {
	s := e.Split
	if s == nil && len(e.Frames) < 2 {
		return
	}
	p.padTo(p.indent + indentStep)
	lo := len(p.dst)
	switch {
	case s == nil && e.JoinedFrom != "":
		p.dst = append(append(p.dst, "joined from "...), e.JoinedFrom...)
	case s == nil:
		p.dst = append(p.dst, "joined from IP fragments"...)
	case s.Total == 0:
		p.dst = append(p.dst, "split part whose header fits no form: no parts in all, or a number beyond the last"...)
	default:
		p.dst = append(p.dst, "joined from "...)
		p.dst = appendParts(p.dst, s)
		p.dst = append(append(p.dst, ": "...), s.Engine.Format()...)
	}
	if s != nil {
		p.dst = strconv.AppendUint(append(p.dst, ", id "...), uint64(s.ID), 10)
		if s.Size > 0 {
			p.dst = strconv.AppendInt(append(p.dst, ", size field "...), int64(s.Size), 10)
		}
		if s.Compressed {
			p.dst = appendPacked(append(p.dst, ", bzip2"...), s)
		}
	}
	if len(e.Frames) > 0 {
		p.dst = p.opt.appendFrames(append(p.dst, ", "...), e.Frames)
	}
	if e.Train > 0 && !p.opt.Bare {
		p.dst = digits.AppendElapsed(append(p.dst, " within "...), e.Train, " ")
	}
	p.writeParagraph(style{}, lo, p.indent+2*indentStep)
}

// appendPacked appends what the header of a compressed message declares.
func appendPacked(dst []byte, s *render.Split) []byte {
	if s.Packed == 0 {
		return dst
	}
	dst = strconv.AppendInt(append(dst, " of "...), int64(s.Packed), 10)
	dst = strconv.AppendUint(append(dst, " bytes for "...), uint64(s.Declared), 10)
	return appendHexNumber(append(dst, ", CRC-32 0x"...), uint64(s.CRC), 4)
}

// appendFrames appends rising frame numbers with runs as ranges: "frames 7-9, 12".
func (o *Options) appendFrames(dst []byte, frames []uint64) []byte {
	dst = append(dst, o.unit()...)
	if len(frames) == 1 {
		return strconv.AppendUint(append(dst, ' '), frames[0], 10)
	}
	dst = append(dst, "s "...)
	for i := 0; i < len(frames); {
		last := i
		for last+1 < len(frames) && frames[last+1] == frames[last]+1 {
			last++
		}
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = strconv.AppendUint(dst, frames[i], 10)
		if last > i {
			dst = strconv.AppendUint(append(dst, '-'), frames[last], 10)
		}
		i = last + 1
	}
	return dst
}

// writeStop writes where a message that is not complete ends, and why.
func (p *page) writeStop(e *render.Event) {
	m := p.m
	if m.Status == dissect.Complete || m.Status == dissect.Malformed && m.Stopped == nil {
		return
	}
	p.padTo(p.indent + indentStep)
	lo := len(p.dst)
	switch m.Status {
	case dissect.Truncated:
		p.dst = append(p.dst, "stopped"...)
		p.dst = appendWhere(p.dst, m, " at byte ", ": the capture cut the message")
		p.dst = appendSize(append(p.dst, " ("...), m, " bytes captured)")
	case dissect.Malformed:
		p.dst = append(p.dst, "malformed:"...)
		p.dst = appendWhere(p.dst, m, " ends at byte ", "")
	case dissect.Fragment:
		p.dst = append(p.dst, "incomplete:"...)
		p.dst = appendMissing(p.dst, e)
		if m.Stopped != nil {
			p.dst = appendWhere(p.dst, m, "; decoding ended at byte ", "")
		}
	}
	p.writeParagraph(p.opt.Palette.status[m.Status], lo, p.indent+2*indentStep)
}

// appendWhere appends the offset of the first byte that is missing, and the field that it
// belongs to.
func appendWhere(dst []byte, m *dissect.Message, at, why string) []byte {
	end := uint64(len(m.Data))
	if m.Stopped != nil {
		end = uint64(m.StoppedAt)
	}
	dst = strconv.AppendUint(append(dst, at...), end, 10)
	dst = append(dst, why...)
	if m.Stopped == nil {
		return dst
	}
	where := " before "
	if n := len(m.Fields); n > 0 && m.Fields[n-1].Flags&dissect.Cut != 0 {
		where = " inside "
	}
	return append(append(dst, where...), shortName(m.Stopped.Name)...)
}

// appendMissing appends why an incomplete message is incomplete, or else how much is
// missing.
func appendMissing(dst []byte, e *render.Event) []byte {
	s := e.Split
	switch {
	case e.WhyIncomplete != "":
		return append(append(dst, ' '), e.WhyIncomplete...)
	case s == nil:
		return append(dst, " the rest of the message never came"...)
	}
	missing := s.Total - s.Received
	dst = appendParts(append(dst, ' '), s)
	dst = append(dst, " came, "...)
	dst = strconv.AppendInt(dst, int64(missing), 10)
	return append(dst, plural(missing, " is missing", " are missing")...)
}

// shortName is a definition's name without the protocol and the names around it:
// "info.map", "rules.value".
func shortName(name string) string {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return name
	}
	return name[strings.LastIndexByte(name[:i], '.')+1:]
}
