package pipeline

import (
	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
	"qsniff/internal/track"
)

// reportQuoted reports an ICMP error, it, that quotes a message of type t: that message
// did not arrive.
func reportQuoted(e *emitter, it *item, t *dissect.Type) {
	r := e.newNote(&track.Refused, uint64(it.icmp.kind), uint64(it.icmp.code))
	r.Server, r.Client = it.Dst, it.Src
	if t.Reply { // the client had gone, or never asked
		r.Server, r.Client = r.Client, r.Server
		r.Expert.Severity = finding.Note
	}
	d := append(r.Detail, it.icmp.reason.String()...)
	d = append(d, " from "...)
	d = it.icmp.from.AppendTo(d)
	d = append(append(d, ", about "...), t.Name...)
	d = it.Src.AppendTo(append(d, ' '))
	r.Detail = it.Dst.AppendTo(append(d, " > "...))
	e.emitNote(it.frame, 0)
}

// reportDamage reports a gap: a stretch of the capture that could not be read.
func reportDamage(e *emitter, it *item) {
	g := it.damage
	r := e.newNote(&track.CaptureDamaged, uint64(g.Skipped), uint64(g.Offset))
	d := append(append(r.Detail, g.File...), ": byte "...)
	d = append(append(d, digits.Grouped(g.Offset)...), ": "...)
	r.Detail = append(d, g.Reason...)
	e.emitNote(it.frame, 0)
}
