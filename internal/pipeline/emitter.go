package pipeline

import (
	"net/netip"
	"slices"

	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/track"
	"qsniff/reassembly"
	"qsniff/reassembly/split"
)

// emitter is the last stage of a partition: it writes messages, notes, silences and the
// ends of connections to the segment, as text and as facts.
type emitter struct {
	now         *current
	renderer    render.Renderer // nil: messages are not shown
	picker      PacketSink      // nil: packets are not wanted
	chooser     *chooser        // nil: all is chosen
	showsAll    bool            // what is not chosen is rendered too
	wantsFacts  bool            // see Config.wantsPairs
	wantsAll    bool            // see Config.wantsAll
	hasSilences bool            // the fold is told which answers did not come
	wantsClues  bool            // see Config.wantsHosts
	hasListener bool            // what servers report of themselves is wanted
	isCounting  bool            // nobody wants more of messages than their number
	event       eventMaker
	turns       turnMaker
	expert      finding.Expert // of note
	note        render.Record
}

func newEmitter(now *current, cfg *Config) *emitter {
	e := &emitter{now: now, renderer: cfg.Renderer, picker: cfg.Packets, chooser: newChooser(cfg.Filter), wantsFacts: cfg.wantsPairs(), wantsAll: cfg.wantsAll(), wantsClues: cfg.wantsHosts(), hasSilences: cfg.wantsAll() || cfg.Listener != nil, hasListener: cfg.Listener != nil}
	e.isCounting = !cfg.wantsResults() && cfg.Filter == nil && cfg.MaxMessages <= 0
	e.event.hasManyInputs, e.event.wantsOrigin = cfg.HasManyInputs, cfg.Packets != nil
	if d := cfg.Dialogues; d != nil {
		e.showsAll = true // of a dialogue that is written
		e.renderer, e.turns = d.Renderer(), turnMaker{isWanted: true, frame: d.Frame()}
	}
	if r, ok := e.renderer.(render.Copier); ok {
		e.renderer = r.Copy()
	}
	return e
}

// emitMessage writes m, which was made of s; part is its part in an exchange. If the filter
// does not choose it and nobody else wants it, it is counted only.
func (e *emitter) emitMessage(s *payload, m *dissect.Message, part *track.Part) {
	if !e.wantsAll && !e.chooser.matcher.MayMatch(m) {
		e.countUnmatched(s)
		return
	}
	if e.isCounting {
		if s.record == "" {
			e.now.seg.counts.add(typeKey{m.Proto, m.Type}, 1)
		}
		return
	}
	x := e.now.addSpan(s.firstFrame(), s.nanos)
	if e.renderer != nil || e.picker != nil || e.chooser != nil {
		seg := e.now.seg
		ev := e.event.makeEvent(s, m, part, e.now)
		x.truth = e.chooser.choose(ev)
		if !e.wantsAll && x.truth == filter.None {
			seg.dropSpan()
			e.countUnmatched(s)
			return
		}
		if e.renderer != nil && e.shows(x.truth) {
			seg.buf = e.renderer.Append(seg.buf, ev)
			x.end = len(seg.buf)
			x.noteHole(&ev.Hole)
		}
		if e.picker != nil {
			e.pick(x, ev)
		}
	}
	x.fact.ID, x.fact.Age = part.ID, s.nanos-e.now.shift
	x.isMessage = s.record == ""
	if x.isMessage {
		x.fact.Part = *part
		if !s.isReply {
			x.fact.Signs = 0 // of a request they are only shown: the short way has none
		}
		e.fillFact(s, m, x)
	}
	e.turns.addMessage(e.now.seg, x, s, e.event.event.Quote)
}

func (e *emitter) countUnmatched(s *payload) {
	if s.record == "" {
		e.now.n.unmatched++
	}
}

// shows reports whether what the filter gives t for is rendered.
func (e *emitter) shows(t filter.Truth) bool { return t != filter.None || e.showsAll }

// fillFact fills in the fact about m in its span, with its findings and what the server
// reports of itself.
func (e *emitter) fillFact(s *payload, m *dissect.Message, x *span) {
	server, client := s.dst, s.src
	if s.isReply || m.Type != nil && m.Type.Notice {
		server, client = client, server
	}
	f, seg := &x.fact, e.now.seg
	f.Frame, f.Nanos, f.Age, f.Server, f.Client = s.frame, s.nanos, s.nanos-e.now.shift, server, client
	f.Key, f.Secret, f.Refused, f.Page = m.Key, m.Secret, m.Refused, m.Page
	f.Proto, f.Type, f.Status, f.Reply, f.TCP, f.Bytes = m.Proto, m.Type, m.Status, s.isReply, s.isTCP, uint32(m.Wire)
	if !e.wantsFacts {
		return
	}
	f.Packets, f.Weight = uint32(max(len(s.frames), 1)), e.now.item.weight
	f.Wire = f.Bytes + f.Packets*headerBytes(s)
	if s.isReply && m.Type != nil && m.Type.Asks.Has(dissect.Describing) && !s.isMismatched() {
		f.GamePort = gamePortOf(m)
	}
	f.Train = s.train()
	e.addFound(x, m.Expert, m)
	if e.wantsClues && s.isReply && !s.isTCP {
		e.addSaid(s, m, x)
	}
	if !s.isReply || !e.hasListener || s.isMismatched() {
		return
	}
	if post, ok := postOf(m); ok {
		x.post = int32(len(seg.posts))
		seg.posts = append(seg.posts, post)
	}
}

// addFound adds the findings of m to its span. m may be nil where none is about its text.
func (e *emitter) addFound(x *span, expert []finding.Expert, m *dissect.Message) {
	seg := e.now.seg
	x.found[0] = int32(len(seg.found))
	for i := range expert {
		found := track.Found{Expert: expert[i]}
		if found.Code == &track.RefusedInWords || found.Code == &track.RefusedForPace {
			e.note.Detail = append(append(e.note.Detail[:0], ": "...), refusalText(m)...)
			found.Detail = e.note.Detail
		}
		seg.addFound(found)
	}
	x.found[1] = int32(len(seg.found))
}

// newNote begins a note: a finding at the packet at work that is about no message. The
// caller fills in its ends and adds to its detail, then calls emitNote.
func (e *emitter) newNote(code *finding.Code, a, b uint64) *render.Record {
	it := e.now.item
	e.expert = finding.Expert{Code: code, Severity: code.Severity, Field: -1, A: a, B: b}
	e.note = render.Record{Nanos: it.nanos, Start: e.now.start, Expert: &e.expert,
		Frames: append(e.note.Frames[:0], it.frame), Detail: e.note.Detail[:0]}
	return &e.note
}

// emitNote writes the note that was begun last. Its place among what is written at one
// packet is that of frame key; conn is the first frame of the connection that it is
// about, or 0.
func (e *emitter) emitNote(key, conn uint64) {
	seg, r := e.now.seg, &e.note
	x := e.now.addSpan(key, r.Nanos)
	x.truth = truthOf(e.chooser.chooseRecord(r))
	if e.renderer != nil && e.shows(x.truth) {
		seg.buf = e.renderer.AppendRecord(seg.buf, r)
		x.end = len(seg.buf)
		x.noteHole(&r.Hole)
	}
	x.fact = track.Fact{Frame: r.Frames[0], Server: r.Server, Client: r.Client, Age: r.Nanos - e.now.shift}
	x.found = [2]int32{int32(len(seg.found)), int32(len(seg.found) + 1)}
	e.turns.addNote(seg, x, r, conn)
	seg.addFound(track.Found{Expert: *r.Expert, Detail: r.Detail})
}

// emitSilence adds the fact that an answer did not come, if it is wanted. It has no text.
func (e *emitter) emitSilence(f *track.Fact) {
	if !e.hasSilences {
		return
	}
	x := e.now.addSpan(f.Frame, f.Nanos)
	x.fact = *f
}

// emitDoubtful adds the clue that s may be a request of type t of protocol p.
func (e *emitter) emitDoubtful(s *payload, p *dissect.Proto, t *dissect.Type) {
	if !e.wantsClues {
		return
	}
	x := e.now.addSpan(s.frame, s.nanos)
	x.isDoubtful = true
	x.fact = track.Fact{Frame: s.frame, Nanos: s.nanos, Age: s.nanos - e.now.shift, Server: s.dst, Client: s.src, Proto: p, Type: t}
}

// emitBegun adds the clue that a reply to what asks for asks has begun: the packet at work, it,
// is a part of it.
func (e *emitter) emitBegun(it *item, asks dissect.Asked) {
	if !e.wantsClues {
		return
	}
	x := e.now.addSpan(it.frame, it.nanos)
	x.begun = asks
	x.fact = track.Fact{Frame: it.frame, Nanos: it.nanos, Age: it.age, Server: it.Src, Client: it.Dst}
}

// emitForeign adds the clue that the packet at work has a message of type t of another protocol
// between a server and its client.
func (e *emitter) emitForeign(t *dissect.ForeignType, server, client netip.AddrPort, isTCP bool) {
	if !e.wantsClues {
		return
	}
	it := e.now.item
	x := e.now.addSpan(it.frame, it.nanos)
	x.foreign = t
	x.fact = track.Fact{Frame: it.frame, Nanos: it.nanos, Age: it.nanos - e.now.shift, Server: server, Client: client, TCP: isTCP}
}

// emitHandshake adds the clue that a connection to a usual port of p failed before anything was said: how is one of
// dissect.HandshakeRefused and those after it.
func (e *emitter) emitHandshake(p *dissect.Proto, how int, server, client netip.AddrPort) {
	if !e.wantsClues {
		return
	}
	it := e.now.item
	x := e.now.addSpan(it.frame, it.nanos)
	x.handshake = 1 + uint8(how)
	x.fact = track.Fact{Frame: it.frame, Nanos: it.nanos, Age: it.nanos - e.now.shift, Server: server, Client: client, Proto: p, TCP: true}
}

// emitEnd reports to dialogues that the connection whose first message began at frame
// first is over. key orders it among what is written at the same packet.
func (e *emitter) emitEnd(first, key uint64) {
	if !e.turns.isWanted || first == 0 {
		return
	}
	x := e.now.addSpan(key, e.now.item.nanos)
	e.turns.addEnd(e.now.seg, x, first)
}

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

// turnMaker adds what dialogues need to the spans of a segment.
type turnMaker struct {
	isWanted bool   // the run is for dialogues
	frame    uint64 // a frame of the one dialogue that is wanted, 0 for all
}

// addMessage adds the turn of a message made of s to its span. said is the part of its
// text that has the bytes of the message.
func (t *turnMaker) addMessage(seg *segment, x *span, s *payload, said render.Quote) {
	if t.isWanted {
		seg.addTurn(x, turn{conn: s.stream, said: said, isWanted: t.frame != 0 && s.frame == t.frame || t.hasFrame(s.frames)})
	}
}

// addNote adds the turn of a note about a connection, or about none, to its span.
func (t *turnMaker) addNote(seg *segment, x *span, r *render.Record, conn uint64) {
	if !t.isWanted {
		return
	}
	about := turn{conn: conn, server: r.Server, client: r.Client, isWanted: t.hasFrame(r.Frames)}
	if len(r.Frames) > 0 {
		about.about = r.Frames[0]
	}
	seg.addTurn(x, about)
}

// addEnd adds the end of a connection to its span.
func (t *turnMaker) addEnd(seg *segment, x *span, conn uint64) {
	seg.addTurn(x, turn{conn: conn, isEnd: true})
}

// hasFrame reports whether the wanted frame is one of frames.
func (t *turnMaker) hasFrame(frames []uint64) bool {
	return t.frame != 0 && slices.Contains(frames, t.frame)
}

// eventMaker makes the events of messages, which renderers get. Its memory is used again
// for the next one.
type eventMaker struct {
	hasManyInputs bool // messages name theirs
	event         render.Event
	split         render.Split
	pieces        []render.Piece
	wantsOrigin   bool // Event.Origin is wanted
	origin        []render.Piece
	ways          []render.Way
}

// makeEvent fills in the event of m, which was made of s at the item that now has.
func (e *eventMaker) makeEvent(s *payload, m *dissect.Message, part *track.Part, now *current) *render.Event {
	ev := &e.event
	*ev = render.Event{}
	ev.Frame, ev.Frames, ev.Nanos, ev.Start, ev.File, ev.Iface = s.frame, s.frames, s.nanos, now.start, -1, -1
	ev.Src, ev.Dst, ev.TCP, ev.Reply, ev.Msg = s.src, s.dst, s.isTCP, s.isReply, m
	ev.WhyIncomplete, ev.Record, ev.JoinedFrom = s.why, s.record, s.cut
	fillExchange(&ev.Exchange, s, part)
	ev.Train = s.train()
	if s.from != nil {
		e.addOrigin(s.from)
	}
	if s.set != nil {
		e.addSplit(s.set)
	}
	e.addWays(s.ways)
	if len(s.pieces) > 1 {
		e.addPieces(s.pieces)
	}
	if e.wantsOrigin {
		e.addOriginOf(s, now.item)
	}
	return ev
}

// addOrigin adds the file, the interface and the comments of the message's packet.
func (e *eventMaker) addOrigin(from *origin) {
	ev := &e.event
	if e.hasManyInputs {
		ev.File = int(from.file)
	}
	if from.known {
		ev.Iface, ev.IfName = int(from.iface), from.name
	}
	ev.Comments = from.comments
}

func (e *eventMaker) addSplit(set *split.Set) {
	e.split = render.Split{Engine: set.Engine, ID: set.ID, Total: set.Total, Received: set.Received,
		Size: int(set.Size), Compressed: set.Compressed}
	if set.Prefix > 0 {
		e.split.Declared, e.split.CRC = set.Declared, set.CRC
		e.split.Packed = len(set.Joined) - set.Prefix
	}
	e.event.Split = &e.split
}

func (e *eventMaker) addWays(ways []packet.Way) {
	if len(ways) == 0 {
		return
	}
	e.ways = e.ways[:0]
	for i := range ways {
		w := &ways[i]
		e.ways = append(e.ways, render.Way{Kind: w.Kind.String(), ID: w.ID, Src: w.Src, Dst: w.Dst})
	}
	e.event.Ways = e.ways
}

func (e *eventMaker) addPieces(pieces []reassembly.Piece) {
	e.pieces = e.pieces[:0]
	for i := range pieces {
		e.pieces = append(e.pieces, render.Piece(pieces[i]))
	}
	e.event.Pieces = e.pieces
}

// addOriginOf adds where in the packets s is, which was made at item it.
func (e *eventMaker) addOriginOf(s *payload, it *item) {
	o := &e.event.Origin
	o.IsLate = it.kind != kindDatagram && it.kind != kindSegment || it.frame != s.frame
	o.HasNoPlace = it.rare != nil && it.isSample
	o.Seq, o.IsNone = s.seq, s.record != ""
	if s.set != nil && s.set.Compressed {
		o.Packed, o.PrefixLen = s.set.Joined, s.set.Prefix
	}
	if s.isTCP {
		return
	}
	e.origin = e.origin[:0]
	for i := range s.origin {
		e.origin = append(e.origin, render.Piece(s.origin[i]))
	}
	if len(s.origin) == 0 {
		e.origin = append(e.origin, render.Piece{Frame: s.frame, Len: uint32(len(s.data))})
	}
	o.Pieces = e.origin
}

// steps is what a message does to a request, in words.
var steps = [...]string{
	track.Again:     "follows unanswered",
	track.Echo:      "brings the challenge for",
	track.Challenge: "challenges",
	track.Answer:    "answers",
	track.Extra:     "also answers",
	track.Late:      "answers late",
	track.Silence:   "",
	track.Refusal:   "refuses",
}

// fillExchange fills in what renderers show of a message's part in its exchange. Each member is
// written in place, see brief.fill.
func fillExchange(x *render.Exchange, s *payload, part *track.Part) {
	x.ID, x.Verb, x.Request, x.RTT, x.ChallengeRTT, x.Signs = part.ID, steps[part.Step], part.Request, part.Took, part.Trip, part.Signs
	if s.record != "" {
		x.Verb = steps[track.Answer]
	}
}
