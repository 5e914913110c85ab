package pipeline

import (
	"qsniff/dissect"
	"qsniff/internal/eyehdr"
	"qsniff/reassembly/eye"
)

// eyeFragments says what a reply of the All-Seeing Eye protocol was joined from.
const eyeFragments = "EYE fragments"

// eyeLost says what became of the rest of a reply that was given up.
var eyeLost = [...]string{
	eye.Complete: "",
	eye.Alone:    "",
	eye.Expired:  "EYE fragments did not come in time",
	eye.Evicted:  "EYE fragments given up to stay within memory",
	eye.Ended:    "the capture ended before all EYE fragments came",
	eye.Replaced: "the id of the EYE fragments came again before all were there",
}

// eyeFragment tells whether a datagram is a fragment of an All-Seeing Eye reply,
// and keeps it then. The short replies that look like fragments are told by what
// the client asked.
func (p *partition) eyeFragment(it *item) bool {
	if eyehdr.Number(it.Payload) == 0 {
		return false
	}
	const short = dissect.AskBrowse | dissect.AskPresence
	asked := p.flows.Get(it.Src, it.Dst.Addr()).Asked | p.parked.asked(it.Src, it.Dst, p.nanos)
	p.piece = eye.Fragment{Src: it.Src, Dst: it.Dst, Data: it.Payload, Wire: it.Wire, Frame: it.frame,
		Pieces: it.pieces, Nanos: it.age, Short: asked&short != 0 && asked&dissect.AskStatus == 0}
	if !p.eye.Add(&p.piece) {
		return false
	}
	if p.parked.len() > 0 {
		p.unparkFor(it)
	}
	p.heard(it)
	return true
}

// unparkFor reports the request that a fragment answers at once: others may come
// before the set is whole or given up.
func (p *partition) unparkFor(it *item) {
	c := &p.ctx
	*c = dissect.Context{Src: it.Src, Dst: it.Dst, Wire: it.Wire}
	v := p.pick(c, it.Payload, nil)
	if v.Dissector != nil && p.reg.Believe(c, &v) && v.Type.Reply {
		p.unpark(&source{src: it.Src, dst: it.Dst, nanos: it.nanos}, v.Type)
	}
}

// deliverEye makes a message of a set of fragments.
func (p *partition) deliverEye(set *eye.Set) {
	s := source{src: set.Src, dst: set.Dst, data: set.Data, run: set.Run, wire: set.Run,
		frame: set.Frames[len(set.Frames)-1], nanos: set.Last + p.shift, eye: set, pieces: set.Parts, why: eyeLost[set.Outcome], cut: eyeFragments}
	if len(set.Frames) > 1 {
		s.frames, s.began = set.Frames, set.First+p.shift
	}
	if s.why != "" {
		s.fragment = true
		s.wire++ // the leading run is not the whole
	}
	p.take(&s)
}

// finishEye adds the fragments behind a gap as fields.
func (p *partition) finishEye(s *source) {
	m := &p.msg
	if s.fragment { // how long the whole is, nobody knows
		m.Wire = len(s.data)
	}
	if s.run == len(s.data) {
		return
	}
	m.Data = s.data
	for _, part := range s.eye.Parts {
		if int(part.Off) >= s.run {
			m.Append(&dissect.Part, part.Off, part.Len, "behind the gap")
		}
	}
}
