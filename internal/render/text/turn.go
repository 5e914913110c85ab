package text

import (
	"strconv"

	"qsniff/dissect"
	"qsniff/internal/base/digits"
	"qsniff/internal/render"
)

const (
	turnIndent = 2                       // of a turn's first line
	bodyIndent = turnIndent + 2*gap      // of the lines below it
	turnHang   = turnIndent + indentStep // of what did not fit into the first line
)

// Append appends e as a turn. It appends nothing for a reply that was joined from several
// messages: these are turns.
func (d *Dialogue) Append(dst []byte, e *render.Event) []byte {
	if e.Record != "" {
		return dst
	}
	p := page{dst: dst, opt: &d.opt, m: e.Msg, indent: bodyIndent - indentStep}
	p.writeTime(e.Nanos, e.Start, &e.Hole)
	p.writeArrow(e)
	speech := -1
	if d.form == Dump {
		speech = speechIndex(e.Msg)
	}
	if speech >= 0 {
		p.writeSpeech(e, speech)
	} else {
		p.writeTurn(e)
	}
	if speech < 0 || e.Msg.Status != dissect.Complete {
		d.writeBody(&p, e)
	}
	p.writeStop(e)
	for i := range p.m.Expert {
		if x := &p.m.Expert[i]; d.form != Fields || !p.isPlaced(x) {
			p.writeFinding(x, turnHang)
		}
	}
	return p.dst
}

// AppendRecord appends a finding as a turn.
func (d *Dialogue) AppendRecord(dst []byte, r *render.Record) []byte {
	p := page{dst: dst, opt: &d.opt}
	p.writeTime(r.Nanos, r.Start, &r.Hole)
	p.padTo(p.col + gap)
	p.writeFindingText(r.Expert, r.Detail, turnHang+indentStep)
	return p.dst
}

// writeBody writes what is below the first line of a turn.
func (d *Dialogue) writeBody(p *page, e *render.Event) {
	switch d.form {
	case Fields:
		p.measureColumns()
		p.writeFields()
	case Annotated:
		p.measureColumns()
		rows := hexDump{page: p, e: e}
		rows.measureRows()
		rows.writeRows()
		p.writeComputed()
	default:
		rows := hexDump{page: p, e: e}
		rows.writePlainRows(d.isFull)
	}
}

// writeTime writes the time of a turn.
func (p *page) writeTime(nanos, start int64, h *render.Hole) {
	p.padTo(turnIndent)
	lo := len(p.dst)
	p.dst = append(p.dst, p.opt.Palette.dim.on...)
	from := len(p.dst)
	switch p.opt.Clock {
	case render.Offset, render.Delta:
		const width = len("0.000000")
		p.dst = p.opt.Clock.AppendSeconds(append(p.dst, '+'), nanos, start, width, h)
	default:
		p.dst = p.opt.appendClockTime(p.dst, nanos, start, false, h)
	}
	p.col += len(p.dst) - from
	if lo < from {
		p.dst = append(p.dst, p.opt.Palette.dim.off...)
	}
}

// writeArrow writes the direction: > to the server, < to the client.
func (p *page) writeArrow(e *render.Event) {
	p.padTo(p.col + gap)
	if e.Reply || p.m.Type != nil && p.m.Type.Notice {
		p.writeString(p.opt.Palette.meaning, "<")
		return
	}
	p.writeString(p.opt.Palette.name, ">")
}

// writeTurn writes the first line of a message: type, size, frames and status, then the
// values that its sender chose. Lines on how the message arrived follow.
func (p *page) writeTurn(e *render.Event) {
	c := &p.opt.Palette
	lo := len(p.dst)
	if p.m.Type == nil {
		p.dst = append(p.dst, "unknown message"...)
	} else {
		p.dst = append(p.dst, p.m.Type.Name...)
	}
	p.dst = append(p.dst, ',')
	p.place(c.head, lo, 1, turnHang)
	lo = len(p.dst)
	p.dst = appendSize(p.dst, p.m, plural(p.m.Wire, " byte", " bytes"))
	p.place(style{}, lo, 1, turnHang)
	p.writeFrames(e)
	if p.m.Conf == dissect.Maybe {
		lo = len(p.dst)
		p.dst = append(p.dst, "weak"...)
		p.place(c.dim, lo, 1, turnHang)
	}
	p.writeStatus()
	p.writeSummary(nil)
	p.newline()
	p.writeJoined(e)
	p.writeArrival(e)
}

// writeFrames writes the frames that the message came in.
func (p *page) writeFrames(e *render.Event) {
	lo := len(p.dst)
	p.dst = append(p.dst, '(')
	if e.Split == nil && len(e.Frames) > 1 && e.TCP {
		p.dst = p.opt.appendFrames(p.dst, e.Frames)
	} else {
		p.dst = strconv.AppendUint(append(append(p.dst, p.opt.unit()...), ' '), e.Frame, 10)
	}
	p.dst = append(p.dst, ')')
	p.place(p.opt.Palette.dim, lo, 1, turnHang)
}

func (p *page) writeStatus() {
	if s := p.m.Status; s != dissect.Complete {
		lo := len(p.dst)
		p.dst = append(p.dst, s.String()...)
		p.place(p.opt.Palette.status[s], lo, 1, turnHang)
	}
}

// writeSummary writes the values that the message's type declares as its summary, except
// that of one field.
func (p *page) writeSummary(except *dissect.Def) {
	if p.m.Type == nil {
		return
	}
	apart := gap
	for _, d := range p.m.Type.Summary {
		i := p.m.Index(d)
		if i < 0 || d == except {
			continue
		}
		lo := len(p.dst)
		p.dst = append(append(p.dst, d.Key()...), '=')
		if n := p.m.Pieces(i); n > 1 {
			p.dst = appendPieces(p.dst, p.opt, p.m, i, n)
		} else {
			p.dst = appendBrief(p.dst, p.opt, p.m, &p.m.Fields[i])
		}
		p.place(style{}, lo, apart, turnHang)
		apart = 1
	}
}

// briefDump is how many bytes of a message a dump shows unless all are wanted. Chosen:
// these are all of most requests, and of replies the part in which wrong ones differ.
const briefDump = 64

// writePlainRows writes rows of bytes with their characters, and without names.
func (d *hexDump) writePlainRows(full bool) {
	d.rowLen = 16
	if bodyIndent+3*d.rowLen+gap+d.rowLen > d.opt.Width {
		d.rowLen = 8
	}
	d.hexAt = bodyIndent
	d.textAt = d.hexAt + 3*d.rowLen + gap
	if d.rowLen == 8 {
		d.textAt--
	}
	n := len(d.m.Data)
	if !full && n > briefDump+d.rowLen { // the line on what is not shown takes a row itself
		n = briefDump
	}
	d.leafNo = -1
	d.nextLeaf()
	for at := 0; at < n; at += d.rowLen {
		d.writePlainRow(at, min(d.rowLen, n-at))
	}
	if n < len(d.m.Data) {
		d.padTo(bodyIndent)
		lo := len(d.dst)
		d.dst = digits.AppendGrouped(append(d.dst, "… "...), int64(len(d.m.Data)-n))
		d.dst = append(d.dst, " more bytes; --full shows them"...)
		d.writeParagraph(d.opt.Palette.dim, lo, bodyIndent)
	}
}

// writePlainRow writes n bytes from offset at on.
func (d *hexDump) writePlainRow(at, n int) {
	const half = 8
	d.padTo(d.hexAt)
	mark := d.leafNo
	for i := range n {
		if i == half {
			d.dst, d.col = append(d.dst, ' '), d.col+1
		}
		if i > 0 {
			d.dst, d.col = append(d.dst, ' '), d.col+1
		}
		if b := d.m.Data[at+i]; d.isHidden(at + i) {
			d.dst = append(d.dst, "**"...)
		} else {
			d.dst = append(d.dst, hexDigits[b>>4], hexDigits[b&0xf])
		}
		d.col += 2
	}
	d.padTo(d.textAt)
	d.leafNo = mark // back to the first leaf of the row
	for i := range n {
		b := d.m.Data[at+i]
		switch {
		case d.isHidden(at + i):
			b = '*'
		case b < ' ' || b > '~':
			b = '.'
		}
		d.dst = append(d.dst, b)
	}
	d.newline()
}

// isHidden reports whether the byte at offset at belongs to a hidden secret. As for leafAt,
// offsets rise.
func (d *hexDump) isHidden(at int) bool {
	f := d.leafAt(at)
	return f != nil && d.opt.hides(f.Def)
}
