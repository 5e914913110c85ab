package text

import (
	"encoding/hex"
	"strconv"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/display"
	"qsniff/internal/render"
)

// Line shows a message in one line: frame, time, ends, protocol and message type,
// findings, then the values that its type declares as its summary. All but the summary is
// short, and comes before it; the line may be longer than a terminal.
type Line struct{ opt Options }

// NewLine returns a renderer that may be shared.
func NewLine(o Options) *Line { return &Line{o.withDefaults()} }

// The columns that are cheap to align: frames up to 99,999, and most pairs of
// IPv4 addresses. Longer ones push the rest to the right.
const (
	frameW = 5
	endsW  = 40
)

// Append appends e as a line.
func (l *Line) Append(dst []byte, e *render.Event) []byte {
	c := &l.opt.Palette
	dst = append(dst, c.dim.on...)
	dst = appendSpaces(dst, frameW-decimals(e.Frame))
	dst = strconv.AppendUint(dst, e.Frame, 10)
	dst = append(dst, c.dim.off...)
	dst = append(dst, ' ')
	dst = l.appendTimeAndEnds(dst, e)
	dst = append(dst, ' ')
	return append(l.appendMessage(dst, e), '\n')
}

// appendMessage appends what the message is and holds: all but its packet, time and ends.
func (l *Line) appendMessage(dst []byte, e *render.Event) []byte {
	m, c := e.Msg, &l.opt.Palette
	dst = append(dst, c.head.on...)
	dst = appendTitle(dst, e)
	dst = append(dst, c.head.off...)
	if x := &e.Exchange; !l.opt.Bare && x.Request != 0 && x.RTT >= 0 {
		dst = digits.AppendElapsed(append(dst, ' '), x.RTT, "")
	}
	if m.Conf == dissect.Maybe {
		dst = append(dst, " weak"...)
	}
	if s := m.Status; s != dissect.Complete {
		dst = append(append(dst, ' '), c.status[s].on...)
		dst = append(append(dst, s.String()...), c.status[s].off...)
	}
	dst = l.appendFindings(dst, m)
	dst = l.appendSummary(dst, m)
	dst = append(append(dst, ' '), c.dim.on...)
	dst = appendSize(dst, m, " B")
	dst = appendSplit(dst, e.Split)
	return append(dst, c.dim.off...)
}

// appendTimeAndEnds appends the time, the source and the destination; of a message that
// came without a packet, the direction.
func (l *Line) appendTimeAndEnds(dst []byte, e *render.Event) []byte {
	lo, w := len(dst), len("request")
	if l.opt.Bare {
		dst = append(dst, e.Direction()...)
	} else {
		dst = l.opt.appendClockTime(dst, e.Nanos, e.Start, l.opt.Date, &e.Hole)
		dst = append(dst, ' ')
		lo, w = len(dst), endsW
		dst = e.Src.AppendTo(dst)
		dst = append(dst, " > "...)
		dst = e.Dst.AppendTo(dst)
	}
	return appendSpaces(dst, w-(len(dst)-lo))
}

// appendFindings appends severities and ids of the findings. They come before anything
// that the sender chooses: no server name can push a finding off the screen.
func (l *Line) appendFindings(dst []byte, m *dissect.Message) []byte {
	for i := range m.Expert {
		if i == maxBriefFindings {
			dst = append(dst, " +"...)
			return strconv.AppendInt(dst, int64(len(m.Expert)-i), 10)
		}
		x := &m.Expert[i]
		s := l.opt.Palette.severity[x.Severity]
		dst = append(append(dst, ' '), s.on...)
		dst = append(append(dst, x.Severity.String()...), ':')
		dst = append(append(dst, x.Code.ID...), s.off...)
	}
	return dst
}

// appendSummary appends the values that the message's type declares as its summary.
func (l *Line) appendSummary(dst []byte, m *dissect.Message) []byte {
	if m.Type == nil {
		return dst
	}
	c := &l.opt.Palette
	for _, d := range m.Type.Summary {
		i := m.Index(d)
		if i < 0 {
			continue
		}
		i = m.Tells(i)
		dst = append(append(dst, ' '), c.name.on...)
		dst = append(append(dst, d.Key()...), '=')
		dst = append(append(dst, c.name.off...), c.value.on...)
		if n := m.Pieces(i); n > 1 {
			dst = appendPieces(dst, &l.opt, m, i, n)
		} else {
			dst = appendBrief(dst, &l.opt, m, &m.Fields[i])
		}
		dst = append(dst, c.value.off...)
	}
	return dst
}

// appendBrief appends a value at bounded length.
func appendBrief(dst []byte, o *Options, m *dissect.Message, f *dissect.Field) []byte {
	d := f.Def
	switch {
	case o.hides(d):
		return append(dst, redacted...)
	case d.Kind == dissect.Text:
		return appendBriefText(dst, m.Bytes(f), f.Flags&dissect.Cut != 0)
	case f.Flags&dissect.Cut != 0:
		return append(dst, "cut"...)
	case d.Kind == dissect.Bytes && d.Flags&dissect.Size != 0:
		return append(strconv.AppendInt(dst, int64(m.Sent(f)), 10), 'B')
	case d.Kind == dissect.Bytes:
		return appendBriefBytes(dst, m.Bytes(f))
	}
	return appendPlain(dst, f)
}

// appendPieces appends the text that the n fields from index i on make together,
// at bounded length. Hidden secrets among them are redacted.
func appendPieces(dst []byte, o *Options, m *dissect.Message, i, n int) []byte {
	if o.ShowSecrets {
		return appendBriefText(dst, m.Joined(i, n), m.Fields[i+n-1].Flags&dissect.Cut != 0)
	}
	lo, cut := len(dst), m.Fields[i+n-1].Flags&dissect.Cut != 0
	for j := i; j < i+n && len(dst)-lo <= maxBriefRaw; j++ {
		if f := &m.Fields[j]; o.hides(f.Def) {
			dst = append(dst, redacted...)
		} else {
			b := m.Bytes(f)
			dst = append(dst, b[:min(len(b), maxBriefRaw+1)]...)
		}
	}
	hi := len(dst)
	dst = appendBriefText(dst, dst[lo:hi], cut)
	return append(dst[:lo], dst[hi:]...)
}

// appendPlain appends a number without its unit, to save room.
func appendPlain(dst []byte, f *dissect.Field) []byte {
	switch f.Def.Kind {
	case dissect.Char:
		return appendChar(dst, f.Num)
	case dissect.Int:
		return strconv.AppendInt(dst, int64(f.Num), 10)
	case dissect.Float:
		return appendFloat(dst, f)
	}
	return strconv.AppendUint(dst, f.Num, 10)
}

// appendBriefText appends the beginning of a text, and … where that is not all of it. cut
// reports whether b itself is not all: the capture ends in it.
func appendBriefText(dst, b []byte, cut bool) []byte {
	if len(b) > maxBriefRaw {
		b, cut = b[:maxBriefRaw], true
	}
	dst = append(dst, '"')
	lo := len(dst)
	dst = display.AppendEscaped(dst, b, '"')
	if n, _ := display.Fit(dst[lo:], maxBriefCells); n < len(dst)-lo {
		dst, cut = dst[:lo+n], true
	}
	dst = append(dst, '"')
	if cut {
		dst = append(dst, "…"...)
	}
	return dst
}

func appendBriefBytes(dst, b []byte) []byte {
	if len(b) <= maxBriefBytes {
		return hex.AppendEncode(dst, b)
	}
	return append(hex.AppendEncode(dst, b[:maxBriefBytes]), "…"...)
}

func appendSplit(dst []byte, s *render.Split) []byte {
	if s == nil {
		return dst
	}
	if s.Total == 0 {
		dst = append(dst, ", impossible split header"...)
	} else {
		dst = appendParts(append(dst, ", "...), s)
	}
	dst = strconv.AppendUint(append(dst, ", id "...), uint64(s.ID), 10)
	if s.Compressed {
		dst = append(dst, ", bzip2"...)
	}
	return dst
}

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

// Comment makes of a message what is written about its packet in a capture file: a line as
// Line has it, without frame, time and ends, which the packet has itself; then a line for
// each finding.
type Comment struct{ line Line }

// NewComment returns a renderer that may be shared. Comments have no colours.
func NewComment(o Options) *Comment {
	o.Palette = Palette{}
	return &Comment{*NewLine(o)}
}

// Append appends the lines about e.
func (c *Comment) Append(dst []byte, e *render.Event) []byte {
	dst = append(strconv.AppendUint(append(dst, "frame "...), e.Frame, 10), ": "...)
	dst = append(append(dst, e.Direction()...), ' ')
	dst = append(c.line.appendMessage(dst, e), '\n')
	for i := range e.Msg.Expert {
		x := &e.Msg.Expert[i]
		dst = append(append(dst, x.Severity.String()...), ' ')
		dst = append(append(dst, x.Code.ID...), ": "...)
		lo := len(dst)
		dst = finding.AppendUnsure(x.AppendText(dst), x)
		raw := len(dst)
		dst = display.AppendEscaped(dst, dst[lo:raw], 0)
		dst = append(dst[:lo+copy(dst[lo:], dst[raw:])], '\n')
	}
	return dst
}

// AppendRecord appends nothing: a finding about no message has no packet of its own.
func (c *Comment) AppendRecord(dst []byte, _ *render.Record) []byte { return dst }

// whatW is the width of the column with protocol and message, which most fit into.
const whatW = 20

// Exchanges writes a dialogue as a line that starts like a message's: frame of the first request,
// time, client and server, then what was asked and what came of it. It may be longer than a
// terminal.
type Exchanges struct {
	render.Headline
	opt Options
}

// NewExchanges returns a renderer that may be shared.
func NewExchanges(h render.Headline, o Options) *Exchanges { return &Exchanges{h, o.withDefaults()} }

// AppendDialogue appends a line.
func (x *Exchanges) AppendDialogue(dst []byte, d *render.Dialogue) []byte {
	if !x.Shows(d) {
		return dst
	}
	c := &x.opt.Palette
	dst = appendSpaces(append(dst, c.dim.on...), frameW-decimals(d.ID))
	dst = strconv.AppendUint(dst, d.ID, 10)
	dst = append(append(dst, c.dim.off...), ' ')
	dst = append(x.opt.appendTime(dst, d.First, x.opt.Date), ' ')
	lo := len(dst)
	if d.Client.IsValid() {
		dst = d.Client.AppendTo(dst)
	}
	dst = append(dst, " > "...)
	if d.Server.IsValid() {
		dst = d.Server.AppendTo(dst)
	}
	dst = append(appendSpaces(dst, lo+endsW-len(dst)), ' ')
	dst = x.appendWhat(dst, d)
	s := c.outcomeStyle(d)
	dst = append(dst, s.on...)
	dst = appendResult(dst, d)
	dst = append(dst, s.off...)
	if d.HasEarlier {
		dst = append(dst, "; began earlier"...)
	}
	if d.IsUnfinished {
		dst = append(dst, "; written before it was over"...)
	}
	lo = len(dst)
	dst = append(dst, "  "...)
	if dst = x.AppendFindings(dst, d, " ", ""); len(dst) == lo+2 {
		dst = dst[:lo]
	}
	return append(dst, '\n')
}

// appendWhat appends protocol and message, padded.
func (x *Exchanges) appendWhat(dst []byte, d *render.Dialogue) []byte {
	c := &x.opt.Palette
	dst = append(dst, c.head.on...)
	lo := len(dst)
	if d.Proto != nil {
		dst = append(dst, d.Proto.Name...)
	}
	if d.IsStream {
		dst = append(dst, " connection"...)
	} else if d.Type != nil {
		dst = append(append(dst, ' '), d.Type.Name...)
	}
	n := len(dst) - lo
	return appendSpaces(append(dst, c.head.off...), max(whatW-n, 0)+gap)
}

const (
	// limit: maxBriefCells is how wide a text gets in Line: server names are limited to
	// 64 characters by most engines. The rest is an ellipsis: a hostile sender
	// has 64 KiB to push everything else off the screen, and Tree shows it all.
	maxBriefCells = 96

	// limit: maxBriefRaw is how many bytes of a text can matter for maxBriefCells: a
	// character of four bytes with all its marks.
	maxBriefRaw = maxBriefCells * 4 * (1 + display.MaxMarks)

	// limit: maxBriefBytes is how many bytes of a binary value Line shows: an address,
	// a challenge, a hash.
	maxBriefBytes = 16

	// limit: maxBriefFindings is how many findings Line names; the rest is a number.
	maxBriefFindings = 4
)
