package text

import (
	"bytes"

	"qsniff/dissect"
	"qsniff/internal/digits"
	"qsniff/internal/display"
	"qsniff/render"
)

// spoken returns the index of the text that a transcript shows of m, or -1 where m
// is shown as any other message.
func spoken(m *dissect.Message) int {
	if m.Type == nil || m.Type.Speech == nil {
		return -1
	}
	return m.Index(m.Type.Speech.Text)
}

// speech writes a message of a transcript, whose text is the field at index i. What
// the client says stands in the first line, what the server says in lines of its
// own.
func (p *page) speech(e *render.Event, i int) {
	says := p.m.Type.Speech
	n := p.m.Pieces(i)
	text := p.spell(i, n)
	p.gist(len(p.m.Joined(i, n)))
	lines := p.m.Type.Reply && text.any()
	if text.any() && !lines {
		lo := len(p.dst)
		p.dst = display.AppendEscaped(p.dst, p.dst[text.lo:text.hi], 0)
		p.place(p.opt.Palette.head, lo, 1, turnHang)
	}
	p.frames(e)
	p.status()
	p.values(says.Text)
	p.newline()
	if lines {
		from := len(p.dst)
		p.lines(text)
		if e.Msg.Status != dissect.Complete || len(e.Msg.Expert) > 0 {
			p.endLine()
		}
		e.Said = render.Said{From: from, To: len(p.dst), GoesOn: says.Part != nil && p.m.Index(says.Part) >= 0}
		e.Said.From -= text.hi - text.lo
		e.Said.To -= text.hi - text.lo
	}
	p.slide(text.lo, text.hi)
}

// spell appends the text of the n fields from index i on as it was sent, but for
// the secrets in it.
func (p *page) spell(i, n int) span {
	lo := len(p.dst)
	for j := i; j < i+n; j++ {
		if f := &p.m.Fields[j]; p.opt.hides(f.Def) {
			p.dst = append(p.dst, redacted...)
		} else {
			p.dst = append(p.dst, p.m.Bytes(f)...)
		}
	}
	return span{lo, len(p.dst)}
}

// gist writes what the message is besides its text of size bytes.
func (p *page) gist(size int) {
	c, t := &p.opt.Palette, p.m.Type
	lo := len(p.dst)
	switch {
	case t.Speech.Gist != nil:
		p.dst = append(p.dst, t.Speech.Gist(p.m)...)
		p.place(c.head, lo, 1, turnHang)
	case size == 0:
		p.dst = append(p.dst, "empty packet"...)
		p.place(c.dim, lo, 1, turnHang)
	case t.Reply:
		p.dst = append(digits.AppendGrouped(p.dst, int64(size)), plural(size, " byte", " bytes")...)
		p.place(style{}, lo, 1, turnHang)
	}
}

// lines writes x in lines: broken where the sender breaks them, with all else that
// is not text escaped. The last line is open where x does not end with a break.
func (p *page) lines(x span) {
	for x.any() {
		end, next := x.hi, x.hi
		if i := bytes.IndexByte(p.dst[x.lo:x.hi], '\n'); i >= 0 {
			end, next = x.lo+i, x.lo+i+1
		}
		line := span{x.lo, end}
		if next > end && line.any() && p.dst[end-1] == '\r' {
			line.hi--
		}
		if line.any() {
			p.to(bodyIndent)
			p.dst = display.AppendEscaped(p.dst, p.dst[line.lo:line.hi], 0)
		}
		if next > end {
			p.newline()
		}
		x.lo = next
	}
}

// endLine ends a line that is open.
func (p *page) endLine() {
	if n := len(p.dst); n > 0 && p.dst[n-1] != '\n' {
		p.newline()
	}
}
