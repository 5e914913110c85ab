package text

import (
	"strconv"

	"qsniff/internal/digits"
	"qsniff/render"
)

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
