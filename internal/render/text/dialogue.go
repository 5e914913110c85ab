package text

import (
	"bytes"
	"strconv"

	"qsniff/dissect"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/display"
	"qsniff/internal/render"
)

// Dialogue shows an exchange as a dialogue: client, server and outcome, then each message
// with its time and direction, and its bytes in the layout of hexdump -C, which people
// paste into reports. Connections whose messages are text are shown as a transcript.
//
// As in Hex, no line but those of a transcript's text is wider than Options.Width,
// and bytes of secrets are stars.
type Dialogue struct {
	opt    Options
	form   Form
	isFull bool
}

// Form chooses what is written below the first line of a turn.
type Form uint8

// The forms.
const (
	Dump      Form = iota // bytes, or the text of a transcript
	Fields                // annotated fields, as in Tree
	Annotated             // annotated bytes, as in Hex
)

// NewDialogue returns a renderer that may be shared. Unless isFull is set, dumps show only
// the beginning of long messages.
func NewDialogue(o Options, form Form, isFull bool) *Dialogue {
	return &Dialogue{opt: o.withDefaults(), form: form, isFull: isFull}
}

// AppendDialogue appends a dialogue and an empty line.
func (d *Dialogue) AppendDialogue(dst []byte, x *render.Dialogue) []byte {
	p := page{dst: dst, opt: &d.opt}
	p.writeTitle(x)
	p.writeOutcome(x)
	before := x.First
	for i := 0; i < len(x.Turns); i++ {
		t := &x.Turns[i]
		p.endLine()
		at := len(p.dst)
		p.dst = append(p.dst, t.Text...)
		if t.Hole.IsSet {
			since := x.First
			if d.opt.Clock == render.Delta {
				since = before
			}
			p.dst = render.FillHole(p.dst, at+t.Hole.At, t.Hole.Width, t.Nanos-since)
			before = t.Nanos
		}
		i = p.writeContinuations(x.Turns, i)
	}
	p.endLine()
	if x.IsUnfinished {
		p.padTo(indentStep)
		lo := len(p.dst)
		p.dst = append(p.dst, "written before it was over: too many dialogues were open, or they took too much memory"...)
		p.writeParagraph(p.opt.Palette.status[dissect.Fragment], lo, 2*indentStep)
	}
	p.newline()
	return p.dst
}

// writeContinuations writes the turns after index i whose text continues that of turn i,
// and returns the index of the last of them.
func (p *page) writeContinuations(turns []render.Turn, i int) int {
	first, last := i, i
	for last+1 < len(turns) {
		t, next := &turns[last], &turns[last+1]
		if open := t.Quote.To > 0 && t.Quote.To == len(t.Text); !open || !next.Quote.Continues {
			break
		}
		text := next.Text[next.Quote.From:]
		if n := len(p.dst); p.dst[n-1] != '\n' && len(text) > 0 && text[0] != '\n' {
			text = text[bodyIndent:]
		}
		p.dst = append(p.dst, text...)
		last++
	}
	if last == first {
		return last
	}
	p.endLine()
	p.padTo(bodyIndent)
	lo := len(p.dst)
	p.dst = strconv.AppendInt(append(p.dst, "(joined from "...), int64(last-first+1), 10)
	p.dst = append(p.dst, " messages: frames "...)
	p.dst = strconv.AppendUint(p.dst, turns[first].Frame, 10)
	p.dst = strconv.AppendUint(append(p.dst, " to "...), turns[last].Frame, 10)
	p.dst = append(p.dst, ')')
	p.writeParagraph(p.opt.Palette.dim, lo, bodyIndent)
	return last
}

// writeTitle writes what the dialogue is, between whom, and when it began.
func (p *page) writeTitle(x *render.Dialogue) {
	c := &p.opt.Palette
	lo := len(p.dst)
	switch {
	case x.IsStream:
		p.dst = append(p.dst, "connection "...)
	case x.Outcome == render.OneWay:
		p.dst = append(p.dst, "message "...)
	default:
		p.dst = append(p.dst, "exchange "...)
	}
	p.dst = strconv.AppendUint(p.dst, x.ID, 10)
	p.place(c.head, lo, gap, indentStep)
	if x.Proto != nil {
		lo = len(p.dst)
		p.dst = append(p.dst, x.Proto.Name...)
		if x.Type != nil && !x.IsStream {
			p.dst = append(append(p.dst, ' '), x.Type.Name...)
		}
		p.place(c.head, lo, gap, indentStep)
	}
	if x.Client.IsValid() {
		p.writeEnds(x.Client, x.Server)
	}
	lo = len(p.dst)
	p.dst = p.opt.appendTime(p.dst, x.First, true)
	p.place(style{}, lo, gap, indentStep)
	p.newline()
}

// writeOutcome writes what came of the dialogue.
func (p *page) writeOutcome(x *render.Dialogue) {
	p.padTo(indentStep)
	lo := len(p.dst)
	p.dst = appendResult(p.dst, x)
	if x.HasEarlier {
		p.dst = append(p.dst, "; earlier turns are further up, or before the capture"...)
	}
	p.writeParagraph(p.opt.Palette.outcomeStyle(x), lo, 2*indentStep)
}

// appendResult appends how the dialogue ended, and how many messages and packets it had.
func appendResult(dst []byte, x *render.Dialogue) []byte {
	dst = appendOutcome(dst, x)
	switch answered := x.Outcome == render.Answered || x.Outcome == render.LateAnswer; {
	case x.ChallengeRTT >= 0 && answered:
		dst = digits.AppendElapsed(append(dst, ", challenge before that "...), x.ChallengeRTT, " ")
	case x.ChallengeRTT >= 0 && x.Outcome != render.Challenged:
		dst = digits.AppendElapsed(append(dst, ", challenged after "...), x.ChallengeRTT, " ")
	}
	dst = appendAmount(dst, uint64(x.Requests), " request", " requests", x.Requests > 1 || x.IsStream)
	dst = appendAmount(dst, uint64(x.Challenges), " challenge", " challenges", x.Challenges > 1)
	dst = appendAmount(dst, uint64(x.Replies), " reply", " replies", x.Replies > 1 || x.IsStream)
	dst = appendAmount(dst, uint64(x.Packets), " packet", " packets", true)
	return dst
}

func appendAmount(dst []byte, n uint64, one, more string, show bool) []byte {
	if !show {
		return dst
	}
	dst = digits.AppendGrouped(append(dst, ", "...), int64(n))
	return append(dst, plural(int(n), one, more)...)
}

// answerWords are the words for an answer, by its status.
var answerWords = [...]string{
	dissect.Complete:  "answered",
	dissect.Truncated: "answered",
	dissect.Malformed: "answered with a malformed reply",
	dissect.Fragment:  "answered in part, which clients cannot read,",
}

// appendTook appends how long an answer took, after lead. Where that is unknown, because
// the request was not captured, it removes the comma that ends dst.
func appendTook(dst []byte, lead string, nanos int64) []byte {
	if nanos < 0 {
		return bytes.TrimRight(dst, ",")
	}
	return digits.AppendElapsed(append(dst, lead...), nanos, " ")
}

func appendOutcome(dst []byte, x *render.Dialogue) []byte {
	if x.IsStream {
		return digits.AppendElapsed(append(dst, "over "...), x.Last-x.First, " ")
	}
	switch x.Outcome {
	case render.Answered:
		return appendTook(append(dst, answerWords[x.Answer]...), " after ", x.RTT)
	case render.LateAnswer:
		return appendTook(append(dst, "answered too late"...), ", after ", x.RTT)
	case render.Unanswered:
		return append(dst, "not answered"...)
	case render.Unsolicited:
		return append(dst, "a reply to no known request"...)
	case render.OneWay:
		return append(dst, "one way"...)
	case render.Challenged:
		return appendChallenged(dst, x)
	}
	switch {
	case x.HasEarlier && x.Requests == 0:
		return append(dst, "a further reply"...)
	case x.IsUnfinished, x.IsStopped:
		return append(dst, "no answer so far"...)
	}
	return append(dst, "no answer in the capture"...)
}

// appendChallenged appends that the exchange ended with a challenge.
func appendChallenged(dst []byte, x *render.Dialogue) []byte {
	dst = append(dst, "challenged"...)
	if x.ChallengeRTT >= 0 {
		dst = digits.AppendElapsed(append(dst, " after "...), x.ChallengeRTT, " ")
	}
	dst = append(dst, ", not asked again with the "...)
	if x.Challenges > 1 {
		dst = append(dst, "last "...)
	}
	dst = append(dst, "challenge"...)
	if x.IsUnfinished {
		dst = append(dst, " so far"...)
	}
	return dst
}

// outcomeStyle returns the style for the outcome of a dialogue.
func (c *Palette) outcomeStyle(x *render.Dialogue) style {
	if !x.IsStream && (x.Outcome == render.Unanswered || x.Outcome == render.LateAnswer) {
		return c.status[dissect.Truncated]
	}
	return style{}
}

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
		i = p.m.Tells(i)
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
