package subset

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
)

// Plan is what a first run over a file found out about packets for which it is known too late
// in the second one: what a message means for those of its packets that have left the line when
// the message is decided. Few messages take that long.
type Plan struct {
	marked bitmap
	wiped  bitmap // packets whose edits had no room: all that they carry is overwritten
	memos  memos
	long   stretches
	room
	isOverfull bool // some packet could not even be marked as overwritten: all are
	near       int  // bytes that the line of the second run holds
	isSorted   bool
	next       uint64 // memo of the next packet that has any
}

// room counts what there was none for.
type room struct {
	uncommented, unmarked uint64
	number                [8]byte // for the text of a memo
}

// NewPlan returns an empty plan.
func NewPlan() *Plan { return &Plan{near: nearBytes, memos: newMemos(planBytes), long: newStretches()} }

func (p *Plan) mark(frame uint64) bool { return p.marked.set(frame) }

func (p *Plan) note(frame uint64, kind memoKind, text []byte) bool {
	return p.memos.add(frame, kind, text) != 0
}

func (p *Plan) wipe(frame uint64) { p.isOverfull = !p.wiped.set(frame) || p.isOverfull }

// take adds to an entry what the plan has about a packet, which is never asked for again. It is
// called with all packets in order, after the first run.
func (p *Plan) take(frame uint64, e *entry) {
	if !p.isSorted {
		p.isSorted, p.next = true, p.memos.sort()
	}
	e.isMarked = p.marked.clear(frame) || e.isMarked
	e.wipesAll = p.wiped.clear(frame) || p.isOverfull || e.wipesAll
	for ; p.next < p.memos.next && p.memos.at(p.next).frame <= frame; p.next++ {
		e.add(p.memos.at(p.next))
	}
}

// entry is what is written about a packet.
type entry struct {
	isMarked  bool     // it is written
	wipesAll  bool     // there was no room for the edits
	own, late [][]byte // comments
	wholes    []uint64 // the packets that completed the messages which this one is a part of
	edits     [][]byte
}

func (e *entry) reset() {
	*e = entry{own: e.own[:0], late: e.late[:0], wholes: e.wholes[:0], edits: e.edits[:0]}
}

// add adds a memo, which stays valid until the packet is written.
func (e *entry) add(m *memo) {
	switch m.kind {
	case ownComments:
		e.own = append(e.own, m.text)
	case lateComments:
		e.late = append(e.late, m.text)
	case partOf:
		e.addWhole(binary.LittleEndian.Uint64(m.text))
	case editsOf:
		e.edits = append(e.edits, m.text)
	}
}

func (e *entry) addWhole(frame uint64) {
	if len(e.wholes) < maxWholes && !slices.Contains(e.wholes, frame) {
		e.wholes = append(e.wholes, frame)
	}
}

// keeper keeps what is known of packets until they are written.
type keeper interface {
	mark(frame uint64) bool                             // it is to be written; false: there is no room
	note(frame uint64, kind memoKind, text []byte) bool // false: there is no room
	wipe(frame uint64)                                  // all that it carries is to be overwritten
}

// addMessage has k keep what a message means for those of its packets from first to last.
func (r *room) addMessage(k keeper, m *pipeline.Pick, first, last uint64) {
	comments, edits := splitNote(m.Note)
	kind := ownComments
	if m.IsLate {
		kind = lateComments
	}
	for _, frame := range m.Frames {
		if !m.IsChosen || frame < first || frame > last {
			continue
		}
		ok := k.mark(frame)
		switch {
		case !ok:
			r.unmarked++
			continue
		case frame != m.Frame:
			ok = k.note(frame, partOf, binary.LittleEndian.AppendUint64(r.number[:0], m.Frame))
		case len(comments) > 0:
			ok = k.note(frame, kind, comments)
		}
		if !ok {
			r.uncommented++
		}
	}
	for len(edits) > 0 {
		x, one, rest := cutEdit(edits)
		if edits = rest; x.frame >= first && x.frame <= last && !k.note(x.frame, editsOf, one) {
			k.wipe(x.frame)
		}
	}
}

// Collector is the pipeline.PacketSink of the first run over a file.
type Collector struct {
	plan *Plan
	line line
	notes
}

// Collector returns what fills the plan for a Writer with these Options.
func (p *Plan) Collector(o *Options) *Collector {
	c := &Collector{plan: p, line: newLine(p.near), notes: o.notes()}
	c.line.counts = true
	return c
}

// AppendNote implements pipeline.PacketSink. Most messages came in the packet that decided
// them: it is held when the second run meets these.
func (c *Collector) AppendNote(dst []byte, e *render.Event, isChosen bool) ([]byte, bool) {
	if len(e.Frames) == 0 && !e.Origin.IsLate {
		return dst, false
	}
	return c.append(dst, e, isChosen)
}

// AddMessage implements pipeline.PacketSink.
func (c *Collector) AddMessage(m *pipeline.Pick) {
	if c.line.released < m.Frames[0] {
		return // all are held then
	}
	c.plan.addMessage(c.plan, m, 0, c.line.released)
	c.plan.addStretch(m, &c.plan.long, &c.plan.memos)
}

// AddPackets implements pipeline.PacketSink.
func (c *Collector) AddPackets(b *capture.Batch) error {
	c.line.add(b)
	return c.line.release(false, nil)
}

// memos are what is to be written about packets, in the order in which it became known. Their
// texts lie in chunks of memory that are used again.
type memos struct {
	limit       int    // bytes, of texts and of the list
	ring        []memo // memo n is at n modulo the length, a power of two
	first, next uint64 // memos first to next-1 are there; none is number 0
	chunks      []chunk
	spare       [][]byte
	size        int
}

// memo is one thing that is to be written about a packet.
type memo struct {
	frame uint64
	text  []byte
	next  uint64 // number of the next memo about the packet that is chained; 0: none
	kind  memoKind
}

type memoKind byte

const (
	ownComments  memoKind = iota // of a message that the packet completed, one a line
	lateComments                 // the same, where a later packet decided the message
	partOf                       // the number of the packet that completed a message which this one is a part of
	editsOf                      // encoded
	stretchEdits                 // encoded, of a stretch
)

// chunk has the texts of consecutive memos.
type chunk struct {
	buf []byte
	n   int // memos
}

func newMemos(limit int) memos { return memos{limit: limit, first: 1, next: 1} }

func (m *memos) at(n uint64) *memo { return &m.ring[n&uint64(len(m.ring)-1)] }

// add keeps a copy of text, and returns the number of the memo; 0 if there is no room. One
// with more edits of the packet at hand is extended.
func (m *memos) add(frame uint64, kind memoKind, text []byte) uint64 {
	if m.size+len(text)+memoCost > m.limit {
		return 0
	}
	if last := m.next - 1; last >= m.first && kind == editsOf && m.at(last).kind == kind && m.at(last).frame == frame {
		if c := &m.chunks[len(m.chunks)-1]; len(c.buf)+len(text) <= cap(c.buf) {
			n := len(m.at(last).text) + len(text)
			c.buf = append(c.buf, text...)
			m.at(last).text = c.buf[len(c.buf)-n:]
			m.size += len(text)
			return last
		}
	}
	if m.next-m.first == uint64(len(m.ring)) {
		m.grow()
	}
	c := m.chunkFor(len(text))
	c.n++
	c.buf = append(c.buf, text...)
	*m.at(m.next) = memo{frame: frame, text: c.buf[len(c.buf)-len(text):], kind: kind}
	m.size += len(text) + memoCost
	m.next++
	return m.next - 1
}

// chunkFor returns the newest chunk, or another one if that has no room for n bytes.
func (m *memos) chunkFor(n int) *chunk {
	if k := len(m.chunks); k > 0 && len(m.chunks[k-1].buf)+n <= cap(m.chunks[k-1].buf) {
		return &m.chunks[k-1]
	}
	var buf []byte
	if k := len(m.spare); k > 0 && n <= chunkBytes {
		buf, m.spare = m.spare[k-1], m.spare[:k-1]
	} else {
		buf = make([]byte, 0, max(n, chunkBytes))
	}
	m.chunks = append(m.chunks, chunk{buf: buf})
	return &m.chunks[len(m.chunks)-1]
}

// grow doubles the ring.
func (m *memos) grow() {
	old := *m
	m.ring = make([]memo, max(2*len(old.ring), minRing))
	for n := old.first; n < old.next; n++ {
		*m.at(n) = *old.at(n)
	}
}

// drop drops memos from the first one on as long as they are about packets up to frame.
func (m *memos) drop(frame uint64) {
	for m.first < m.next && m.at(m.first).frame <= frame {
		m.size -= len(m.at(m.first).text) + memoCost
		m.first++
		c := &m.chunks[0]
		if c.n--; c.n > 0 {
			continue
		}
		if len(m.chunks) == 1 {
			c.buf = c.buf[:0]
			continue
		}
		if cap(c.buf) == chunkBytes {
			m.spare = append(m.spare, c.buf[:0])
		}
		m.chunks = m.chunks[:copy(m.chunks, m.chunks[1:])]
	}
}

// sort sorts the memos, of which none was dropped, by packet, and returns the number of the
// first.
func (m *memos) sort() uint64 {
	if m.first < m.next {
		if m.next > uint64(len(m.ring)) { // the last one is before the first
			m.grow()
		}
		slices.SortStableFunc(m.ring[m.first:m.next], func(a, b memo) int { return cmp.Compare(a.frame, b.frame) })
	}
	return m.first
}

// bitmap is a set of frame numbers, in pages that are allocated when they are needed and
// given back when they are empty.
type bitmap struct {
	pages map[uint64]*page
	spare *page // empty, for use again
}

type page struct {
	bits [pageBits / 64]uint64
	n    int // that are set
}

// set adds a frame. It returns false if there is no room for another page.
func (b *bitmap) set(frame uint64) bool {
	p := b.pages[frame/pageBits]
	if p == nil {
		if len(b.pages) >= maxPages {
			return false
		}
		if b.pages == nil {
			b.pages = make(map[uint64]*page)
		}
		if p, b.spare = b.spare, nil; p == nil {
			p = new(page)
		}
		b.pages[frame/pageBits] = p
	}
	word, bit := frame%pageBits/64, uint64(1)<<(frame%64)
	if p.bits[word]&bit == 0 {
		p.bits[word] |= bit
		p.n++
	}
	return true
}

// clear removes a frame and reports whether it was there.
func (b *bitmap) clear(frame uint64) bool {
	p := b.pages[frame/pageBits]
	if p == nil {
		return false
	}
	word, bit := frame%pageBits/64, uint64(1)<<(frame%64)
	if p.bits[word]&bit == 0 {
		return false
	}
	p.bits[word] &^= bit
	if p.n--; p.n == 0 {
		delete(b.pages, frame/pageBits)
		b.spare = p
	}
	return true
}

// A message over TCP in very many short segments has a list of only some of them: where
// they are joined, one stands for several. The others are found by their numbers.

// stretches are the numbers of messages over TCP that came in several segments, in the order
// in which these were decided.
type stretches struct {
	newest      map[connDir]uint64 // number of the newest stretch of a direction
	ring        []stretch          // stretch n is at n modulo the length, a power of two
	first, next uint64             // stretches first to next-1 are there; none is number 0
}

// connDir is a direction of a connection.
type connDir struct{ src, dst netip.AddrPort }

// stretch is the numbers of a message in several segments.
type stretch struct {
	of       connDir
	before   uint64 // number of the stretch before it in that direction, which may have been dropped
	seq, n   uint32
	frame    uint64 // that completed the message
	isChosen bool
	edits    []byte // encoded, of any of its packets: they are by number
}

func newStretches() stretches {
	return stretches{newest: make(map[connDir]uint64), first: 1, next: 1}
}

func (s *stretches) at(n uint64) *stretch { return &s.ring[n&uint64(len(s.ring)-1)] }

// addStretch adds the numbers of a message over TCP that came in several packets to s. texts
// keeps its edits.
func (r *room) addStretch(m *pipeline.Pick, s *stretches, texts *memos) {
	if !m.IsTCP || len(m.Frames) < 2 || m.IsJoined {
		return
	}
	x := stretch{of: connDir{m.Src, m.Dst}, seq: m.Seq, n: uint32(m.Len), frame: m.Frame, isChosen: m.IsChosen}
	_, edits := splitNote(m.Note)
	if edits = editsAbout(edits, m.Frame); len(edits) > 0 {
		n := texts.add(m.Frame, stretchEdits, edits)
		if n == 0 {
			r.unmarked++
			return
		}
		x.edits = texts.at(n).text
	}
	if s.next-s.first >= planStretches {
		r.unmarked++
		return
	}
	s.push(&x)
}

// push adds x as the newest.
func (s *stretches) push(x *stretch) {
	if s.next-s.first == uint64(len(s.ring)) {
		old := *s
		s.ring = make([]stretch, max(2*len(old.ring), minRing))
		for n := old.first; n < old.next; n++ {
			*s.at(n) = *old.at(n)
		}
	}
	x.before = s.newest[x.of]
	*s.at(s.next) = *x
	s.newest[x.of] = s.next
	s.next++
}

// drop drops stretches from the first one on as long as they end in packets up to frame.
func (s *stretches) drop(frame uint64) {
	for ; s.first < s.next && s.at(s.first).frame <= frame; s.first++ {
		if of := s.at(s.first).of; s.newest[of] == s.first {
			delete(s.newest, of)
		}
	}
}

// appendTo appends the stretches that bytes of a packet are in, the newest first.
func (s *stretches) appendTo(dst []*stretch, frame uint64, x *packet.Packet) []*stretch {
	seq := firstSeq(x)
	for n := s.newest[connDir{x.Src, x.Dst}]; n >= s.first; n = s.at(n).before {
		t := s.at(n)
		if frame <= t.frame && int32(seq-t.seq-t.n) < 0 && int32(seq+uint32(x.Wire)-t.seq) > 0 {
			dst = append(dst, t)
		}
	}
	return dst
}

// addStretches adds to the entry at work what the stretches that packet p has bytes of mean
// for it.
func (w *Writer) addStretches(p *capture.Packet) {
	if w.known.long.isEmpty() && (w.plan == nil || w.plan.long.isEmpty()) {
		return
	}
	x := &w.editor.empty
	x.Decode(p.Link, p.Data, int(p.Wire))
	if x.Stop != packet.TCP || x.Wire == 0 {
		return
	}
	found := w.known.long.appendTo(w.found[:0], p.No, x)
	if w.plan != nil {
		found = w.plan.long.appendTo(found, p.No, x)
	}
	for i := len(found) - 1; i >= 0; i-- {
		s := found[i]
		w.entry.edits = append(w.entry.edits, s.edits)
		if s.isChosen && !w.entry.isMarked {
			w.entry.isMarked = true
			w.entry.wholes = append(w.entry.wholes, s.frame)
		}
	}
	w.found = found
}

func (s *stretches) isEmpty() bool { return s.first == s.next }

const (
	// limit: pageBits and maxPages bound the marks of packets: a page of 8 KiB for 65,536 packets, and 64
	// MiB in all, which mark 537 million packets. Packets of messages of one packet are marked only while
	// their batch is written.
	pageBits = 1 << 16
	maxPages = 1 << 13
	// limit: planBytes bounds what is kept of comments and edits until their packets are written: what
	// messages that take long mean for packets that have left the line, of the whole file, and what is
	// known of the packets in the line, each. Chosen: beside the tables of a run, a quarter of its budget
	// is left. memoCost is what one of them takes besides its text, and chunkBytes the memory for texts
	// that is taken at a time.
	planBytes  = 16 << 20
	memoCost   = 56
	chunkBytes = 64 << 10
	// limit: minRing is how many entries a list begins with. Chosen: few captures need more of a list.
	minRing = 1 << 10
	// limit: planStretches is how many messages over TCP in several segments are kept, in a plan and of
	// those in the line, to find these segments by number: 120 bytes each, and their edits. Chosen: hardly
	// any capture of a console has more.
	planStretches = 1 << 16
	// limit: maxWholes is how many messages a packet names that it is a part of. One of TCP can hold the
	// ends of two and some whole ones; the rest is chosen.
	maxWholes = 4
	// limit: nearBytes is how many bytes of packets of a file are held back in the second run, so that the
	// plan of the first one is needed for few messages. The parts of a reply come within milliseconds: 1
	// MiB is 60 ms of a host that sends 15 MB a second. With 4 MiB nothing was in the plan either of a
	// million mixed packets, and what is known of them took as much more.
	nearBytes = 1 << 20
)
