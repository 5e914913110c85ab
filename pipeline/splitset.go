package pipeline

import (
	"qsniff/dissect"
	"qsniff/finding"
	"qsniff/reassembly/split"
	"qsniff/wire"
)

// deliver makes a message of a set of split parts.
func (p *partition) deliver(set *split.Set) {
	s := source{src: set.Src, dst: set.Dst, data: set.Data, run: set.Run, wire: set.Wire,
		frame: set.Frames[len(set.Frames)-1], nanos: set.Last + p.shift, set: set}
	if len(set.Frames) > 1 {
		s.frames, s.began = set.Frames, set.First+p.shift
	}
	if !set.Compressed {
		s.pieces = set.Pieces
	}
	switch set.Outcome {
	case split.Complete:
		s.ways, s.from = p.ways, p.from
		switch p.message(&s) {
		case unclaimed:
			p.n.game++
		case doubtful:
			p.n.unbelieved++
		}
	case split.Truncated, split.Incomplete:
		p.partial(&s)
	case split.Refused: // nothing is known to be wrong with it
		p.opaque(&s, dissect.Complete)
	default:
		p.opaque(&s, dissect.Malformed)
	}
}

// partial reports a set of which something is missing, because parts did not come
// or because the capture cut them.
func (p *partition) partial(s *source) {
	status := dissect.Truncated
	if s.set.Outcome == split.Incomplete {
		status, s.fragment = dissect.Fragment, true
	}
	if isGame(s.set) {
		p.n.game++
		return
	}
	if s.run > 0 {
		s.wire = max(s.wire, s.run+1) // the leading run is not the whole
		if p.message(s) == reported {
			return
		}
	}
	p.opaque(s, status)
}

// inferred tells whether the form of a set was chosen by fit.
func inferred(set *split.Set) bool {
	for i := range set.Expert {
		if set.Expert[i].Code == split.FormInferred {
			return true
		}
	}
	return false
}

// isGame tells whether a set that is not compressed starts with something other
// than a message: engines split large packets of the running game alike.
func isGame(set *split.Set) bool {
	return !set.Compressed && set.Run >= 4 && !wire.IsSingle(set.Data)
}

// witnessed tells whether anything but the first four bytes says that a set is
// one of ours: anybody's datagrams may begin like that.
func (p *partition) witnessed(set *split.Set) bool {
	if wire.IsSingle(set.Data[:set.Run]) {
		return true
	}
	if set.Compressed && wire.IsStream(set.Joined[min(set.Prefix, len(set.Joined)):]) {
		return true
	}
	src, dst := set.Src, set.Dst
	if p.reg.ToServer(0, src.Port()) || p.reg.ToServer(0, dst.Port()) || p.parked.asked(src, dst, p.nanos) != 0 {
		return true
	}
	for _, as := range p.decodeAs {
		if as.datagram(src, dst) {
			return true
		}
	}
	a, b := p.flows.Get(src, dst.Addr()), p.flows.Get(dst, src.Addr())
	return a.Asked != 0 || a.Proto != 0 || b.Asked != 0 || b.Proto != 0
}

// opaque reports a set whose message cannot be read: its header, and its bytes.
func (p *partition) opaque(s *source, status dissect.Status) {
	m, set := &p.msg, s.set
	if !p.witnessed(set) {
		p.n.unbelieved++
		return
	}
	m.Reset(p.reg.SplitProto(set.Engine), set.Joined)
	m.Wire = max(m.Wire, set.Wire)
	m.Status = status
	s.data, s.run, s.pieces = set.Joined, len(set.Joined), set.Pieces
	s.reply = !p.reg.ToServer(s.src.Port(), s.dst.Port())
	if set.Prefix > 0 {
		m.Append(&dissect.SplitSize, 0, 4, "")
		m.Fields[0].Num = uint64(set.Declared)
		m.Append(&dissect.SplitCRC, 4, 4, "")
		m.Fields[1].Num = uint64(set.CRC)
	}
	server, client := s.src, s.dst
	if !s.reply {
		server, client = client, server
	}
	p.ctx.Said = p.flows.Said(server, client.Addr())
	p.parts(set, uint32(set.Prefix), "")
	p.finish(s)
}

// finishSet adds the findings of the set, and the parts behind a gap as fields.
func (p *partition) finishSet(s *source) {
	m, set := &p.msg, s.set
	if s.fragment { // how long the whole is, nobody knows
		m.Wire = len(s.data)
	}
	m.Expert = append(m.Expert, set.Expert...)
	if !s.reply {
		number := uint8(0)
		if len(set.Parts) > 0 {
			number = set.Parts[0].Number
		}
		m.Expert = append(m.Expert, finding.Expert{Code: split.ToServer, Severity: split.ToServer.Severity,
			Field: -1, A: uint64(number), B: uint64(set.Total)})
	}
	if s.run == len(s.data) {
		return
	}
	m.Data = s.data
	m.Wire = max(m.Wire, len(s.data))
	p.parts(set, uint32(s.run), "behind the gap")
}
