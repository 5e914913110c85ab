package pipeline

import (
	"net/netip"

	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/track"
	"qsniff/reassembly/split"
	"qsniff/reassembly/wire"
)

// identifier finds the protocol and the type of a payload: by its bytes, then by what is
// known of its flow. A request for which both are too weak is parked until its reply
// comes. Messages go to the parser.
type identifier struct {
	now      *current
	reg      *dissect.Registry
	decodeAs []DecodeAs
	flows    *track.Flows
	parked   *parking
	parser   *parser
	ctx      dissect.Context // of the payload at work
	waited   dissect.Context // of a parked request
	last     *lastLook
	echoes   *echoes
	own      look // by look and lookOnce
}

// identify passes s on if it is a message, and returns what became of it. A doubtful
// request is parked.
func (d *identifier) identify(s *payload) outcome {
	c := &d.ctx
	*c = dissect.Context{}
	c.Src, c.Dst, c.Wire = s.src, s.dst, s.wire
	if s.set != nil {
		c.FromSplit = s.set.Engine
		c.IsCorrupt = s.isMismatched() && !s.set.IsSound
		c.Disputed = s.set.Disputed || c.IsCorrupt
	}
	b := s.data[:s.run]
	l := d.look(c, b, s.first)
	v := d.pick(c, b, l)
	switch {
	case v.Dissector == nil:
		if !s.isMismatched() {
			d.noteForeign(c, b)
		}
		return unclaimed
	case !v.Type.FromServer() && s.set == nil && d.now.item.kind == kindDatagram && d.takeEcho(d.now.item):
		return sentBack
	case !d.reg.Believe(c, &v):
		if !v.Type.FromServer() && s.set == nil {
			d.parked.keepRequest(s, v.Type.Asks, &l.verdict)
			if p := v.Dissector.Proto(); p.QueryOffset != 0 && v.Type.MatchesAnywhere(b, s.wire) {
				d.parser.tracker.emitter.emitDoubtful(s, p, v.Type)
			}
		}
		return doubtful
	}
	if v.Type.Reply {
		d.echoes.close(d.now.item)
		d.releaseRequest(s.src, s.dst, s.nanos, v.Type)
	}
	d.parser.parseMessage(s, c, &v)
	return reported
}

// identifyOrCount passes s on if it is a message, and counts it if not.
func (d *identifier) identifyOrCount(s *payload) {
	switch d.identify(s) {
	case unclaimed:
		if u := packet.UnreadOverUDP(s.src.Port(), s.dst.Port(), s.data); u != packet.UnreadUnknown {
			d.now.n.unread[u]++
		} else {
			d.now.n.unknown++
		}
	case doubtful:
		d.now.n.unbelieved++
	}
}

// typeOf returns the type of the message in a datagram, or nil if it is none. first is
// what sightMaker found out about it, or nil.
func (d *identifier) typeOf(it *item, first *look) *dissect.Type {
	c := &d.ctx
	*c = dissect.Context{Src: it.Src, Dst: it.Dst, Wire: it.Wire}
	l := d.look(c, it.Payload, first)
	v := d.pick(c, it.Payload, l)
	if v.Dissector == nil || !d.reg.Believe(c, &v) {
		return nil
	}
	return v.Type
}

// look returns first or, if that is nil, the verdict on the bytes of b alone, which is valid until
// the next ones are looked at.
func (d *identifier) look(c *dissect.Context, b []byte, first *look) *look {
	switch {
	case first != nil:
		return first
	case len(d.decodeAs) == 0 && c.FromSplit == wire.None && d.last.matches(b, c.Wire, c.Src):
		return &d.last.look
	}
	d.own.lookAt(d.reg, d.decodeAs, c, b)
	if len(d.decodeAs) == 0 {
		d.last.store(c, b, &d.own)
	}
	return &d.own
}

// lookOnce returns the verdict on the bytes of a whole datagram alone. It is valid until the next
// one is looked at.
func (d *identifier) lookOnce(it *item) *look {
	if !d.last.matches(it.Payload, it.Wire, it.Src) {
		d.ctx = dissect.Context{Src: it.Src, Dst: it.Dst, Wire: it.Wire}
		d.own.lookAt(d.reg, d.decodeAs, &d.ctx, it.Payload)
		d.last.store(&d.ctx, it.Payload, &d.own)
		return &d.own
	}
	return &d.last.look
}

// pick returns the verdict on b, of which l is the verdict on its bytes alone. If that is
// weak, the registry is asked again, with what is known of the flow.
func (d *identifier) pick(c *dissect.Context, b []byte, l *look) dissect.Verdict {
	v := l.verdict
	isEnough := v.Conf >= dissect.Likely && !l.isForced
	if !isEnough || !v.Type.FromServer() {
		d.flows.RecallReceiver(c)
	}
	if !isEnough || v.Type.FromServer() {
		d.flows.RecallSender(c)
	}
	switch {
	case isEnough:
		return v
	case l.isForced:
		c.ToServer.Foreign, c.FromServer.Foreign = false, false
	}
	c.Waiting = d.parked.asked(c.Src, c.Dst, d.now.item.nanos)
	isNew := c.ToServer == (dissect.FlowFacts{}) && c.FromServer == (dissect.FlowFacts{}) && c.Waiting == 0
	if l.isForced || isNew {
		return v
	}
	return d.reg.Pick(c, b)
}

// recallServer fills in what is known of the sender as a server, and what the receiver
// asked it.
func (d *identifier) recallServer(c *dissect.Context) {
	d.flows.RecallSender(c)
	c.Waiting = d.parked.asked(c.Src, c.Dst, d.now.item.nanos)
}

// noteForeign records that the flow in c belongs to a game of no known protocol, if b
// shows that, and passes on that a server speaks a protocol that is known by its name. What a
// client asks counts only if no message was identified in the flow: scanners send the queries of
// all games.
func (d *identifier) noteForeign(c *dissect.Context, b []byte) {
	if t := d.reg.ForeignReply(c, b); t != nil {
		d.parser.tracker.emitter.emitForeign(t, c.Src, c.Dst, false)
	}
	reply, ok := d.reg.Foreign(c, b)
	switch {
	case !ok:
	case reply:
		d.flows.Learn(c.Src, c.Dst.Addr(), dissect.FlowFacts{Foreign: true})
	case c.ToServer.Proto == 0:
		d.flows.Learn(c.Dst, c.Src.Addr(), dissect.FlowFacts{Foreign: true})
	}
}

// releaseRequest passes on the parked request that a reply of type t, from src to dst at
// nanos, answers, and drops any that is parked for a reply between these ends.
func (d *identifier) releaseRequest(src, dst netip.AddrPort, nanos int64, t *dissect.Type) {
	w := d.parked.findRequest(src, dst)
	if w == nil {
		return
	}
	if v := w.verdict; w.isFresh(nanos) && v.Dissector != nil && !v.Type.Reply && v.Type.Asks&t.Asks != 0 {
		v.Conf, v.Why = dissect.Likely, "its reply came"
		d.now.n.unbelieved-- // it was counted when it came
		s := payload{src: dst, dst: src, data: w.bytes(), run: w.n, wire: w.wire, frame: w.frame, nanos: w.nanos}
		d.waited = dissect.Context{Src: s.src, Dst: s.dst, Wire: s.wire}
		d.parser.parseMessage(&s, &d.waited, &v)
	}
	d.parked.dropRequest(src, dst)
}

// identifyFragment passes on the parked request that a fragment of a reply answers. It
// does not wait for the whole reply: another request may take the place of the parked one
// before.
func (d *identifier) identifyFragment(it *item, first *look) {
	if d.parked.isEmpty() {
		return
	}
	if t := d.typeOf(it, first); t != nil && t.Reply {
		d.releaseRequest(it.Src, it.Dst, it.nanos, t)
	}
}

// identifyUnread passes on a split set, of which s was made, whose message cannot be
// read, if anything but its first four bytes shows that it belongs to a known protocol:
// other datagrams may begin with these, too.
func (d *identifier) identifyUnread(s *payload, status dissect.Status) {
	if !d.isWitnessed(s.set) {
		d.now.n.unbelieved++
		return
	}
	d.parser.parseUnread(s, status)
}

// isWitnessed reports whether the start of the message, a port or the flow shows that a
// split set belongs to a known protocol.
func (d *identifier) isWitnessed(set *split.Set) bool {
	if wire.IsSingle(set.Data[:set.Run]) {
		return true
	}
	if set.Compressed && wire.IsBzip2(set.Joined[min(set.Prefix, len(set.Joined)):]) {
		return true
	}
	src, dst := set.Src, set.Dst
	if d.reg.ToServer(0, src.Port()) || d.reg.ToServer(0, dst.Port()) || d.parked.asked(src, dst, d.now.item.nanos) != 0 {
		return true
	}
	for i := range d.decodeAs {
		if d.decodeAs[i].isFor(src, dst) {
			return true
		}
	}
	a, b := d.flows.Get(src, dst.Addr()), d.flows.Get(dst, src.Addr())
	return a.Asked != 0 || a.Proto != 0 || b.Asked != 0 || b.Proto != 0
}
