package text

import (
	"strconv"

	"qsniff/dissect"
	"qsniff/internal/digits"
	"qsniff/render"
)

// Dialogue shows an exchange as a dialogue: who asked whom and what came of it, then
// each message with its time and direction, and its bytes in the layout of hexdump
// -C, which people paste into reports. Of connections whose ends say text to each
// other it makes a transcript.
//
// As in Hex, no line but those of a transcript's text is wider than Options.Width,
// and bytes of secrets are stars.
type Dialogue struct {
	opt  Options
	form Form
	full bool
}

// Form is what stands below the first line of a turn.
type Form uint8

// The forms.
const (
	Dump      Form = iota // bytes, or the text of a transcript
	Fields                // annotated fields, as in Tree
	Annotated             // annotated bytes, as in Hex
)

// NewDialogue returns a renderer that may be shared. Where full is not set, dumps
// show the start of long messages.
func NewDialogue(o Options, form Form, full bool) *Dialogue {
	return &Dialogue{opt: o.normal(), form: form, full: full}
}

const (
	turnIndent = 2                       // of a turn's first line
	bodyIndent = turnIndent + 2*gap      // of what stands below it
	turnHang   = turnIndent + indentStep // of lines that go on
)

// Append appends a turn. A reply that was joined from several messages is none:
// they were.
func (d *Dialogue) Append(dst []byte, e *render.Event) []byte {
	if e.Record != "" {
		return dst
	}
	p := page{dst: dst, opt: &d.opt, m: e.Msg, indent: bodyIndent - indentStep}
	p.lead(e.Nanos, e.Start, &e.Hole)
	p.arrow(e)
	said := -1
	if d.form == Dump {
		said = spoken(e.Msg)
	}
	if said >= 0 {
		p.speech(e, said)
	} else {
		p.turn(e)
	}
	if said < 0 || e.Msg.Status != dissect.Complete {
		d.below(&p, e)
	}
	p.stop(e)
	for i := range p.m.Expert {
		if x := &p.m.Expert[i]; d.form != Fields || !p.placed(x) {
			p.finding(x, turnHang)
		}
	}
	return p.dst
}

// below writes the message below the first line of its turn.
func (d *Dialogue) below(p *page, e *render.Event) {
	switch d.form {
	case Fields:
		p.measure()
		p.fields()
	case Annotated:
		p.measure()
		rows := dump{page: p, e: e}
		rows.measure()
		rows.rows()
		p.further()
	default:
		rows := dump{page: p, e: e}
		rows.plain(d.full)
	}
}

// lead writes the time of a turn.
func (p *page) lead(nanos, start int64, h *render.Hole) {
	p.to(turnIndent)
	lo := len(p.dst)
	p.dst = append(p.dst, p.opt.Palette.dim.on...)
	from := len(p.dst)
	switch p.opt.Clock {
	case render.Offset, render.Delta:
		const width = len("0.000000")
		p.dst = p.opt.Clock.Seconds(append(p.dst, '+'), nanos, start, width, h)
	default:
		p.dst = p.opt.appendClockTime(p.dst, nanos, start, false, h)
	}
	p.col += len(p.dst) - from
	if lo < from {
		p.dst = append(p.dst, p.opt.Palette.dim.off...)
	}
}

// arrow writes which way the message went: > to the server.
func (p *page) arrow(e *render.Event) {
	p.to(p.col + gap)
	if e.Reply || p.m.Type != nil && p.m.Type.Notice {
		p.string(p.opt.Palette.meaning, "<")
		return
	}
	p.string(p.opt.Palette.name, ">")
}

// turn writes the first line of a message: what it is and how it came, then the
// values that its sender chose.
func (p *page) turn(e *render.Event) {
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
	p.frames(e)
	if p.m.Conf == dissect.Maybe {
		lo = len(p.dst)
		p.dst = append(p.dst, "weak"...)
		p.place(c.dim, lo, 1, turnHang)
	}
	p.status()
	p.values(nil)
	p.newline()
	p.joined(e)
	p.came(e)
}

// frames writes where the message is in the capture.
func (p *page) frames(e *render.Event) {
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

func (p *page) status() {
	if s := p.m.Status; s != dissect.Complete {
		lo := len(p.dst)
		p.dst = append(p.dst, s.String()...)
		p.place(p.opt.Palette.status[s], lo, 1, turnHang)
	}
}

// values writes the values that the message's type names, but that of one field.
func (p *page) values(but *dissect.Def) {
	if p.m.Type == nil {
		return
	}
	apart := gap
	for _, d := range p.m.Type.Summary {
		i := p.m.Index(d)
		if i < 0 || d == but {
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

// briefDump is how many bytes of a message a dump shows: all of most requests, and
// of replies the part in which wrong ones differ.
const briefDump = 64

// plain writes rows of bytes and the characters of them, without names.
func (d *dump) plain(full bool) {
	d.n = 16
	if bodyIndent+3*d.n+gap+d.n > d.opt.Width {
		d.n = 8
	}
	d.hexAt = bodyIndent
	d.textAt = d.hexAt + 3*d.n + gap
	if d.n == 8 {
		d.textAt--
	}
	n := len(d.m.Data)
	if !full && n > briefDump+d.n { // to say that a row is left out takes a row
		n = briefDump
	}
	d.leafNo = -1
	d.nextLeaf()
	for at := 0; at < n; at += d.n {
		d.plainRow(at, min(d.n, n-at))
	}
	if n < len(d.m.Data) {
		d.to(bodyIndent)
		lo := len(d.dst)
		d.dst = digits.AppendGrouped(append(d.dst, "… "...), int64(len(d.m.Data)-n))
		d.dst = append(d.dst, " more bytes; --full shows them"...)
		d.paragraph(d.opt.Palette.dim, lo, bodyIndent)
	}
}

// plainRow writes n bytes from offset at on.
func (d *dump) plainRow(at, n int) {
	const half = 8
	d.to(d.hexAt)
	mark := d.leafNo
	for i := range n {
		if i == half {
			d.dst, d.col = append(d.dst, ' '), d.col+1
		}
		if i > 0 {
			d.dst, d.col = append(d.dst, ' '), d.col+1
		}
		if b := d.m.Data[at+i]; d.hidden(at + i) {
			d.dst = append(d.dst, "**"...)
		} else {
			d.dst = append(d.dst, hexDigits[b>>4], hexDigits[b&0xf])
		}
		d.col += 2
	}
	d.to(d.textAt)
	d.leafNo = mark // the same leaves once more
	for i := range n {
		b := d.m.Data[at+i]
		switch {
		case d.hidden(at + i):
			b = '*'
		case b < ' ' || b > '~':
			b = '.'
		}
		d.dst = append(d.dst, b)
	}
	d.newline()
}

// hidden reports whether the byte at offset at is of a secret; offsets rise.
func (d *dump) hidden(at int) bool {
	f := d.leaf(at)
	return f != nil && d.opt.hides(f.Def)
}
