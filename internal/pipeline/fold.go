package pipeline

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"time"

	"qsniff/capture"
	"qsniff/dissect"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/render/dialogue"
	"qsniff/internal/render/tally"
	"qsniff/internal/track"
)

// fold merges what the workers made of a batch, in packet order, and passes it to the
// writers, the listener and the watchers.
type fold struct {
	out          *textOutput
	max          uint64 // messages to write, 0 for all
	workers      []*worker
	heads        []head
	progress     func(capture.Stats, func() tally.Run)
	totals       func() tally.Run // summary, made once
	listener     track.Listener
	watching     watching
	dialogues    *dialogues    // nil: messages are written as they come
	findings     *hostFindings // nil: only messages are counted
	messages     uint64
	types        typeCounts
	fact         track.Fact          // of the brief at hand
	briefs       int                 // so far
	reader       readerTotals        // after the last batch merged
	copiesAt     copiesAt            // of the last batch
	translations []tally.Translation // of the last batch
	steps        clockSteps          // likewise
	skews        []tally.Skew        // of inputs
	parts        [Partitions]totals
	packets      PacketSink      // nil: packets are not wanted
	unmatched    uint64          // messages that Config.Filter did not choose, besides those in parts
	filter       *Filter         // nil: all messages are chosen
	outcomes     *streamOutcomes // nil: Config.Filter needs no outcomes of exchanges, or has them
	hold         *hold           // nil: nothing is held
	requests     *requests       // nil: all silences are reported
}

// head is how far the fold is in a worker's segments of the batch.
type head struct {
	seg   *segment
	next  int // index of the next span
	sight int // index of the next sight
	brief int // index of the next brief
}

// isDone reports whether all of the segment is merged.
func (h *head) isDone() bool { return h.front() == noIndex }

// noIndex is an index above those of all items.
const noIndex = math.MaxInt32

// fronts returns the indexes of the items that the next span, brief and sight are of.
func (h *head) fronts() (span, brief, sight int32) {
	span, brief, sight = noIndex, noIndex, noIndex
	if h.next < len(h.seg.spans) {
		span = h.seg.spans[h.next].index
	}
	if h.brief < len(h.seg.briefs) {
		brief = h.seg.briefs[h.brief].index
	}
	if h.sight < len(h.seg.sights) {
		sight = h.seg.sights[h.sight].index
	}
	return span, brief, sight
}

// front returns the least of them.
func (h *head) front() int32 {
	span, brief, sight := h.fronts()
	return min(span, brief, sight)
}

type typeKey struct {
	proto *dissect.Proto
	typ   *dissect.Type
}

// typeCount is how many messages of a type there are.
type typeCount struct {
	key typeKey
	n   uint64
}

// typeCounts are those of all types, of which protocols declare a fixed number. A type moves one
// place forward whenever it is counted: the few that most messages are of come first.
type typeCounts []typeCount

// add adds n messages of a type.
func (c *typeCounts) add(k typeKey, n uint64) {
	all := *c
	for i := range all {
		if all[i].key != k {
			continue
		}
		all[i].n += n
		if i > 0 {
			all[i], all[i-1] = all[i-1], all[i]
		}
		return
	}
	*c = append(all, typeCount{k, n})
}

// merge merges and writes one batch. enough is true if as many messages are written as
// were wanted, or the one dialogue that was wanted.
func (f *fold) merge(ctx context.Context, b *batch) (enough bool, err error) {
	f.out.start = b.totals.first
	if (b.totals.source.Dropped > 0 || b.totals.samples > 0) && f.findings != nil {
		f.findings.hosts.SetLossy()
	}
	f.watching.tellDropped(b.totals.source.Dropped)
	for i := range f.heads {
		f.heads[i] = head{}
		if err := f.fillHead(ctx, i); err != nil {
			return false, err
		}
	}
	for err == nil && !enough {
		i, limit := f.findHead()
		if i < 0 {
			break
		}
		h := &f.heads[i]
		enough, err = f.mergeHead(b, h, limit)
		if err == nil && !enough && h.isDone() {
			err = f.fillHead(ctx, i)
		}
	}
	if f.packets != nil && err == nil {
		err = f.packets.AddPackets(&b.raw)
	}
	f.reader, f.copiesAt, f.translations, f.steps = b.totals, b.copiesAt, b.translations, b.steps
	if len(b.skews) > 0 {
		f.skews = b.skews
	}
	if n := len(b.items); f.hold != nil && n > 0 && err == nil && !enough {
		f.outcomes.now = max(f.outcomes.now, b.items[n-1].age)
		enough, err = f.release(false)
	}
	if n := len(b.items); f.dialogues != nil && n > 0 && err == nil && !enough {
		f.dialogues.passTime(b.items[n-1].nanos)
		enough = f.dialogues.hasWanted()
	}
	if err == nil {
		err = f.out.flush()
	}
	for i := range f.heads {
		if h := &f.heads[i]; h.seg != nil {
			f.releaseSegment(i)
		}
	}
	if f.progress != nil {
		f.progress(b.totals.source, f.totals)
	}
	return enough, err
}

// fillHead makes sure that worker i's head has something to merge: it takes the worker's
// next segment when the one at hand is done, until the last one of the batch.
func (f *fold) fillHead(ctx context.Context, i int) error {
	h := &f.heads[i]
	for h.seg == nil || h.isDone() {
		if h.seg != nil {
			if h.seg.isLast {
				return nil
			}
			f.releaseSegment(i)
		}
		if h.seg = f.workers[i].nextSegment(ctx); h.seg == nil {
			return ctx.Err()
		}
		h.next, h.sight, h.brief = 0, 0, 0
	}
	return nil
}

// releaseSegment gives worker i its segment back, and takes over the totals in it, if any.
func (f *fold) releaseSegment(i int) {
	h := &f.heads[i]
	for m := h.seg.changed; m != 0; m &= m - 1 {
		p := bits.TrailingZeros32(m) % Partitions
		f.parts[p] = h.seg.totals[p]
	}
	for _, c := range h.seg.counts {
		f.countMessages(c.key, c.n)
	}
	f.workers[i].free <- h.seg
	h.seg = nil
}

// findHead returns the head with the first item of which something is left, -1 if there is none,
// and the index of the item up to which no other head has anything. Where two heads have something
// of one item, which is for all partitions, it is that of the next span or sight.
func (f *fold) findHead() (best int, limit int32) {
	best, limit = -1, noIndex
	first := int32(noIndex)
	for i := range f.heads {
		switch at := f.heads[i].front(); {
		case at < first:
			best, first, limit = i, at, first
		case at < limit:
			limit = at
		}
	}
	if best >= 0 && limit == first {
		best, _ = f.findNext()
	}
	return best, limit - 1
}

// mergeHead passes on what a head has up to the item with index limit, at least one thing.
func (f *fold) mergeHead(b *batch, h *head, limit int32) (enough bool, err error) {
	for isFirst := true; err == nil && !enough; isFirst = false {
		span, brief, sight := h.fronts()
		first := min(span, brief, sight)
		switch {
		case first == noIndex || first > limit && !isFirst:
			return false, nil
		case span == first:
			enough, err = f.writeSpan(h.seg, &h.seg.spans[h.next])
			h.next++
		case brief == first:
			enough, err = f.writeBrief(b, &h.seg.briefs[h.brief])
			h.brief++
		default:
			h.sight = f.watching.showSights(h.seg, h.sight, min(limit, span-1, brief-1))
		}
	}
	return enough, err
}

// findNext returns the worker whose next span or, if watched, whose next sight comes
// first, or -1 if nothing is left. The spans of a packet precede its sights, so that
// messages are written before the incidents that they decide.
func (f *fold) findNext() (best int, watched bool) {
	best = -1
	var bs *span
	for i := range f.heads {
		h := &f.heads[i]
		if h.next == len(h.seg.spans) {
			continue
		}
		if s := &h.seg.spans[h.next]; best < 0 || s.precedes(bs) {
			best, bs = i, s
		}
	}
	var seen *sight
	for i := range f.heads {
		h := &f.heads[i]
		if h.sight == len(h.seg.sights) {
			continue
		}
		x := &h.seg.sights[h.sight]
		if seen == nil && (bs == nil || x.index < bs.index) || seen != nil && x.precedes(seen) {
			best, watched, seen = i, true, x
		}
	}
	return best, watched
}

// writeSpan passes one span to hostFindings and, at once or when it is decided whether it
// is chosen, to the others.
func (f *fold) writeSpan(seg *segment, s *span) (enough bool, err error) {
	if s.isClue() {
		f.findings.addSpan(seg, s)
		return false, nil
	}
	silent := s.fact.Step == track.Silence
	if silent { // findings that follow from it belong to the dialogue that it ends
		f.findings.addSpan(seg, s)
	}
	if f.outcomes != nil && s.fact.Proto != nil {
		f.outcomes.addFact(&s.fact)
	}
	if f.hold != nil {
		f.hold.add(seg, s)
		enough, err = f.release(false)
	} else {
		enough, err = f.deliver(seg, s, s.truth == filter.All)
	}
	if !silent {
		f.findings.addSpan(seg, s)
	}
	return enough, err
}

// writeBrief is writeSpan for a brief.
func (f *fold) writeBrief(b *batch, x *brief) (enough bool, err error) {
	f.briefs++
	x.fill(&f.fact, &b.items[x.index])
	if f.filter != nil { // it chooses none of them
		f.unmatched++
	} else {
		if f.listener != nil {
			f.listener.AddFact(&f.fact, nil, nil)
		}
		f.countMessages(typeKey{x.proto, x.typ}, 1)
	}
	if f.findings != nil {
		f.findings.hosts.AddFact(&f.fact)
	}
	return f.isFull(), nil
}

// countMessages counts chosen messages of a type.
func (f *fold) countMessages(k typeKey, n uint64) {
	f.messages += n
	f.types.add(k, n)
}

// deliver writes one span and passes it to the listener and the sink of packets, if it is
// chosen.
func (f *fold) deliver(seg *segment, s *span, isChosen bool) (enough bool, err error) {
	switch {
	case f.dialogues != nil:
		f.dialogues.addSpan(seg, s)
	case isChosen:
		f.out.addSpan(seg, s)
	}
	if f.out.isFull() {
		err = f.out.flush()
	}
	if s.pick > 0 {
		f.packets.AddMessage(seg.pickOf(s, isChosen))
	}
	if isChosen && f.requests.allows(&s.fact) {
		f.tellListener(seg, s)
	}
	switch {
	case !s.isMessage:
	case isChosen:
		f.countMessages(typeKey{s.fact.Proto, s.fact.Type}, 1)
		enough = f.isFull()
	default:
		f.unmatched++
	}
	return enough || f.dialogues.hasWanted(), err
}

// isFull reports whether as many messages are written as were wanted.
func (f *fold) isFull() bool { return f.max > 0 && f.messages == f.max }

// release delivers what was held, up to the first message that is not decided, or all.
func (f *fold) release(all bool) (enough bool, err error) {
	for h := f.hold; !h.isEmpty() && !enough && err == nil; h.drop() {
		seg, x := h.front()
		isChosen, due := h.isDue(x)
		if !due && !all {
			return false, nil
		}
		enough, err = f.deliver(seg, x, isChosen)
	}
	return enough, err
}

// finishHold delivers what is held when the run ends with error err, unless the writer
// failed. It returns err or, if that is nil, the error of writing.
func (f *fold) finishHold(err error) error {
	if f.out.failed != nil || f.isFull() {
		return err
	}
	_, failed := f.release(true)
	return cmp.Or(err, failed, f.out.flush())
}

// tellListener passes the fact and the findings of a span to the listener.
func (f *fold) tellListener(seg *segment, s *span) {
	if f.listener == nil {
		return
	}
	found := seg.found[s.found[0]:s.found[1]]
	if s.fact.Proto == nil { // a record
		for _, x := range found {
			f.listener.AddFinding(s.fact.Frame, s.nanos, s.fact.Server, s.fact.Client, x)
		}
		return
	}
	var post *track.ServerInfo
	if s.post >= 0 {
		post = &seg.posts[s.post]
	}
	f.listener.AddFact(&s.fact, found, post)
}

// hold keeps what a stream showed, in its order, from the first message on of which it is
// unknown whether the Filter chooses it: the outcome of its exchange decides. It has copies
// of spans, in segments that are used again.
type hold struct {
	outcomes *streamOutcomes
	held     []*segment // oldest first
	next     int        // span of the oldest that leaves next
	unused   []*segment
	bytes    int
}

// heldSpanBytes is what a held span takes besides its text.
const heldSpanBytes = 256

// isEmpty reports whether nothing is held.
func (h *hold) isEmpty() bool { return len(h.held) == 0 }

// newest returns the segment to add to.
func (h *hold) newest() *segment {
	if n := len(h.held); n > 0 && !h.held[n-1].isFull() && len(h.held[n-1].spans) < segmentSights {
		return h.held[n-1]
	}
	s := new(segment)
	if n := len(h.unused); n > 0 {
		s, h.unused = h.unused[n-1], h.unused[:n-1]
	}
	h.held = append(h.held, s)
	return s
}

// add copies a span of seg.
func (h *hold) add(seg *segment, x *span) {
	to := h.newest()
	before := to.size()
	to.copySpan(seg, x)
	h.bytes += to.size() - before
}

// addRecord adds x, which is no message, with its findings and the text that appendText
// appends.
func (h *hold) addRecord(x span, found []track.Found, appendText func(dst []byte) ([]byte, render.Hole)) {
	to := h.newest()
	before := to.size()
	x.start = len(to.buf)
	var hole render.Hole
	to.buf, hole = appendText(to.buf)
	x.end = len(to.buf)
	x.noteHole(&hole)
	x.found[0] = int32(len(to.found))
	to.found = append(to.found, found...)
	x.found[1] = int32(len(to.found))
	to.spans = append(to.spans, x)
	h.bytes += to.size() - before
}

// front returns the span that leaves next, with its segment. Something is held.
func (h *hold) front() (*segment, *span) {
	seg := h.held[0]
	return seg, &seg.spans[h.next]
}

// isDue reports whether the front is to leave; isMatch is what was decided of it.
func (h *hold) isDue(x *span) (isMatch, due bool) {
	v := h.outcomes
	isMatch, due = v.decide(x.truth, x.fact.ID)
	if !due && (h.bytes > holdBytes || v.now-x.fact.Age > int64(holdTime)) {
		return v.conclude(x.truth, x.fact.ID), true
	}
	return isMatch, due
}

// drop removes the front.
func (h *hold) drop() {
	h.next++
	s := h.held[0]
	if h.next < len(s.spans) {
		return
	}
	h.bytes -= s.size()
	h.held = h.held[:copy(h.held, h.held[1:])]
	h.next = 0
	s.reset()
	h.unused = append(h.unused, s)
}

// size returns how many bytes the segment takes, roughly.
func (s *segment) size() int { return len(s.buf) + len(s.notes) + heldSpanBytes*len(s.spans) }

// copySpan appends a copy of a span of from, with what belongs to it.
func (s *segment) copySpan(from *segment, x *span) {
	c := *x
	c.start = len(s.buf)
	s.buf = append(s.buf, from.buf[x.start:x.end]...)
	c.end = len(s.buf)
	c.found[0] = int32(len(s.found))
	for _, f := range from.found[x.found[0]:x.found[1]] {
		s.addFound(f)
	}
	c.found[1] = int32(len(s.found))
	if x.post >= 0 {
		c.post = int32(len(s.posts))
		s.posts = append(s.posts, from.posts[x.post])
	}
	if x.pick > 0 {
		p := from.picks[x.pick-1]
		frames, notes := from.frames[p.frames[0]:p.frames[1]], from.notes[p.notes[0]:p.notes[1]]
		p.frames[0], p.notes[0] = len(s.frames), len(s.notes)
		s.frames, s.notes = append(s.frames, frames...), append(s.notes, notes...)
		p.frames[1], p.notes[1] = len(s.frames), len(s.notes)
		s.picks = append(s.picks, p)
		c.pick = int32(len(s.picks))
	}
	s.spans = append(s.spans, c)
}

// postOf returns what a server reports of itself in m, by the roles of the fields, and
// whether m has any such field.
func postOf(m *dissect.Message) (post track.ServerInfo, ok bool) {
	post = track.NoServerInfo()
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Def.Role == dissect.NoRole || f.Flags&dissect.Cut != 0 {
			continue
		}
		ok = ok || f.Def.Role <= dissect.Tags
		switch f.Def.Role {
		case dissect.ServerName:
			post.Name.Set(m.Bytes(f))
		case dissect.MapName:
			post.Map.Set(m.Bytes(f))
		case dissect.PlayerCount:
			post.Players = countOf(m, &m.Fields[m.Tells(i)])
		case dissect.MaxPlayers:
			post.Max = countOf(m, &m.Fields[m.Tells(i)])
		case dissect.BotCount:
			post.Bots = countOf(m, f)
		case dissect.QueueLength:
			post.Queue = countOf(m, f)
		}
	}
	return post, ok
}

// profileOf returns all that a server reports of itself in m, and whether m has any of it.
func profileOf(m *dissect.Message) (p track.Profile, ok bool) {
	p = track.NoProfile()
	if p.ServerInfo, ok = postOf(m); !ok {
		return p, false
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Flags&dissect.Cut != 0 {
			continue
		}
		switch f.Def.Role {
		case dissect.GameVersion:
			p.Version.Set(m.Bytes(f))
		case dissect.Tags:
			p.Tags.Set(m.Bytes(f))
		}
	}
	return p, true
}

// gamePortOf returns where players join, as m says; 0 if it does not.
func gamePortOf(m *dissect.Message) uint16 {
	for i := range m.Fields {
		if f := &m.Fields[i]; f.Def.Role == dissect.GamePort && f.Flags&dissect.Cut == 0 {
			if n := countOf(m, f); n > 0 && n <= math.MaxUint16 {
				return uint16(n)
			}
			return 0
		}
	}
	return 0
}

// countOf returns the value of a field that counts, which some protocols write in
// decimal digits; -1 if it is no number.
func countOf(m *dissect.Message, f *dissect.Field) int32 {
	const digits = 9 // fit into an int32
	if f.Def.Kind != dissect.Text {
		return int32(min(f.Num, 1<<31-1))
	}
	b := m.Bytes(f)
	if len(b) == 0 || len(b) > digits {
		return -1
	}
	n := int32(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int32(c-'0')
	}
	return n
}

// dialogues passes the spans of a run to the collector, and writes the dialogues that are
// over.
type dialogues struct {
	out       *textOutput
	collector *dialogue.Collector
}

// newDialogues returns dialogues. outcomes decide about messages that depend on that of
// their exchange; nil: there are none.
func newDialogues(o *textOutput, c *dialogue.Collector, outcomes *streamOutcomes) *dialogues {
	d := &dialogues{out: o, collector: c}
	c.Flush = d.flush
	if outcomes != nil {
		c.IsChosen = func(late, exchange uint64) bool {
			isChosen, _ := outcomes.decide(filter.Truth(late), exchange)
			return isChosen
		}
	}
	return d
}

// flush writes dst and returns it emptied. textOutput keeps the error, which its next flush
// returns.
func (d *dialogues) flush(dst []byte) []byte {
	d.out.buf = dst
	_ = d.out.flush()
	return d.out.buf
}

// addSpan adds a span.
func (d *dialogues) addSpan(seg *segment, s *span) {
	c, o := d.collector, d.out
	if s.fact.Step == track.Silence {
		o.buf = c.MarkUnanswered(o.buf, &s.fact, s.nanos)
	}
	if s.turn == 0 {
		return
	}
	t := &seg.turns[s.turn-1]
	if t.isEnd {
		o.buf = c.CloseConnection(o.buf, t.conn, s.nanos)
		return
	}
	if s.start == s.end { // it has no text
		return
	}
	x := dialogue.Turn{First: s.key, Conn: t.conn, About: t.about, Server: t.server, Client: t.client, HasWantedFrame: t.isWanted}
	if x.IsUnmatched = s.truth != filter.All; !isDecided(s.truth) {
		x.Late, x.Exchange = uint64(s.truth), s.fact.ID
	}
	x.Turn = render.Turn{Text: seg.buf[s.start:s.end], Frame: s.fact.Frame, Nanos: s.nanos, IsRecord: !s.isMessage, Quote: t.said}
	if s.hole > 0 {
		x.Hole = render.Hole{IsSet: true, At: int(s.hole) - 1, Width: int(s.width)}
	}
	if s.isMessage {
		o.buf = c.AddMessage(o.buf, &x, &s.fact)
		return
	}
	x.Frame = s.key
	o.buf = c.AddRecord(o.buf, &x)
}

// place is where a record belongs: the key of its span, and its connection.
type place struct {
	key  uint64
	conn uint64 // of TCP, the first frame of the connection's first message
}

// addRecord adds a record with its text, which was decided at a place. isChosen: the filter
// chooses it.
func (d *dialogues) addRecord(r *render.Record, text []byte, at place, isChosen bool) {
	c := d.collector
	t := dialogue.Turn{First: at.key, Conn: at.conn, About: r.Frames[len(r.Frames)-1], Server: r.Server, Client: r.Client, IsUnmatched: !isChosen,
		HasWantedFrame: c.Frame() != 0 && slices.Contains(r.Frames, c.Frame())}
	t.Turn = render.Turn{Text: text, Frame: at.key, Nanos: r.Nanos, IsRecord: true, Hole: r.Hole}
	d.out.buf = c.AddRecord(d.out.buf, &t)
}

// passTime advances time to nanos: dialogues that have been silent too long are written.
func (d *dialogues) passTime(nanos int64) { d.out.buf = d.collector.AdvanceTime(d.out.buf, nanos) }

// hasWanted reports whether the one dialogue that is wanted was written.
func (d *dialogues) hasWanted() bool {
	return d != nil && d.collector.Frame() != 0 && d.collector.Found()
}

// finish appends the dialogues that the end of the run leaves open. isStopped: it has as
// many messages as were wanted.
func (d *dialogues) finish(isStopped bool) { d.out.buf = d.collector.Finish(d.out.buf, isStopped) }

const (
	// limit: holdTime is how long a message of a stream is held: its client repeats a request for up to 10
	// s (track), and outcomeWait follows. Most exchanges are decided within 3 s.
	holdTime = 50 * time.Second
	// limit: holdBytes bounds what is held: the text of 10 s of 5,000 queries a second in JSON.
	holdBytes = 32 << 20
)
