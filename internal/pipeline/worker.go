package pipeline

import (
	"cmp"
	"context"
	"math"
	"net/netip"
	"slices"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/track"
	"qsniff/reassembly"
	"qsniff/reassembly/split"
)

// lookahead is how many items of its own a worker prepares for before their turn. Chosen: that is a
// few hundred nanoseconds, longer than memory takes.
const lookahead = 3

// worker passes items to the partitions that it serves, every jobs-th one from index on,
// in packet order, and hands what they make of them to the fold in segments. It waits
// while the fold has all segments. It has a goroutine of its own, or that of the reader:
// see stages.
type worker struct {
	index, jobs int
	mine        uint32       // bit i: it serves partition i
	parts       []*partition // all of them; it uses only its own
	in          chan *batch
	out, free   chan *segment
	b           *batch                // at work
	items       []int32               // of the batch: those for its partitions
	next        int                   // of these
	searches    [lookahead + 1]search // of the item at hand and those that follow
	isInline    bool                  // the fold is in the same goroutine, and asks for each segment
	// looksAhead is set where partitions prepare for items.
	looksAhead bool
	// endsEarly is set where the run may end within a batch: each segment needs totals then.
	endsEarly bool
}

// newWorker returns a worker with so many segments.
func newWorker(index, jobs int, parts []*partition, segments int) *worker {
	w := &worker{index: index, jobs: jobs, parts: parts, in: make(chan *batch, inFlight),
		out: make(chan *segment, segments), free: make(chan *segment, segments)}
	for p := index; p < Partitions; p += jobs {
		w.mine |= 1 << p
	}
	for range segments {
		w.free <- new(segment)
	}
	return w
}

// run works until the batches end or ctx does.
func (w *worker) run(ctx context.Context) {
	for b := range w.in {
		if !w.processBatch(ctx, b, nil) {
			return
		}
	}
}

// processBatch makes the segments of one batch. If the fold has not got the batch yet, it is
// sent to full with the first of them. It returns false if ctx ended.
func (w *worker) processBatch(ctx context.Context, b *batch, full chan<- *batch) bool {
	for w.begin(b); ; {
		seg := w.takeSegment(ctx)
		if seg == nil {
			return false
		}
		w.fill(seg)
		isLast := seg.isLast
		if full != nil {
			full <- b
			full = nil
		}
		if w.out <- seg; isLast || ctx.Err() != nil { // out has room for all segments
			return isLast
		}
	}
}

// begin prepares for a batch.
func (w *worker) begin(b *batch) {
	w.b, w.next = b, 0
	for p := w.index; p < Partitions; p += w.jobs {
		w.parts[p].begin(b)
	}
	w.listItems()
}

// fill processes items of the batch until an empty segment is full or the batch ends.
func (w *worker) fill(seg *segment) {
	for ; w.next < len(w.items) && !seg.isFull(); w.next++ {
		n, i := w.next, w.items[w.next]
		if w.looksAhead && n+lookahead < len(w.items) {
			w.prepare(n + lookahead)
		}
		it := &w.b.items[i]
		if it.part == allPartitions {
			spans, sights := len(seg.spans), len(seg.sights)
			for p := w.index; p < Partitions; p += w.jobs {
				w.parts[p].process(i, it, seg)
			}
			seg.sort(spans, sights)
		} else {
			p := w.parts[it.part]
			if w.looksAhead {
				p.search = &w.searches[n%len(w.searches)]
			}
			p.process(i, it, seg)
		}
	}
	seg.isLast = w.next == len(w.items)
	for p := w.index; p < Partitions && (seg.isLast || w.endsEarly); p += w.jobs {
		if w.parts[p].hasChanged {
			w.parts[p].hasChanged = false
			seg.totals[p] = w.parts[p].totals()
			seg.changed |= 1 << p
		}
	}
}

// listItems lists the items of the batch that are for its partitions. It has no branch: which items
// these are nobody foresees.
func (w *worker) listItems() {
	mine, n := w.mine|1<<allPartitions, 0
	w.items = slices.Grow(w.items[:0], len(w.b.items))[:len(w.b.items)]
	for i, part := range w.b.parts {
		w.items[n] = int32(i)
		n += int(mine >> part & 1)
	}
	w.items = w.items[:n]
	for i := range w.searches {
		w.searches[i].index = -1
	}
}

// prepare lets the partition of the n-th item prepare for it.
func (w *worker) prepare(n int) {
	if it := &w.b.items[w.items[n]]; it.part != allPartitions {
		w.parts[it.part].prepare(w.items[n], it, &w.searches[n%len(w.searches)])
	}
}

// takeSegment waits for an empty segment. It returns nil if ctx ended.
func (w *worker) takeSegment(ctx context.Context) *segment {
	select {
	case seg := <-w.free:
		seg.reset()
		return seg
	case <-ctx.Done():
		return nil
	}
}

// nextSegment returns the next segment of the batch to the fold. It returns nil if ctx ended.
func (w *worker) nextSegment(ctx context.Context) *segment {
	if w.isInline {
		seg := w.takeSegment(ctx) // the fold has at most one
		if seg != nil {
			w.fill(seg)
		}
		return seg
	}
	select {
	case seg := <-w.out:
		return seg
	case <-ctx.Done():
		return nil
	}
}

// segmentSize is how many rendered bytes a worker hands over at a time, unless a
// batch ends before. A segment may exceed it by one message: a reply of 1,400 bytes can
// become 140 KB of JSON with its layout. Together with segmentsPerWorker it bounds what
// is rendered and not written, and those of all workers lie in the processor's cache: with
// four times as much, read -o json cost 5 to 10 % more.
const segmentSize = 32 << 10

// segmentKept is how much a segment keeps of the memory that long messages made it take.
const segmentKept = 512 << 10

// segmentSights is how many sightings a worker hands over at a time: one for each packet
// of half a batch.
const segmentSights = capture.MaxPackets / 2

// segmentListed is how many listed servers a worker hands over at a time: as many bytes as
// segmentSights. A reply of a master server names 230 of them; without this limit a flood of such
// replies would make segments as large.
const segmentListed = 16 * segmentSights

// segmentsPerWorker: one is being filled, one is being merged, and three wait, so that a worker
// with much to do does not bring the others to rest. Measured with read -o json of a mix: three
// in all cost 8 % more processor time, and 18 % more time.
const segmentsPerWorker = 5

// span is what one message, note, silence or end of a connection became: a range of the
// rendered bytes, and a fact. Spans are merged by index, then by key, then by partition.
type span struct {
	index      int32  // of the item in its batch that decided it
	part       uint8  // the partition
	isMessage  bool   // not a record: it counts, and fact is valid
	key        uint64 // first frame of the message
	start, end int
	hole       int32 // 1 + offset from start of the room for the time since the line before; 0: none
	width      int32 // of that room
	nanos      int64 // of the message
	fact       track.Fact
	truth      filter.Truth // whether the message is chosen, or the record; All for what has no text

	found [2]int32 // range of its findings in the segment's found
	said  int32    // 1 + index of what a reply says in the segment's said; 0: none
	post  int32    // index of what a server reports of itself in the segment's posts; -1: none
	turn  int32    // 1 + index of its turn in the segment's turns; 0: none
	pick  int32    // 1 + index of what packets it chooses in the segment's picks; 0: none

	// A clue has no text and is no message: what track.Hosts alone gets to know.
	isDoubtful bool                 // fact is of what may be a request
	foreign    *dissect.ForeignType // fact is of a message of this protocol; nil: it is not
	begun      dissect.Asked        // fact is of a part of a reply to what asks for that; 0: it is not
	handshake  uint8                // 1 + how a connection failed before anything was said; 0: fact is of none
}

// isClue reports whether the span is one.
func (s *span) isClue() bool {
	return s.isDoubtful || s.foreign != nil || s.begun != 0 || s.handshake != 0
}

// noteHole records the hole in the text of the span, if there is one.
func (s *span) noteHole(h *render.Hole) {
	if h.IsSet {
		s.hole, s.width = int32(h.At-s.start+1), int32(h.Width)
	}
}

// turn is what dialogues need of a message besides its fact, and all that they need of a
// record.
type turn struct {
	conn           uint64 // first frame of the connection, 0 over UDP
	said           render.Quote
	server, client netip.AddrPort // of a record
	about          uint64         // frame that it is about
	isWanted       bool           // it has the frame that is wanted
	isEnd          bool           // no turn: the connection is over
}

// sight is a sighting at its place in a batch, or an event without a packet (see
// sightKind). Watchers get sights by index, then by partition: at a tick several
// partitions may have some, and which of them share a worker depends on the number of
// workers.
type sight struct {
	index int32
	post  int32 // 1 + index of what the server reports of itself in the segment's profiles; 0: none
	list  int32 // 1 + index of the servers that it names in the segment's lists; 0: none
	part  uint8
	kind  sightKind
	// isUnmatched is set for requests and segments if Config.WatchesMatches is set and they
	// are no chosen message.
	isUnmatched bool
	track.Sighting
}

// afterPartitions is the partition of a sight that follows those of all partitions.
const afterPartitions = Partitions

// precedes reports whether watchers get s before t.
func (s *sight) precedes(t *sight) bool { return s.compare(t) < 0 }

func (s *sight) compare(t *sight) int {
	return cmp.Or(cmp.Compare(s.index, t.index), cmp.Compare(s.part, t.part))
}

// sightKind is what a sight stands for.
type sightKind uint8

const (
	sawPacket sightKind = iota
	sawTick             // time passed
	sawLoss             // a stretch of the capture could not be read
	sawEnd              // the capture ended
)

// segment is what a worker made of some items of a batch, in their order. It has nothing
// to do with a segment of TCP.
type segment struct {
	buf    []byte
	spans  []span
	found  []track.Found
	detail []byte // of found
	posts  []track.ServerInfo
	said   []track.Said
	turns  []turn
	sights []sight
	// profiles are what servers report of themselves in the packets of sights.
	profiles []track.Profile
	listed   []uint64   // hashes of the servers that master servers list in the packets of sights
	lists    [][]uint64 // parts of listed, one of each packet
	briefs   []brief
	counts   typeCounts // of messages that the fold gets no more of
	picks    []pick
	frames   []uint64 // of picks
	notes    []byte   // of picks
	picked   Pick     // that the fold is at
	isLast   bool     // of its batch
	// totals are those of the partitions after the segment, of those in changed: bit i is
	// partition i.
	changed uint32
	totals  [Partitions]totals
}

// newSpan adds a span, which is empty.
func (s *segment) newSpan() *span {
	n := len(s.spans)
	if n == cap(s.spans) {
		s.spans = append(s.spans, span{})[:n]
	}
	s.spans = s.spans[:n+1]
	s.spans[n] = span{}
	return &s.spans[n]
}

// dropSpan takes back the span that was added last.
func (s *segment) dropSpan() { s.spans = s.spans[:len(s.spans)-1] }

// newBrief adds a brief, which the caller fills in.
func (s *segment) newBrief() *brief {
	n := len(s.briefs)
	if n == cap(s.briefs) {
		s.briefs = append(s.briefs, brief{})[:n]
	}
	s.briefs = s.briefs[:n+1]
	return &s.briefs[n]
}

// isFull reports whether the segment is to be handed over.
func (s *segment) isFull() bool {
	return len(s.buf)+len(s.notes) >= segmentSize || len(s.sights) > segmentSights || len(s.listed) > segmentListed
}

func (s *segment) reset() {
	if cap(s.buf) > segmentKept {
		s.buf = nil
	}
	s.buf, s.spans, s.isLast, s.changed = s.buf[:0], s.spans[:0], false, 0
	s.found, s.posts, s.said, s.turns = s.found[:0], s.posts[:0], s.said[:0], s.turns[:0]
	s.detail = s.detail[:0]
	s.sights, s.profiles, s.briefs, s.counts = s.sights[:0], s.profiles[:0], s.briefs[:0], s.counts[:0]
	s.listed, s.lists = s.listed[:0], s.lists[:0]
	s.picks, s.frames, s.notes = s.picks[:0], s.frames[:0], s.notes[:0]
}

// addFound adds a finding with a copy of its detail, whose memory is used again.
func (s *segment) addFound(f track.Found) {
	if len(f.Detail) > 0 {
		at := len(s.detail)
		s.detail = append(s.detail, f.Detail...) // where it grows, earlier details stay in the memory before
		f.Detail = s.detail[at:]
	}
	s.found = append(s.found, f)
}

// addTurn adds the turn of a span. The offsets in it count from the start of the segment
// before, and from the start of the span after.
func (s *segment) addTurn(x *span, t turn) {
	t.said.From -= x.start
	t.said.To = max(t.said.To-x.start, 0)
	s.turns = append(s.turns, t)
	x.turn = int32(len(s.turns))
}

// precedes reports whether s precedes t in the output.
func (s *span) precedes(t *span) bool { return s.compare(t) < 0 }

func (s *span) compare(t *span) int {
	return cmp.Or(cmp.Compare(s.index, t.index), cmp.Compare(s.key, t.key), cmp.Compare(s.part, t.part))
}

// sort sorts the spans from span0 on and the sights from sight0 on: at a tick several
// partitions write, and each may write several.
func (s *segment) sort(span0, sight0 int) {
	if len(s.spans)-span0 > 1 {
		slices.SortStableFunc(s.spans[span0:], func(a, b span) int { return a.compare(&b) })
	}
	if len(s.sights)-sight0 > 1 {
		slices.SortStableFunc(s.sights[sight0:], func(a, b sight) int { return a.compare(&b) })
	}
}

// arena holds joined datagrams until their batch is used again. What is in it does not
// move when it grows: full chunks stay where they are.
type arena struct {
	chunks [][]byte
	n      int // chunks in use
	pieces []reassembly.Piece
}

// arenaChunk holds any datagram: an IP payload is shorter than 64 KiB.
const arenaChunk = 64 << 10

// arenaKeep is how many chunks a batch keeps for its next use. Chosen: few batches have
// more than half a megabyte of fragments.
const arenaKeep = 8

func (a *arena) reset() {
	if len(a.chunks) > arenaKeep {
		clear(a.chunks[arenaKeep:])
		a.chunks = a.chunks[:arenaKeep]
	}
	for i := range a.chunks {
		a.chunks[i] = a.chunks[i][:0]
	}
	a.n = 0
	a.pieces = a.pieces[:0]
}

// add copies data, at most arenaChunk bytes, and returns the copy.
func (a *arena) add(data []byte) []byte {
	if a.n == 0 || cap(a.chunks[a.n-1])-len(a.chunks[a.n-1]) < len(data) {
		if a.n == len(a.chunks) {
			a.chunks = append(a.chunks, make([]byte, 0, arenaChunk))
		}
		a.n++
	}
	c := &a.chunks[a.n-1]
	start := len(*c)
	*c = append(*c, data...)
	return (*c)[start:len(*c):len(*c)]
}

// addPieces copies ps. The copy stays valid when the list grows, because it then
// keeps the old array.
func (a *arena) addPieces(ps []reassembly.Piece) []reassembly.Piece {
	start := len(a.pieces)
	a.pieces = append(a.pieces, ps...)
	return a.pieces[start:len(a.pieces):len(a.pieces)]
}

// current is the item that a partition works on, the segment to which its output is
// added, and the partition's counters. The partition sets it; all of its stages read it.
type current struct {
	part  uint8 // number of the partition
	item  *item
	index int32 // of the item in its batch
	seg   *segment
	shift int64  // what to add to an age to get a time stamp
	start int64  // time stamp of the first packet of the capture
	seed  uint64 // of the hashes in sightings
	n     totals
}

// setItem makes it the item at work. An abandoned datagram does not change the shift: its
// time stamp is older than its age, because it waited for the rest.
func (c *current) setItem(index int32, it *item, seg *segment) {
	c.index, c.item, c.seg = index, it, seg
	if it.kind != kindAbandoned {
		c.shift = it.nanos - it.age
	}
}

// addSpan adds an empty span at the end of the segment's text, for something that the item
// decided and whose first frame is key. The caller fills it in before it adds another one.
func (c *current) addSpan(key uint64, nanos int64) *span {
	at := len(c.seg.buf)
	x := c.seg.newSpan()
	x.index, x.part, x.key, x.start, x.end, x.nanos, x.post, x.truth = c.index, c.part, key, at, at, nanos, -1, filter.All
	return x
}

// partition processes the items of one sixteenth of all address pairs, and keeps all
// state about them. It is a row of stages, listed here in the order in which an item
// passes through them; see the comment of the package.
type partition struct {
	now            current
	sights         *sightMaker // nil: there are no watchers
	skipsDatagrams bool        // datagrams are for watchers only
	marksSights    bool        // see Config.WatchesMatches
	brevity        *brevity
	search         *search // for the flow of the item at hand; a worker sets it
	hasChanged     bool    // totals may differ from what they were when the worker handed them over
	joiner         *joiner
	streams        *streams // nil before the first segment: most captures have none
	identifier     *identifier
	parser         *parser
	tracker        *tracker
	emitter        *emitter
	skipsStreams   map[*dissect.Proto]bool // see Config.skipsTexts
	size           float64                 // of the tables, as a multiple of the usual
}

func newPartition(number int, cfg *Config, size float64) *partition {
	p := &partition{now: current{part: uint8(number)}, size: size, search: &search{index: -1}}
	now, flows := &p.now, track.NewFlows(int(track.DefaultFlows*size))
	p.emitter = newEmitter(now, cfg)
	p.tracker = newTracker(now, int(track.DefaultExchanges*size), flows, p.emitter, cfg)
	p.brevity = newBrevity(cfg)
	p.parser = &parser{msg: new(dissect.Message), reg: cfg.Registry, flows: flows, tracker: p.tracker, brevity: p.brevity}
	p.parser.skipsTexts, p.skipsStreams = cfg.skipsTexts()
	p.identifier = &identifier{now: now, reg: cfg.Registry, decodeAs: cfg.DecodeAs, flows: flows, parked: newParking(), parser: p.parser, last: new(lastLook),
		echoes: &echoes{index: -1}}
	p.joiner = newJoiner(now, size, p.identifier, p.tracker)
	p.identifier.pairs = &p.identifier.echoes.pairs
	if len(cfg.Watchers) > 0 {
		p.identifier.pairs = nil
		p.sights = &sightMaker{msg: new(dissect.Message), now: now, reg: cfg.Registry, decodeAs: cfg.DecodeAs,
			echoes: p.identifier.echoes}
		if wantsProfiles(cfg.Watchers) {
			p.sights.profiles = new(profileMaker)
		}
		p.skipsDatagrams, p.marksSights = cfg.wantsOnlySightings(), cfg.WatchesMatches && cfg.Filter != nil
	}
	return p
}

// shareMemory makes p use the memory of q for messages, which last no longer than an item, for the
// last payload, for decompression, and for what its renderer remembers. One worker serves both. Neither
// has had an item yet.
func (p *partition) shareMemory(q *partition) {
	p.parser.msg, p.emitter.renderer, p.identifier.last = q.parser.msg, q.emitter.renderer, q.identifier.last
	p.joiner.split.ShareInflater(q.joiner.split)
	if p.sights != nil {
		p.sights.msg = q.sights.msg
	}
}

// newStreams returns streams that pass messages to the later stages of the partition.
func (p *partition) newStreams() *streams {
	q := claims{reg: p.identifier.reg, decodeAs: p.identifier.decodeAs}
	return newStreams(p.size, q, connReport{now: &p.now, tracker: p.tracker, emitter: p.emitter, sights: p.sights,
		skipsTexts: p.skipsStreams, msg: p.parser.msg})
}

// begin prepares for the items of a batch.
func (p *partition) begin(b *batch) { p.now.start, p.now.seed = b.totals.first, b.seed }

// process passes one item through the stages; what becomes of it is added to seg.
func (p *partition) process(index int32, it *item, seg *segment) {
	p.now.setItem(index, it, seg)
	if p.marksSights {
		defer p.markSights(seg, len(seg.spans), len(seg.sights))
	}
	var first *look
	if p.sights != nil {
		first = p.sights.addSightings(it)
		if p.skipsDatagrams && it.kind != kindSegment && it.kind != kindTick && it.kind != kindEnd {
			return
		}
	}
	p.hasChanged = true
	if it.weight > 1 { // the answer to it is hardly among the samples
		p.tracker.noteGap(math.MaxInt64)
	}
	if p.brevity.hasShortWay && it.kind == kindDatagram {
		var isDone bool
		if first, isDone = p.processUsual(it, first); isDone {
			return
		}
	}
	switch it.kind {
	case kindTick:
		p.expire(it.age)
	case kindEnd:
		p.flush(it.age)
	case kindStray: // for watchers alone
	case kindBegun:
		p.tracker.notePart(it)
	case kindQuoted:
		p.reportICMP(it)
	case kindGap:
		p.tracker.noteGap(it.age)
		if p.now.part == 0 { // all partitions get the gap, one reports it
			reportDamage(p.emitter, it)
		}
	case kindSegment:
		if p.streams == nil {
			p.streams = p.newStreams()
		}
		p.streams.addSegment(it)
	default:
		p.joiner.join(it, first)
	}
}

// markSights marks the requests and segments among the sights from sight0 on, if no message
// among the spans from span0 on is chosen.
func (p *partition) markSights(seg *segment, span0, sight0 int) {
	isChosen := false
	for i := span0; i < len(seg.spans); i++ {
		x := &seg.spans[i]
		isChosen = isChosen || x.isMessage && x.truth == filter.All && x.fact.Frame == p.now.item.frame
	}
	for i := sight0; i < len(seg.sights); i++ {
		x := &seg.sights[i]
		x.isUnmatched = x.kind == sawPacket && (x.What == track.IsRequest && !isChosen || x.Flags&track.Connection != 0)
	}
}

// reportICMP reports an ICMP error if it quotes a message, and counts it if not.
func (p *partition) reportICMP(it *item) {
	t := p.identifier.typeOf(it, nil)
	if t == nil {
		p.now.n.icmp++
		return
	}
	reportQuoted(p.emitter, it, t)
}

// expire delivers or drops what has waited too long at age.
func (p *partition) expire(age int64) {
	p.joiner.expire(age)
	if p.streams != nil {
		p.streams.expire(age)
	}
	p.tracker.expire(age)
}

// flush delivers what still waits when the capture ends at age.
func (p *partition) flush(age int64) {
	p.joiner.flush(age)
	if p.streams != nil {
		p.streams.flush(age)
	}
	p.tracker.expire(age)
}

// totals returns the counters so far.
func (p *partition) totals() totals {
	n := p.now.n
	n.flowsEvicted, n.exchangesEvicted, n.visitsEvicted = p.identifier.flows.Evicted(), p.tracker.exchanges.Evicted(), p.tracker.exchanges.VisitsEvicted()
	n.split, n.joined = p.joiner.counters()
	n.pairing = p.identifier.echoes.pairs.n
	if p.streams != nil {
		n.tcp = p.streams.asm.Counters
	}
	return n
}

// payload is the bytes that a message is made of, from one datagram, from several that
// were joined, or from a connection, and where they came from.
type payload struct {
	src, dst     netip.AddrPort
	data         []byte
	run          int // length of data before the first gap: only that much is dissected
	wire         int // length as sent
	frame        uint64
	frames       []uint64
	nanos        int64
	began        int64              // time stamp of its first packet; 0 if only nanos is known
	conn         uint64             // of TCP, the number of the connection from 1
	pieces       []reassembly.Piece // which frame brought which bytes; nil if one brought all, or if they were compressed
	origin       []reassembly.Piece // like pieces, also where one frame brought all or they were compressed; nil: all of data is one datagram's
	seq          uint32             // of TCP, the sequence number of data[0]
	ipPieces     int                // number of IP fragments that it came in; 0: not fragmented
	set          *split.Set
	ways         []packet.Way // around the packet that completed it
	from         *origin      // of that packet; nil if it is not at hand
	joined       *dissect.Joined
	isReply      bool
	isMisfit     bool   // its UDP length does not fit: the receiver drops it
	isIncomplete bool   // what is missing will not come
	why          string // what became of the missing bytes; empty if none are missing
	isTCP        bool
	stream       uint64 // first frame of its connection's first message
	key          uint64 // its place among what is written at the same packet; 0: its first frame
	record       string // see render.Event
	cut          string // likewise
	first        *look  // what sightMaker found out about it; nil if it did not look
}

// isMismatched reports whether s came out of a compressed stream and is not what the header of the
// stream declares. Nothing is learned of a server from it.
func (s *payload) isMismatched() bool { return s.set != nil && s.set.Outcome == split.BadBzip2 }

// outcome is what became of a payload.
type outcome uint8

const (
	reported  outcome = iota
	unclaimed         // no protocol claims it
	sentBack          // it sends a request back, and was counted
	doubtful          // it could be a message, and nothing confirms that
)

// train is the time from the first packet of s to the last, in nanoseconds.
func (s *payload) train() int64 {
	if s.began == 0 || len(s.frames) < 2 {
		return 0
	}
	return s.nanos - s.began
}

// firstFrame returns the key by which s is ordered among what is written at one packet.
func (s *payload) firstFrame() uint64 {
	if s.key > 0 {
		return s.key
	}
	if len(s.frames) > 0 {
		return s.frames[0]
	}
	return s.frame
}
