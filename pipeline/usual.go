package pipeline

import (
	"qsniff/dissect"
	"qsniff/finding"
	"qsniff/track"
	"qsniff/wire"
)

// A flood is made of requests of the usual forms: a whole datagram each, whose type and challenge
// its bytes show. Where nobody reads more of messages, such a request takes a short way: it teaches
// its flow and finds its exchange as others do, but no message is made of it, and the fold gets a
// brief in place of a span.

// brief is a request of a usual form, in the order of items. The fold takes the rest from the item.
type brief struct {
	index            int32 // of the item in its batch
	step             track.Step
	broughtChallenge bool
	proto            *dissect.Proto
	typ              *dissect.Type
	key, id          uint64 // as in track.Fact
}

// rate decides whether the payload b that l is about is a request of a usual form.
func (l *look) rate(reg *dissect.Registry, c *dissect.Context, b []byte) {
	v := &l.verdict
	if v.Conf < dissect.Likely || v.Type.FromServer() || v.Type.Asks == 0 || v.Type.Asks&dissect.AskRcon != 0 || wire.IsSplit(b) {
		return
	}
	if k, ok := v.Dissector.(dissect.Keyer); ok {
		l.key, l.isUsual = k.Key(c, v.Type, b)
		l.proto = reg.FlowProto(v.Dissector)
	}
}

// fact returns the fact about the request in it.
func (x *brief) fact(it *item) track.Fact {
	bytes := uint32(it.Wire)
	return track.Fact{Frame: it.frame, Nanos: it.nanos, Age: it.age, Server: it.Dst, Client: it.Src, Proto: x.proto, Type: x.typ,
		Part: track.Part{Step: x.step, ID: x.id, Took: -1, Trip: -1, BroughtChallenge: x.broughtChallenge},
		Key:  x.key, Bytes: bytes, Wire: bytes + udpHeaders + ipHeaderBytes(it.Src), Packets: 1}
}

// processUsual passes on a datagram if it is a request of a usual form. If it reports false the
// datagram is for join, with what it found out about it.
func (p *partition) processUsual(it *item, first *look) (*look, bool) {
	l := first
	if l == nil {
		l = p.identifier.lookOnce(it)
	}
	if !l.isUsual || len(it.pieces) > 0 || p.joiner.mayTake(it.Payload) || !p.parser.flows.LearnRequest(it.Dst, it.Src.Addr(), l.verdict.Type.Asks, l.proto) {
		return l, false
	}
	p.tracker.trackRequest(it, l)
	return nil, true
}

// trackRequest is trackMessage for a request of a usual form.
func (t *tracker) trackRequest(it *item, l *look) {
	v := &l.verdict
	x := brief{index: t.now.index, proto: v.Dissector.Proto(), typ: v.Type, key: l.key}
	if t.isOn {
		m := &t.request
		*m = track.Message{Src: it.Src, Dst: it.Dst, Proto: x.proto, Type: x.typ, Key: x.key,
			Frame: it.frame, Nanos: it.nanos, Age: it.age, Expert: m.Expert[:0]}
		part := t.exchanges.Place(m)
		x.step, x.id, x.broughtChallenge = part.Step, part.ID, part.BroughtChallenge
	}
	t.emitter.emitRequest(it, &x, t.request.Expert)
}

// emitRequest is emitMessage for a request of a usual form.
func (e *emitter) emitRequest(it *item, x *brief, expert []finding.Expert) {
	seg := e.now.seg
	switch {
	case e.isCounting:
		seg.count(typeKey{x.proto, x.typ})
	case len(expert) == 0:
		seg.briefs = append(seg.briefs, *x)
	default:
		s := e.now.newSpan(it.frame, it.nanos)
		s.isMessage, s.fact = true, x.fact(it)
		e.addFound(&s, expert)
		seg.spans = append(seg.spans, s)
	}
}
