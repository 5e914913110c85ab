package text

import (
	"strconv"

	"qsniff/internal/render"
)

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
