package text

import (
	"bytes"

	"qsniff/dissect"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/display"
	"qsniff/internal/render"
)

// speechIndex returns the index of the field whose text a transcript shows, or -1 where m
// is shown like any other message.
func speechIndex(m *dissect.Message) int {
	if m.Type == nil || m.Type.Speech == nil {
		return -1
	}
	return m.Index(m.Type.Speech.Text)
}

// writeSpeech writes a message of a transcript, whose text is the field at index i. The
// text of a client is written into the first line, that of a server into further lines.
func (p *page) writeSpeech(e *render.Event, i int) {
	says := p.m.Type.Speech
	n := p.m.Pieces(i)
	text := p.appendSpeech(i, n)
	p.writeGist(len(p.m.Joined(i, n)))
	lines := p.m.Type.Reply && text.hasText()
	if text.hasText() && !lines {
		lo := len(p.dst)
		p.dst = display.AppendEscaped(p.dst, p.dst[text.lo:text.hi], 0)
		p.place(p.opt.Palette.head, lo, 1, turnHang)
	}
	p.writeFrames(e)
	p.writeStatus()
	p.writeSummary(says.Text)
	p.newline()
	if lines {
		from := len(p.dst)
		p.writeLines(text)
		if e.Msg.Status != dissect.Complete || len(e.Msg.Expert) > 0 {
			p.endLine()
		}
		e.Quote = render.Quote{From: from, To: len(p.dst), Continues: says.Part != nil && p.m.Index(says.Part) >= 0}
		e.Quote.From -= text.hi - text.lo
		e.Quote.To -= text.hi - text.lo
	}
	p.slide(text.lo, text.hi)
}

// appendSpeech appends the text of the n fields from index i on as it was sent, with hidden
// secrets redacted.
func (p *page) appendSpeech(i, n int) span {
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

// writeGist writes what the message is besides its text, which has size bytes.
func (p *page) writeGist(size int) {
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

// writeLines writes x in lines, with the sender's line breaks, and escapes everything else
// that is not text. The last line is left open where x does not end with a break.
func (p *page) writeLines(x span) {
	for x.hasText() {
		end, next := x.hi, x.hi
		if i := bytes.IndexByte(p.dst[x.lo:x.hi], '\n'); i >= 0 {
			end, next = x.lo+i, x.lo+i+1
		}
		line := span{x.lo, end}
		if next > end && line.hasText() && p.dst[end-1] == '\r' {
			line.hi--
		}
		if line.hasText() {
			p.padTo(bodyIndent)
			p.dst = display.AppendEscaped(p.dst, p.dst[line.lo:line.hi], 0)
		}
		if next > end {
			p.newline()
		}
		x.lo = next
	}
}

// endLine ends the line, if one is open.
func (p *page) endLine() {
	if n := len(p.dst); n > 0 && p.dst[n-1] != '\n' {
		p.newline()
	}
}
