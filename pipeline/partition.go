package pipeline

import (
	"slices"

	"qsniff/dissect"
	"qsniff/finding"
	"qsniff/netlayer"
	"qsniff/reassembly"
	"qsniff/reassembly/split"
	"qsniff/render"
	"qsniff/track"
	"qsniff/wire"
)

// partition is one sixteenth of the world: the flows and split sets of its
// address pairs, and one message that is used again for every datagram.
type partition struct {
	reg    *dissect.Registry
	render render.Renderer // nil: nobody reads the messages
	flows  *track.Flows
	split  *split.Assembler
	// joiners are of the protocols that cut replies in a way of their own.
	joiners []dissect.Assembler
	tcp     *streams // nil before the first segment: most captures have none
	parked  *parking

	exchanges *track.Exchanges
	sights    *sights // nil: nobody watches
	only      bool    // nobody wants messages in datagrams, only what watchers see

	decodeAs []DecodeAs

	number   uint8
	seg      *segment
	index    int32  // of the item at work
	frame    uint64 // its packet
	nanos    int64  // its time stamp
	start    int64  // time stamp of the first packet
	shift    int64  // from the time that tables age by to time stamps
	ways     []netlayer.Way
	from     *origin
	many     bool    // inputs
	judged   bool    // somebody wants more than the count of messages
	listened bool    // somebody wants what servers say of themselves, too
	talks    bool    // somebody puts messages together to dialogues
	wanted   uint64  // frame of the dialogue that is wanted, 0 for all
	conn     uint64  // first frame of the connection that a record is about, or 0
	size     float64 // of the tables, as a multiple of the usual

	msg    dissect.Message
	ctx    dissect.Context
	ev     render.Event
	info   render.Split
	part   split.Fragment
	piece  dissect.Datagram
	frames []uint64
	origin []render.Piece
	via    []render.Way
	record render.Record
	expert finding.Expert
	detail []byte
	hidden []stretch

	n totals
}

func newPartition(number int, cfg *Config, size float64) *partition {
	p := &partition{
		number: uint8(number),
		reg:    cfg.Registry,
		render: cfg.Renderer,
		flows:  track.NewFlows(int(track.DefaultFlows * size)),
		parked: newParking(),

		exchanges: track.NewExchanges(int(track.DefaultExchanges * size)),

		decodeAs: cfg.DecodeAs,
		judged:   cfg.wantsFacts(),
		listened: cfg.Listener != nil,
		talks:    cfg.Dialogues != nil,
		many:     cfg.Many,
	}
	if p.talks {
		p.render, p.wanted = cfg.Dialogues.Renderer(), cfg.Dialogues.Frame()
	}
	p.split = split.New(split.Limits{Bytes: int(split.DefaultBytes * size)})
	p.split.Deliver = p.deliver
	for _, j := range cfg.Registry.Joiners() {
		p.joiners = append(p.joiners, j.NewAssembler(p.deliverJoined))
	}
	if p.judged {
		p.exchanges.Silent = p.silence
	}
	if len(cfg.Watchers) > 0 {
		p.sights = &sights{reg: cfg.Registry, decodeAs: cfg.DecodeAs}
		p.only = cfg.onlyWatched()
	}
	p.size = size
	return p
}

// do does one item; what it makes of it goes to seg.
func (p *partition) do(index int32, it *item, seg *segment) {
	p.seg, p.index, p.frame, p.nanos = seg, index, it.frame, it.nanos
	if it.kind != abandoned { // its time stamp is older than its age: it waited for the rest
		p.shift = it.nanos - it.age
	}
	p.ways, p.from = it.ways, &it.from
	if p.sights != nil {
		p.watch(it)
		if p.only && it.kind != tcp && it.kind != tick && it.kind != end {
			return
		}
	}
	switch it.kind {
	case tick:
		p.split.Tick(it.age)
		for _, j := range p.joiners {
			j.Tick(it.age)
		}
		if p.tcp != nil {
			p.tcp.asm.Tick(it.age)
		}
		p.exchanges.Tick(it.age)
	case end:
		p.split.Flush(it.age)
		for _, j := range p.joiners {
			j.Flush(it.age)
		}
		if p.tcp != nil {
			p.tcp.asm.Flush(it.age)
		}
		p.exchanges.Tick(it.age)
	case begun:
		p.heard(it)
	case quoted:
		p.quoted(it)
	case gap:
		p.exchanges.Gap(it.age)
		if p.number == 0 { // one has to say it
			p.damaged(it)
		}
	case tcp:
		if p.tcp == nil {
			p.tcp = newStreams(p)
		}
		p.tcp.add(it)
	default:
		p.datagram(it)
	}
}

// totals are the counters so far.
func (p *partition) totals() totals {
	p.n.flowsEvicted, p.n.split = p.flows.Evicted(), p.split.Counters
	p.n.joined = dissect.JoinCounters{}
	for _, j := range p.joiners {
		p.n.joined.Add(j.Counters())
	}
	p.n.exchangesEvicted = p.exchanges.Evicted()
	if p.tcp != nil {
		p.n.tcp = p.tcp.asm.Counters
	}
	return p.n
}

func (p *partition) datagram(it *item) {
	if wire.IsSplit(it.Payload) && len(it.Payload) >= wire.MinSplitLen {
		p.part = split.Fragment{Src: it.Src, Dst: it.Dst, Data: it.Payload, Wire: it.Wire,
			Pieces: it.pieces, Frame: it.frame, Nanos: it.age, Hint: p.flows.Get(it.Src, it.Dst.Addr()).Engine}
		p.split.Add(&p.part)
		p.heard(it)
		return
	}
	if it.kind == datagram && p.fragment(it) {
		return
	}
	s := source{src: it.Src, dst: it.Dst, data: it.Payload, run: len(it.Payload), wire: it.Wire,
		frame: it.frame, nanos: it.nanos, pieces: it.pieces, ipPieces: len(it.pieces),
		fragment: it.kind == abandoned, why: it.why, ways: it.ways, from: &it.from}
	s.frames = p.framesOf(it.pieces)
	if it.kind == datagram && p.sights != nil {
		s.first = p.sights.first
	}
	p.take(&s)
}

// take makes a message of s, or counts why it is none.
func (p *partition) take(s *source) {
	switch p.message(s) {
	case unclaimed:
		p.n.unknown++
	case doubtful:
		p.n.unbelieved++
	}
}

// framesOf lists the frames of pieces, in order, without repeats; nil where one brought all.
func (p *partition) framesOf(pieces []reassembly.Piece) []uint64 {
	if len(pieces) < 2 {
		return nil
	}
	p.frames = p.frames[:0]
	for i := range pieces {
		p.frames = append(p.frames, pieces[i].Frame)
	}
	slices.Sort(p.frames)
	return slices.Compact(p.frames)
}

// message dissects s, remembers what it taught, and reports it, if it is one.
func (p *partition) message(s *source) verdict {
	c := &p.ctx
	*c = dissect.Context{Src: s.src, Dst: s.dst, Wire: s.wire}
	if s.set != nil {
		c.FromSplit = s.set.Engine
	}
	b := s.data[:s.run]
	v := p.pick(c, b, s.first)
	switch {
	case v.Dissector == nil:
		p.foreign(c, b)
		return unclaimed
	case !p.reg.Believe(c, &v):
		if !v.Type.FromServer() && s.set == nil {
			p.parked.keep(s, v.Type.Asks)
		}
		return doubtful
	}
	if v.Type.Reply && p.parked.len() > 0 {
		p.unpark(s, v.Type)
	}
	p.dissect(s, &v)
	return reported
}

// foreign remembers that another game speaks between two addresses, if b shows
// that. What a client asks counts only where nothing of ours was spoken: scanners
// ask the questions of all games.
func (p *partition) foreign(c *dissect.Context, b []byte) {
	reply, ok := p.reg.Foreign(c, b)
	switch {
	case !ok:
	case reply:
		p.flows.Learn(c.Src, c.Dst.Addr(), dissect.FlowFacts{Foreign: true})
	case p.flows.Get(c.Dst, c.Src.Addr()).Proto == 0:
		p.flows.Learn(c.Dst, c.Src.Addr(), dissect.FlowFacts{Foreign: true})
	}
}

// pick asks the registry, and again with what is known of the flow where the
// bytes alone are not enough. first is the answer to the first question, if somebody
// asked it, or nil.
func (p *partition) pick(c *dissect.Context, b []byte, first *look) dissect.Verdict {
	var v dissect.Verdict
	var told bool
	if first != nil {
		v, told = first.verdict, first.told
	} else {
		v, told = lookAt(p.reg, p.decodeAs, c, b)
	}
	switch {
	case told:
		p.recall(c)
		c.ToServer.Foreign, c.FromServer.Foreign = false, false
	case v.Conf < dissect.Likely:
		if p.recall(c) {
			v = p.reg.Pick(c, b)
		}
	case v.Type.FromServer():
		c.FromServer = p.flows.Get(c.Src, c.Dst.Addr())
	default:
		c.ToServer = p.flows.Get(c.Dst, c.Src.Addr())
	}
	return v
}

// recall fills in what is known of both directions, and tells whether that is anything.
func (p *partition) recall(c *dissect.Context) bool {
	c.ToServer = p.flows.Get(c.Dst, c.Src.Addr())
	c.FromServer = p.flows.Get(c.Src, c.Dst.Addr())
	c.Waiting = p.parked.asked(c.Src, c.Dst, p.nanos)
	return c.ToServer != (dissect.FlowFacts{}) || c.FromServer != (dissect.FlowFacts{}) || c.Waiting != 0
}

// dissect makes a message of s as the verdict says.
func (p *partition) dissect(s *source, v *dissect.Verdict) {
	c, m := &p.ctx, &p.msg
	b := s.data[:s.run]
	server, client := s.dst, s.src
	if v.Type.FromServer() {
		server, client = client, server
	}
	c.Said, c.Unread = p.flows.Said(server, client.Addr()), p.render == nil
	m.Reset(v.Dissector.Proto(), b)
	v.Dissector.Dissect(c, v.Type, b, m)
	m.Conf, m.Why = v.Conf, v.Why
	if v.Type.Asks&dissect.AskRcon != 0 && !v.Type.FromServer() {
		m.Overhear(p.flows.Listen(server, client.Addr()))
	}
	m.Learn.Proto = p.reg.FlowProto(v.Dissector)
	if s.set != nil {
		m.Learn.Engine, m.Learn.Proven = s.set.Engine, !inferred(s.set)
	}
	p.flows.Learn(server, client.Addr(), m.Learn)
	s.reply = v.Type.Reply
	p.finish(s)
}

// finish adds what the way of the message shows, and reports it.
func (p *partition) finish(s *source) {
	m := &p.msg
	switch {
	case s.set != nil:
		p.finishSet(s)
	case s.joined != nil:
		p.finishJoined(s)
	case s.reply && (s.wire > maxUnsplit || s.ipPieces > 1):
		m.Expert = append(m.Expert, finding.Expert{Code: split.Oversize, Severity: split.Oversize.Severity,
			Field: -1, A: uint64(s.wire), B: uint64(s.ipPieces)})
	}
	if s.fragment {
		m.Status = dissect.Fragment
	}
	p.emit(s)
}
