package pipeline

import (
	"iter"
	"net/netip"
	"slices"

	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/base/lru"
	"qsniff/internal/flood"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/render/tally"
	"qsniff/internal/track"
	"qsniff/reassembly/wire"
)

// sightMaker makes the sightings of one partition. It goes by each packet alone, and
// so makes the same sighting of it whatever else is done with the packet.
type sightMaker struct {
	now      *current
	reg      *dissect.Registry
	decodeAs []DecodeAs
	ctx      dissect.Context
	msg      *dissect.Message // is used again
	last     lastSighting
	first    *look // at the datagram at hand; nil if it was not looked at
	own      look  // by identifyPayload
	echoes   *echoes
	profiles *profileMaker // nil: what servers report of themselves is not wanted
}

// printedBytes is how many bytes of a payload its print depends on. Chosen: they include
// the first fields of any request.
const printedBytes = 128

// addSightings adds the sightings of an item to the segment. Of a datagram it returns the
// verdict on its bytes alone, nil if there is none.
func (w *sightMaker) addSightings(it *item) *look {
	s := w.newSighting(it)
	w.first = nil
	switch it.kind {
	case kindDatagram:
		w.classifyDatagram(s, it)
	case kindQuoted:
		s.What, s.Detail, s.Wire = track.IsUnreachable, it.icmp.kind, it.icmp.wire
		s.FillHashes(w.now.seed)
	case kindSegment:
		w.classifySegment(s, it)
	case kindStray:
		w.classifyStray(s, it)
	case kindTick, kindEnd, kindGap:
		w.addMark(it)
		return nil
	default: // kindBegun and kindAbandoned: no whole datagram
		return nil
	}
	seg := w.now.seg
	seg.sights = seg.sights[:len(seg.sights)+1]
	if w.profiles != nil && s.What == track.IsReply && w.profiles.isWanted(s) {
		w.addProfile(s, it)
	}
	if s.Type != nil && s.Type.Lists != nil {
		w.addListed(it)
	}
	if len(it.ways) > 0 {
		w.addTunnel(it)
	}
	return w.first
}

// newSighting fills in a sighting in the memory after the segment's last one. The caller
// extends the list by one to keep it, or drops it by not doing so.
func (w *sightMaker) newSighting(it *item) *track.Sighting {
	seg := w.now.seg
	n := len(seg.sights)
	if n == cap(seg.sights) {
		seg.sights = append(seg.sights, sight{})[:n]
	}
	x := &seg.sights[:n+1][n]
	*x = sight{index: w.now.index, part: w.now.part}
	s := &x.Sighting
	s.Frame, s.Age, s.Nanos, s.TTL = it.frame, it.age, it.nanos, it.TTL
	s.SetEnds(&it.Src, &it.Dst)
	s.Bytes, s.Weight = uint32(it.Wire), it.weight
	if len(it.pieces) > 0 {
		s.Flags = track.Joined
	}
	return s
}

// addListed adds the servers that a reply, the last sighting, names.
func (w *sightMaker) addListed(it *item) {
	seg := w.now.seg
	from := &seg.sights[len(seg.sights)-1]
	begin := len(seg.listed)
	for a := range w.listedAddrs(it, from.Type) {
		if a.Port() != 0 { // 0.0.0.0:0 ends a list
			seg.listed = append(seg.listed, track.EndOf(a).Hash(w.now.seed))
		}
	}
	seg.lists = append(seg.lists, seg.listed[begin:]) // where listed grows, earlier lists stay in the memory before
	from.list = int32(len(seg.lists))
}

// addMark adds a sight for a tick, a gap or the end. All partitions get these items, and
// partition 0 adds the sight.
func (w *sightMaker) addMark(it *item) {
	x := sight{index: w.now.index, part: w.now.part, kind: sawTick}
	switch it.kind {
	case kindEnd:
		x.kind, x.part = sawEnd, afterPartitions
	case kindGap:
		x.kind = sawLoss
	}
	if w.now.part == 0 {
		x.Age, x.Nanos = it.age, it.nanos
		w.now.seg.sights = append(w.now.seg.sights, x)
	}
}

// addLogin adds a sighting if m, a message over TCP that was made of s, has a password or
// the answer to one.
func (w *sightMaker) addLogin(s *payload, m *dissect.Message) {
	if m.Type == nil || !m.Type.Asks.Has(dissect.AskLogin) {
		return
	}
	x := sight{index: w.now.index, part: w.now.part}
	x.Frame, x.Age, x.Nanos = s.frame, s.nanos-w.now.shift, s.nanos
	x.Src, x.SrcPort, x.Dst, x.DstPort = track.HostOf(s.src), s.src.Port(), track.HostOf(s.dst), s.dst.Port()
	x.Proto, x.Type, x.Asks, x.Flags = m.Proto, m.Type, m.Type.Asks, track.Connection
	x.Secret, x.Bytes = m.Secret, uint32(m.Wire)
	switch {
	case !s.isReply:
		x.What = track.IsLogin
	case m.Refused:
		x.What = track.IsRejected
	default:
		x.What = track.IsWelcome
	}
	x.FillHashes(w.now.seed)
	w.now.seg.sights = append(w.now.seg.sights, x)
}

// classifyDatagram fills in what a UDP datagram is.
func (w *sightMaker) classifyDatagram(s *track.Sighting, it *item) {
	b := it.Payload
	s.Wire = s.Bytes + udpHeaders + ipHeaderBytes(it.Src)*uint32(max(len(it.pieces), 1))
	if len(b) < it.Wire {
		s.Flags |= track.Cut
	}
	if wire.IsSplit(b) && len(b) >= wire.MinSplitLen {
		s.What = track.IsPart
		if h, ok := wire.ParseSplit(b, wire.GuessSplitForm(b, it.Wire)); ok && h.Number == 0 || wire.ProveSplitForm(b) != wire.None {
			s.Flags |= track.First
			w.echoes.pairs.addReply(it)
		}
		if w.reg.IsSplitPort(s.SrcPort) {
			s.Flags |= track.AtSplitPort
		}
		w.addHashes(s, printOf(s, b))
		return
	}
	if w.last.matches(b, it.Wire, it.Src) {
		w.last.fillIn(s)
		w.first = &w.last.look
		w.addHashes(s, w.last.sum)
		w.resolveEcho(s, it)
		return
	}
	w.setContext(it)
	sure := w.identifyPayload(s, b)
	sum := printOf(s, b)
	if sure {
		w.last.store(&w.ctx, b, s, &w.own, sum)
	}
	w.addHashes(s, sum)
	w.resolveEcho(s, it)
}

// setContext sets w.ctx to what is known of a datagram, its ends and its length.
func (w *sightMaker) setContext(it *item) {
	w.ctx.Src, w.ctx.Dst, w.ctx.Wire = it.Src, it.Dst, it.Wire
}

// printOf returns a hash of the start of a payload without its token.
func printOf(s *track.Sighting, b []byte) uint64 {
	var after []byte
	if s.Flags&track.HasKey != 0 {
		b, after = s.Type.WithoutToken(b)
	}
	h := lru.MixBytes(uint64(len(b)+len(after)), b[:min(len(b), printedBytes)])
	if len(after) > 0 && len(b) < printedBytes {
		h = lru.MixBytes(h, after[:min(len(after), printedBytes-len(b))])
	}
	return h
}

// addHashes fills in the hashes of s; sum is that of its payload.
func (w *sightMaker) addHashes(s *track.Sighting, sum uint64) {
	s.Print = uint32(sum >> 32)
	s.FillHashes(w.now.seed)
}

// resolveEcho makes a packet of another protocol of a datagram that sends a request back.
func (w *sightMaker) resolveEcho(s *track.Sighting, it *item) {
	switch s.What {
	case track.IsRequest:
		if w.echoes.take(w.now, it) {
			s.What, s.Proto, s.Type, s.Asks, s.Key = track.IsOther, nil, nil, 0, 0
			s.Flags &^= track.HasKey | track.Weak
			s.Foreign = w.reg.EchoType()
		}
	case track.IsReply, track.IsChallenge:
		w.echoes.close(it)
		w.echoes.pairs.addReply(it)
	}
}

// identifyPayload fills in protocol and type of a payload and, of requests and challenges,
// the challenge in it. sure is true if its bytes alone show what it is.
func (w *sightMaker) identifyPayload(s *track.Sighting, b []byte) (sure bool) {
	c := &w.ctx
	if len(b) == 0 {
		return false
	}
	w.own.lookAt(w.reg, w.decodeAs, c, b)
	w.first = &w.own
	v := w.own.verdict
	if v.Dissector == nil {
		if w.reg.IsJunk(b) {
			s.What = track.IsJunk
			if w.reg.IsFamiliar(b, c.Wire) {
				s.Flags |= track.Familiar
			}
		}
		s.Foreign = w.reg.ForeignType(b, c.Wire)
		return false
	}
	sure = v.Conf > dissect.Maybe && len(w.decodeAs) == 0
	if !w.own.isForced && !w.reg.Believe(c, &v) {
		s.Flags |= track.Weak
		s.Foreign = w.reg.ForeignType(b, c.Wire)
	}
	t := v.Type
	s.Proto, s.Type, s.Asks, s.What = v.Dissector.Proto(), t, t.Asks, track.IsRequest
	switch {
	case t.Reply && t.Asks.Has(dissect.AskChallenge):
		s.What = track.IsChallenge
	case t.Reply:
		s.What = track.IsReply
		return sure
	case t.Notice:
		s.What = track.IsOther
		return sure
	}
	if key := w.challengeIn(c, &v, b); key != 0 {
		s.Key = uint32(key)
		s.Flags |= track.HasKey
	}
	return sure
}

// challengeIn returns the challenge in a message, 0 if it has none.
func (w *sightMaker) challengeIn(c *dissect.Context, v *dissect.Verdict, b []byte) uint64 {
	if k, ok := v.Dissector.(dissect.Keyer); ok {
		if key, _, ok := k.Key(c, v.Type, b); ok {
			return key
		}
	}
	m := w.msg
	m.Reset(v.Dissector.Proto(), b)
	v.Dissector.Dissect(c, v.Type, b, m)
	return m.Key
}

// listedAddrs iterates over the addresses that the message in it, of type t, names.
func (w *sightMaker) listedAddrs(it *item, t *dissect.Type) iter.Seq[netip.AddrPort] {
	return func(yield func(netip.AddrPort) bool) {
		m := w.msg
		d := w.first.verdict.Dissector
		w.setContext(it)
		m.Reset(d.Proto(), it.Payload)
		d.Dissect(&w.ctx, t, it.Payload, m)
		for i := range m.Fields {
			f := &m.Fields[i]
			if f.Def != t.Lists {
				continue
			}
			if a, _, ok := m.Addr(f); ok && !yield(a) {
				return
			}
		}
	}
}

// classifySegment fills in what a TCP segment does for its connection.
func (w *sightMaker) classifySegment(s *track.Sighting, it *item) {
	s.Flags |= track.Connection
	s.Wire = s.Bytes + uint32(it.TCP.Len) + ipHeaderBytes(it.Src)
	syn, ack := it.TCP.Flags&packet.FlagSYN != 0, it.TCP.Flags&packet.FlagACK != 0
	switch {
	case syn && ack:
		s.What, s.Key = track.IsAgreed, it.TCP.Seq
	case syn:
		s.What, s.Key = track.IsOpened, it.TCP.Seq
	case ack && it.TCP.Flags&packet.FlagRST == 0:
		s.What, s.Key = track.IsAcked, it.TCP.Ack-1
	}
	s.FillHashes(w.now.seed)
}

// watching passes the sightings of a run to the watchers, and writes the incidents that
// they find.
type watching struct {
	out       *textOutput
	watchers  []track.Watcher
	foreseers []track.Foreseer        // of them
	announcer render.IncidentRenderer // nil: incidents are not shown
	profiles  []track.Profile         // of the segment at hand
	lists     [][]uint64              // likewise
	doubt     doubt
	last      sight  // kind and time of the last sight that watchers got
	requests  int    // that the watchers got
	dropped   uint64 // packets that the capturing program dropped, as reported to watchers
	event     render.IncidentEvent
	totals    func() tally.Run // counters so far
	chooser   *chooser         // of incidents that are written; nil: all
	hold      *hold            // nil: nothing is held
}

// showSights passes the sights of a segment from next on, at least one, to the watchers, up
// to those of the item with index limit. It returns the position of the next one.
func (w *watching) showSights(seg *segment, next int, limit int32) int {
	list := seg.sights
	w.profiles, w.lists = seg.profiles, seg.lists
	for first := next; next < len(list); next++ {
		x := &list[next]
		if next > first && x.index > limit {
			break
		}
		if next+foreseen < len(list) {
			w.foresee(&list[next+foreseen])
		}
		w.tellWatchers(x)
	}
	return next
}

// foreseen is how many sights ahead watchers are told what comes. Chosen by measurement: what memory
// takes is over by then, and what was fetched is still in the cache.
const foreseen = 3

// foresee tells watchers what comes.
func (w *watching) foresee(x *sight) {
	if x.kind != sawPacket {
		return
	}
	for _, to := range w.foreseers {
		to.Foresee(&x.Sighting)
	}
}

// foreseersOf returns those watchers that want to know what comes.
func foreseersOf(watchers []track.Watcher) (all []track.Foreseer) {
	for _, w := range watchers {
		if f, ok := w.(track.Foreseer); ok {
			all = append(all, f)
		}
	}
	return all
}

// tellProfile passes what a server reports of itself in the packet of x to the watchers that
// want it.
func (w *watching) tellProfile(x *sight) {
	for _, to := range w.watchers {
		if to, ok := to.(track.ProfileWatcher); ok {
			to.AddProfile(&x.Sighting, &w.profiles[x.post-1])
		}
	}
}

// tellListed passes the servers that the packet of x lists to the watchers that want them.
func (w *watching) tellListed(x *sight) {
	for _, to := range w.watchers {
		if to, ok := to.(track.ListWatcher); ok {
			to.AddListed(&x.Sighting, w.lists[x.list-1])
		}
	}
}

// wantsProfiles reports whether any watcher is a track.ProfileWatcher.
func wantsProfiles(watchers []track.Watcher) bool {
	return slices.ContainsFunc(watchers, func(w track.Watcher) bool {
		_, ok := w.(track.ProfileWatcher)
		return ok
	})
}

// tellWatchers calls the method of the watchers for a sight.
func (w *watching) tellWatchers(x *sight) {
	w.last.kind, w.last.Age, w.last.Nanos = x.kind, x.Age, x.Nanos
	switch x.kind {
	case sawPacket:
		w.doubt.resolve(&x.Sighting)
		if x.isUnmatched {
			return
		}
		if x.What == track.IsRequest {
			w.requests++
		}
		for _, to := range w.watchers {
			to.Sight(&x.Sighting)
		}
		if x.post > 0 {
			w.tellProfile(x)
		}
		if x.list > 0 {
			w.tellListed(x)
		}
	case sawTick:
		for _, to := range w.watchers {
			to.Tick(x.Age, x.Nanos)
		}
	case sawLoss:
		for _, to := range w.watchers {
			to.Lost(1)
		}
	case sawEnd:
		for _, to := range w.watchers {
			to.End(x.Age, x.Nanos)
		}
	}
}

// tellDropped reports to the watchers how many packets the capturing program has dropped
// since the last call; dropped is the number in all.
func (w *watching) tellDropped(dropped uint64) {
	if dropped <= w.dropped {
		return
	}
	for _, to := range w.watchers {
		to.Lost(dropped - w.dropped)
	}
	w.dropped = dropped
}

// endEarly reports the end to the watchers if the run was interrupted or failed, with
// error err, before the end of the capture, so that they report the open incidents. It
// returns err, or the error of writing these.
func (w *watching) endEarly(err error) error {
	if err == nil || w.out.failed != nil || w.last.kind == sawEnd || w.last.Age == 0 {
		return err
	}
	x := w.last
	x.kind = sawEnd
	w.tellWatchers(&x)
	if wrong := w.out.flush(); wrong != nil {
		return wrong
	}
	return err
}

// announce writes an event of an incident after what is written of the packet, or
// the tick, that decided it.
func (w *watching) announce(in *flood.Incident, e flood.Event) {
	if w.announcer == nil {
		return
	}
	x, o := &w.event, w.out
	run := w.totals()
	*x = render.IncidentEvent{Nanos: w.last.Nanos, First: o.start, Event: e, Incident: in, Run: &run}
	if !w.chooser.chooseIncident(x) {
		return
	}
	if w.hold != nil && !w.hold.isEmpty() {
		s := span{nanos: x.Nanos, post: -1, truth: filter.All}
		w.hold.addRecord(s, nil, func(dst []byte) ([]byte, render.Hole) {
			dst = w.announcer.AppendIncident(dst, x)
			return dst, x.Hole
		})
		return
	}
	o.buf = w.announcer.AppendIncident(o.buf, x)
	if x.Hole.IsSet {
		o.fillHole(x.Hole.At, x.Hole.Width, x.Nanos)
	}
}
