package pipeline

import (
	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/track"
	"qsniff/reassembly/wire"
)

// A flood is made of requests of the usual forms: a whole datagram each, whose type and challenge
// its bytes show. Where nobody reads more of messages, such a request takes a short way: it teaches
// its flow and finds its exchange as others do, but no message is made of it, and the fold gets a
// brief in place of a span.

// brevity decides of which messages in datagrams nobody reads more than their types and challenges.
type brevity struct {
	hasShortWay bool            // such requests of usual forms take the short way
	isPossible  bool            // nobody reads more of messages that are not chosen
	program     *filter.Program // what chooses them; nil: nobody reads more of any
}

func newBrevity(cfg *Config) *brevity {
	b := &brevity{isPossible: cfg.Renderer == nil && cfg.Dialogues == nil && cfg.Packets == nil}
	if f := cfg.Filter; f != nil {
		b.isPossible, b.program = cfg.Dialogues == nil && cfg.Packets == nil, f.Program
	}
	b.hasShortWay = b.isPossible && len(cfg.DecodeAs) == 0 && !cfg.Filter.holds() // time passes for what is held with each message
	return b
}

// isEnough reports whether nobody reads more of a message whose Key is found.
func (b *brevity) isEnough(p *dissect.Proto, t *dissect.Type) bool {
	return b.isPossible && (b.program == nil || !b.program.CanMatchUsual(p, t))
}

// brief is a request of a usual form, in the order of items. The fold takes the rest from the item.
type brief struct {
	index            int32 // of the item in its batch
	step             track.Step
	broughtChallenge bool
	proto            *dissect.Proto
	typ              *dissect.Type
	key, id          uint64 // as in track.Fact
	again            track.Repeat
}

// rate decides whether the payload b that l is about is a request of a usual form.
func (l *look) rate(reg *dissect.Registry, c *dissect.Context, b []byte) {
	v := &l.verdict
	if v.Conf < dissect.Likely || v.Type.FromServer() || v.Type.Asks == 0 || v.Type.Asks&dissect.AskRcon != 0 {
		return
	}
	if k, ok := v.Dissector.(dissect.Keyer); ok {
		l.key, l.form, l.isUsual = k.Key(c, v.Type, b)
		l.proto = reg.FlowProto(v.Dissector)
	}
}

// fill makes f the fact about the request in it; f is zero or the fact of another brief. Each member
// is written in place: a processor that copies what it has just written in pieces waits for that.
func (x *brief) fill(f *track.Fact, it *item) {
	f.Frame, f.Nanos, f.Age, f.Server, f.Client, f.Proto, f.Type = it.frame, it.nanos, it.age, it.Dst, it.Src, x.proto, x.typ
	f.Step, f.ID, f.Took, f.Trip, f.BroughtChallenge, f.Key = x.step, x.id, -1, -1, x.broughtChallenge, x.key
	f.Gap, f.IsThird = x.again.Gap, x.again.IsThird
	f.Bytes, f.Packets, f.Weight = uint32(it.Wire), 1, it.weight
	f.Wire = f.Bytes + udpHeaders + ipHeaderBytes(it.Src)
}

// processUsual passes on a datagram if it is a request of a usual form. If it reports false the
// datagram is for join, with what it found out about it.
func (p *partition) processUsual(it *item, first *look) (*look, bool) {
	if len(it.pieces) > 0 || it.Misfit || wire.IsSplit(it.Payload) || p.joiner.mayTake(it.Payload) {
		return first, false
	}
	l := first
	if l == nil {
		l = p.identifier.lookOnce(it)
	}
	if !l.isUsual || !p.brevity.isEnough(l.verdict.Dissector.Proto(), l.verdict.Type) {
		return l, false
	}
	if p.identifier.takeEcho(it) {
		return nil, true
	}
	if !p.learn(it, l) {
		return l, false
	}
	p.tracker.trackRequest(it, l)
	return nil, true
}

// search is a search for the flow of the item with an index in its batch.
type search struct {
	track.Search
	index int32 // -1: it was not prepared
}

// prepare prepares for an item, if it may be a request of a usual form: most of a flood are as long
// as the last one.
func (p *partition) prepare(index int32, it *item, s *search) {
	if s.index = -1; it.kind == kindDatagram && len(it.Payload) == p.identifier.last.n {
		s.index = index
		p.parser.flows.Prepare(&s.Search, it.Dst, it.Src)
	}
}

// learn adds what the request in it shows of its flow. It reports false if that is another game's.
func (p *partition) learn(it *item, l *look) bool {
	s := &p.search.Search
	if p.search.index != p.now.index {
		p.parser.flows.Prepare(s, it.Dst, it.Src)
	}
	return p.parser.flows.LearnRequest(s, l.verdict.Type.Asks, l.proto)
}

// trackRequest is trackMessage for a request of a usual form.
func (t *tracker) trackRequest(it *item, l *look) {
	seg := t.now.seg
	if t.emitter.isCounting {
		seg.counts.add(typeKey{l.verdict.Dissector.Proto(), l.verdict.Type}, 1)
		return
	}
	x := &t.brief
	if t.emitter.wantsAll {
		x = seg.newBrief()
	} else {
		t.now.n.unmatched++
	}
	x.index, x.proto, x.typ, x.key = t.now.index, l.verdict.Dissector.Proto(), l.verdict.Type, l.key
	x.step, x.id, x.broughtChallenge, x.again = track.NoStep, 0, false, track.Repeat{}
	if !t.isOn {
		return
	}
	m := &t.request
	m.Src, m.Dst, m.Proto, m.Type, m.Key, m.Form = it.Src, it.Dst, x.proto, x.typ, x.key, l.form
	m.Bytes, m.TTL, m.IPID = uint32(it.Wire), it.TTL, it.IPID
	m.Frame, m.Nanos, m.Age, m.Expert = it.frame, it.nanos, it.age, m.Expert[:0]
	x.step, x.id, x.broughtChallenge, x.again = t.exchanges.PlaceRequest(m)
	if len(m.Expert) > 0 && t.emitter.chooser == nil {
		seg.briefs = seg.briefs[:len(seg.briefs)-1]
		t.emitter.emitFound(it, x, m.Expert)
	}
}

// emitFound writes a request of a usual form that has findings as a span.
func (e *emitter) emitFound(it *item, x *brief, expert []finding.Expert) {
	s := e.now.addSpan(it.frame, it.nanos)
	s.isMessage = true
	x.fill(&s.fact, it)
	e.addFound(s, expert, nil)
}
