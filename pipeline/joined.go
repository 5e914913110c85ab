package pipeline

import "qsniff/dissect"

// fragment asks the protocols that cut replies in a way of their own whether a
// datagram is a fragment, which they keep then.
func (p *partition) fragment(it *item) bool {
	for _, j := range p.joiners {
		if !j.MayTake(it.Payload) {
			continue
		}
		c := &p.ctx
		*c = dissect.Context{Src: it.Src, Dst: it.Dst, Wire: it.Wire,
			FromServer: p.flows.Get(it.Src, it.Dst.Addr()), Waiting: p.parked.asked(it.Src, it.Dst, p.nanos)}
		p.piece = dissect.Datagram{Data: it.Payload, Frame: it.frame, Pieces: it.pieces, Nanos: it.age}
		if !j.Take(c, &p.piece) {
			continue
		}
		if p.parked.len() > 0 {
			p.unparkFor(it)
		}
		p.heard(it)
		return true
	}
	return false
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

// deliverJoined makes a message of a set of fragments.
func (p *partition) deliverJoined(set *dissect.Joined) {
	s := source{src: set.Src, dst: set.Dst, data: set.Data, run: set.Run, wire: set.Run,
		frame: set.Frames[len(set.Frames)-1], nanos: set.Last + p.shift, joined: set, pieces: set.Parts, why: set.Lost, cut: set.Cut}
	if len(set.Frames) > 1 {
		s.frames, s.began = set.Frames, set.First+p.shift
	}
	if s.why != "" {
		s.fragment = true
		s.wire++ // the leading run is not the whole
	}
	p.take(&s)
}

// finishJoined adds the fragments behind a gap as fields.
func (p *partition) finishJoined(s *source) {
	m := &p.msg
	if s.fragment { // how long the whole is, nobody knows
		m.Wire = len(s.data)
	}
	if s.run == len(s.data) {
		return
	}
	m.Data = s.data
	for _, part := range s.joined.Parts {
		if int(part.Off) >= s.run {
			m.Append(&dissect.Part, part.Off, part.Len, "behind the gap")
		}
	}
}
