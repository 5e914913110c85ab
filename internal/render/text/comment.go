package text

import (
	"strconv"

	"qsniff/dissect/finding"
	"qsniff/internal/base/display"
	"qsniff/internal/render"
)

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
