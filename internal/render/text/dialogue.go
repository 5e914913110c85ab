package text

import (
	"bytes"
	"strconv"

	"qsniff/dissect"
	"qsniff/internal/base/digits"
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
