package pipeline

import (
	"qsniff/dissect"
	"qsniff/finding"
	"qsniff/internal/digits"
	"qsniff/render"
	"qsniff/track"
)

// quoted reports an ICMP error that quotes a message: the query that it is about
// did not arrive. What is quoted of other traffic is nobody's.
func (p *partition) quoted(it *item) {
	c := &p.ctx
	*c = dissect.Context{Src: it.Src, Dst: it.Dst, Wire: it.Wire}
	v := p.pick(c, it.Payload, nil)
	if v.Dissector == nil || !p.reg.Believe(c, &v) {
		p.n.icmp++
		return
	}
	x := &p.expert
	*x = finding.Expert{Code: &track.Refused, Severity: track.Refused.Severity, Field: -1,
		A: uint64(it.icmp.kind), B: uint64(it.icmp.code)}
	server, client := it.Dst, it.Src
	if v.Type.Reply { // the client had gone, or never asked
		server, client = client, server
		x.Severity = finding.Note
	}
	d := append(p.detail[:0], it.icmp.reason.String()...)
	d = append(d, " from "...)
	d = it.icmp.from.AppendTo(d)
	d = append(append(d, ", about "...), v.Type.Name...)
	d = it.Src.AppendTo(append(d, ' '))
	p.detail = it.Dst.AppendTo(append(d, " > "...))
	p.frames = append(p.frames[:0], it.frame)
	p.record = render.Record{Nanos: it.nanos, Expert: x, Frames: p.frames, Server: server, Client: client, Detail: p.detail}
	p.emitRecord(it.frame)
}

// damaged reports a stretch of the capture that could not be read.
func (p *partition) damaged(it *item) {
	g := it.damage
	p.expert = finding.Expert{Code: &track.CaptureDamaged, Severity: track.CaptureDamaged.Severity, Field: -1,
		A: uint64(g.Skipped), B: uint64(g.Offset)}
	p.detail = append(append(p.detail[:0], g.File...), ": byte "...)
	p.detail = append(append(p.detail, digits.Grouped(g.Offset)...), ": "...)
	p.detail = append(p.detail, g.Reason...)
	p.frames = append(p.frames[:0], it.frame)
	p.record = render.Record{Nanos: it.nanos, Expert: &p.expert, Frames: p.frames, Detail: p.detail}
	p.emitRecord(it.frame)
}

// emitRecord renders the record at hand.
func (p *partition) emitRecord(frame uint64) {
	seg, r := p.seg, &p.record
	start := len(seg.buf)
	r.Start = p.start
	if p.render != nil {
		seg.buf = p.render.AppendRecord(seg.buf, r)
	}
	x := span{index: p.index, part: p.number, key: frame, start: start, end: len(seg.buf),
		nanos: r.Nanos, hole: holeAt(&r.Hole, start), width: int32(r.Hole.Width), post: -1,
		fact:  track.Fact{Server: r.Server, Client: r.Client, Age: r.Nanos - p.shift},
		found: [2]int32{int32(len(seg.found)), int32(len(seg.found) + 1)}}
	if p.talks {
		p.turn(&x, p.aside(r))
	}
	seg.spans = append(seg.spans, x)
	seg.found = append(seg.found, track.Found{Code: r.Expert.Code, Severity: r.Expert.Severity})
}
