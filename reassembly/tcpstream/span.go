package tcpstream

import "math"

// never is the time of an event that did not happen.
const never = math.MinInt64

// span is a stretch of a direction that is kept: the bytes in order that the sink
// left, or a run after a hole. A run may lack bytes altogether, if the capture
// cut all of them.
type span struct {
	seq       uint32 // number of the first byte
	sent      uint32 // number after the last byte as sent: beyond end if the capture cut it
	unit      uint32 // its buffer
	off, n    uint32 // where the bytes are in it
	pieces    uint32 // number of pieces
	next      uint32 // the following run, or the next unused span
	order     uint8  // of the buffer
	hasBuffer bool   // it has one
	since     int64  // when the first of the bytes came
	acked     int64  // of a run: when the other end had acknowledged all before it
}

// end returns the number after the last byte.
func (s *span) end() uint32 { return s.seq + s.n }

// spans is a fixed supply of spans and of memory for their bytes. Number 0 is "no
// span".
type spans struct {
	arena
	items []span
	unused,
	fresh uint32
	inUse int
}

func newSpans(bytes int, largest uint8) spans {
	a := newArena(bytes, largest)
	return spans{arena: a, items: make([]span, len(a.order)+1), fresh: 1}
}

// newSpan returns a span without buffer; 0 if none is left.
func (m *spans) newSpan() uint32 {
	i := m.unused
	switch {
	case i != 0:
		m.unused = m.items[i].next
	case int(m.fresh) < len(m.items):
		i = m.fresh
		m.fresh++
	default:
		return 0
	}
	m.items[i] = span{acked: never}
	m.inUse++
	return i
}

// release frees span i and its buffer.
func (m *spans) release(i uint32) {
	s := &m.items[i]
	if s.hasBuffer {
		m.returnBuffer(s.unit, s.order)
	}
	*s = span{next: m.unused}
	m.unused = i
	m.inUse--
}

// bytes returns the bytes of span i, valid until it changes.
func (m *spans) bytes(i uint32) []byte {
	s := &m.items[i]
	return m.dataAt(s.unit)[s.off:][:s.n]
}

// piecesOf returns the pieces of span i, valid until it changes.
func (m *spans) piecesOf(i uint32) []TimedPiece {
	s := &m.items[i]
	return m.piecesAt(s.unit)[:s.pieces]
}

// room returns the size of the span's buffer in bytes.
func (s *span) room() int { return minBuffer << s.order }

// moveTo moves the bytes of span i to the front or the back of another buffer, and
// returns its old one to the arena.
func (m *spans) moveTo(i, unit uint32, order uint8, back bool) {
	s := &m.items[i]
	off := uint32(0)
	if back {
		off = minBuffer<<order - s.n
	}
	copy(m.dataAt(unit)[off:], m.bytes(i))
	copy(m.piecesAt(unit), m.piecesOf(i))
	if s.hasBuffer {
		m.returnBuffer(s.unit, s.order)
	}
	s.unit, s.order, s.hasBuffer, s.off = unit, order, true, off
}

// shiftTo moves the bytes of span i to the front or the back of their buffer.
func (m *spans) shiftTo(i uint32, back bool) {
	s := &m.items[i]
	off := uint32(0)
	if back {
		off = uint32(s.room()) - s.n
	}
	copy(m.dataAt(s.unit)[off:][:s.n], m.bytes(i))
	s.off = off
}

// addPiece records that the last bytes of span i, already counted in span.n, came as p says.
func (m *spans) addPiece(i uint32, p TimedPiece) {
	s := &m.items[i]
	list := m.piecesOf(i)
	if k := len(list); k > 0 {
		last := &list[k-1]
		if last.Frame == p.Frame && last.start == p.start || k == piecesPerUnit<<s.order {
			last.Len += p.Len
			last.addFrame(p.Frame, p.Nanos)
			return
		}
	}
	s.pieces++
	p.Off = s.n - p.Len
	m.piecesOf(i)[len(list)] = p
}

// addFirstPiece records that the first bytes of span i, already counted in span.n, came as p says.
func (m *spans) addFirstPiece(i uint32, p TimedPiece) {
	s := &m.items[i]
	list := m.piecesOf(i)
	for k := range list {
		list[k].Off += p.Len
	}
	if list[0].Frame == p.Frame && list[0].start == p.start || len(list) == piecesPerUnit<<s.order {
		list[0].Off = 0
		list[0].Len += p.Len
		list[0].addFrame(p.Frame, p.Nanos)
		return
	}
	s.pieces++
	list = m.piecesOf(i)
	copy(list[1:], list)
	list[0] = p
}

// append adds bytes, which came as p says, after those of span i, which has room for them.
func (m *spans) append(i uint32, b []byte, p TimedPiece) {
	s := &m.items[i]
	s.n += uint32(len(b))
	copy(m.bytes(i)[int(s.n)-len(b):], b)
	if int32(s.end()-s.sent) > 0 {
		s.sent = s.end()
	}
	p.Len = uint32(len(b))
	m.addPiece(i, p)
}

// prepend adds bytes, which came as p says, before those of span i, which has room for them there.
func (m *spans) prepend(i uint32, b []byte, p TimedPiece) {
	s := &m.items[i]
	n := uint32(len(b))
	s.off -= n
	s.seq -= n
	s.n += n
	copy(m.bytes(i), b)
	p.Off, p.Len = 0, n
	m.addFirstPiece(i, p)
}

// appendSpan adds the bytes of span j after those of span i, which has room for
// them, and releases j.
func (m *spans) appendSpan(i, j uint32) {
	s, t := &m.items[i], &m.items[j]
	b := m.bytes(j)
	for _, p := range m.piecesOf(j) {
		m.append(i, b[p.Off:][:p.Len], p)
	}
	if int32(t.sent-s.sent) > 0 {
		s.sent = t.sent
	}
	m.release(j)
}

// consume drops the first n bytes of span i, and returns the upper half of its buffer as
// often as the bytes that are left fill a quarter of it at most.
func (m *spans) consume(i uint32, n int) {
	s := &m.items[i]
	s.off += uint32(n)
	s.seq += uint32(n)
	s.n -= uint32(n)
	list := m.piecesOf(i)
	gone := 0
	for gone < len(list) && int(list[gone].Off+list[gone].Len) <= n {
		gone++
	}
	copy(list, list[gone:])
	s.pieces -= uint32(gone)
	for k, p := range m.piecesOf(i) {
		end := p.Off + p.Len - uint32(n)
		off := max(p.Off, uint32(n)) - uint32(n)
		list[k].Off, list[k].Len = off, end-off
	}
	for s.order > 0 && int(s.n) <= s.room()/4 && s.pieces <= piecesPerUnit<<(s.order-1) {
		m.shiftTo(i, false)
		m.returnUpperHalf(s.unit, s.order)
		s.order--
	}
}

// arena is the memory for bytes that wait. It is cut into buffers of 1, 2, 4 ...
// 1,024 units by halving, and halves that are free again are joined (the buddy
// system), so that no mixture of sizes leaves it fragmented for good. A buffer is
// identified by its first unit. Each unit has room for piecesPerUnit pieces.
//
// Memory is allocated in blocks of the largest buffer. A block grows to what is needed of
// it, and stays: most captures have a few commands under way, and never need the second
// half of the first block.
type arena struct {
	blocks []block
	free   [maxOrder + 1]uint32 // first free buffer of each order; unit + 1, 0 is none
	next   []uint32             // of a free buffer, the next one in its list
	prev   []uint32
	order  []uint8 // of the free buffer that starts at this unit, + 1; 0 if none does
	used   int     // bytes in buffers
	// largest is the order of the largest buffer, at most maxOrder.
	largest uint8
}

// unitInBlock returns the number of a unit in its block.
func (a *arena) unitInBlock(unit uint32) int { return int(unit & (1<<a.largest - 1)) }

// block is the memory of the first units of a largest buffer, as many as were needed so far.
type block struct {
	data   []byte
	pieces []TimedPiece
}

// newArena returns an arena of so many bytes whose largest buffer has an order.
func newArena(bytes int, largest uint8) arena {
	unitsPerBlock := 1 << largest
	blocks := bytes / (minBuffer << largest)
	units := blocks * unitsPerBlock
	a := arena{
		largest: largest,
		blocks:  make([]block, blocks),
		next:    make([]uint32, units),
		prev:    make([]uint32, units),
		order:   make([]uint8, units),
	}
	for u := units - unitsPerBlock; u >= 0; u -= unitsPerBlock {
		a.link(uint32(u), largest)
	}
	return a
}

// orderFor returns the order of the smallest buffer for n bytes, at most maxBuffer: it
// has 1<<order units.
func orderFor(n int) uint8 {
	o := uint8(0)
	for n > minBuffer<<o {
		o++
	}
	return o
}

// takeBuffer returns a buffer of the order, if one is free.
func (a *arena) takeBuffer(order uint8) (unit uint32, ok bool) {
	o := order
	for o <= a.largest && a.free[o] == 0 {
		o++
	}
	if o > a.largest {
		return 0, false
	}
	unit = a.free[o] - 1
	a.unlink(unit)
	for o > order {
		o--
		a.link(unit+1<<o, o)
	}
	a.used += minBuffer << order
	a.blocks[unit>>a.largest].cover(a.unitInBlock(unit) + 1<<order)
	return unit, true
}

// cover makes sure that the block has memory for its first units. It at least doubles, from
// firstUnits on. Its content moves: no caller keeps a part of it while a buffer is taken.
func (b *block) cover(units int) {
	const firstUnits = 8 // chosen: two packets of a console as long as they usually get
	n := max(firstUnits, len(b.data)/minBuffer)
	for n < units {
		n *= 2
	}
	if n*minBuffer == len(b.data) {
		return
	}
	data, pieces := make([]byte, n*minBuffer), make([]TimedPiece, n*piecesPerUnit)
	copy(data, b.data)
	copy(pieces, b.pieces)
	b.data, b.pieces = data, pieces
}

// dataAt returns the memory of a block from a unit on.
func (a *arena) dataAt(unit uint32) []byte {
	return a.blocks[unit>>a.largest].data[a.unitInBlock(unit)*minBuffer:]
}

// piecesAt returns the room for pieces from a unit on.
func (a *arena) piecesAt(unit uint32) []TimedPiece {
	return a.blocks[unit>>a.largest].pieces[a.unitInBlock(unit)*piecesPerUnit:]
}

// returnBuffer frees a buffer and joins it with its free buddies.
func (a *arena) returnBuffer(unit uint32, order uint8) {
	a.used -= minBuffer << order
	for order < a.largest {
		buddy := unit ^ 1<<order
		if a.order[buddy] != order+1 {
			break
		}
		a.unlink(buddy)
		unit &= buddy
		order++
	}
	a.link(unit, order)
}

// returnUpperHalf frees the upper half of a buffer.
func (a *arena) returnUpperHalf(unit uint32, order uint8) { a.returnBuffer(unit+1<<(order-1), order-1) }

func (a *arena) link(unit uint32, order uint8) {
	first := a.free[order]
	a.next[unit], a.prev[unit], a.order[unit] = first, 0, order+1
	if first != 0 {
		a.prev[first-1] = unit + 1
	}
	a.free[order] = unit + 1
}

func (a *arena) unlink(unit uint32) {
	next, prev := a.next[unit], a.prev[unit]
	if prev != 0 {
		a.next[prev-1] = next
	} else {
		a.free[a.order[unit]-1] = next
	}
	if next != 0 {
		a.prev[next-1] = prev
	}
	a.order[unit] = 0
}

// allocSpan returns a span for c with a buffer for n bytes. If there is no memory, other
// connections give up their bytes; allocSpan returns 0 if no other has any.
func (a *Assembler) allocSpan(c *Conn, n int) uint32 {
	i := a.mem.newSpan()
	for i == 0 {
		if !a.makeRoom(c) {
			return 0
		}
		i = a.mem.newSpan()
	}
	if n == 0 {
		return i
	}
	order := orderFor(n)
	unit, ok := a.allocBuffer(c, order)
	if !ok {
		a.mem.release(i)
		return 0
	}
	a.mem.moveTo(i, unit, order, false)
	return i
}

// allocBuffer returns a buffer of the order, in the same way; ok is false if there is none.
func (a *Assembler) allocBuffer(c *Conn, order uint8) (unit uint32, ok bool) {
	for {
		if unit, ok = a.mem.takeBuffer(order); ok || !a.makeRoom(c) {
			return unit, ok
		}
	}
}

// ensureRoomAfter makes room for n bytes after those of span i, together at most
// maxBuffer, and reports whether it could. Bytes are moved only when as many were consumed
// or the buffer doubles, so that the cost of a byte does not depend on how many wait.
func (a *Assembler) ensureRoomAfter(c *Conn, i uint32, n int) bool {
	s := &a.mem.items[i]
	total := int(s.n) + n
	if s.hasBuffer && int(s.off)+total <= s.room() {
		return true
	}
	if s.hasBuffer && total <= s.room() && (s.off >= s.n || s.order == a.mem.largest) {
		a.mem.shiftTo(i, false)
		return true
	}
	return a.grow(c, i, total, false)
}

// ensureRoomBefore does the same for n bytes before those of span i.
func (a *Assembler) ensureRoomBefore(c *Conn, i uint32, n int) bool {
	s := &a.mem.items[i]
	total := int(s.n) + n
	if int(s.off) >= n {
		return true
	}
	if total <= s.room() && (s.room() >= 2*total || s.order == a.mem.largest) {
		a.mem.shiftTo(i, true)
		return true
	}
	return a.grow(c, i, total, true)
}

// grow moves span i to a larger buffer, for total bytes, with its bytes at the front or at
// the back. It reports whether they have the room then.
func (a *Assembler) grow(c *Conn, i uint32, total int, back bool) bool {
	s := &a.mem.items[i]
	order := orderFor(total)
	if s.hasBuffer && order <= s.order {
		order = s.order + 1
	}
	if s.hasBuffer && total <= s.room() { // a larger one saves moves only: no other gives up bytes for it
		if unit, ok := a.mem.takeBuffer(order); ok {
			a.mem.moveTo(i, unit, order, back)
		} else {
			a.mem.shiftTo(i, back)
		}
		return true
	}
	unit, ok := a.allocBuffer(c, order)
	if ok {
		a.mem.moveTo(i, unit, order, back)
	}
	return ok
}

// makeRoom gives up all bytes of the connection that has been silent longest of those
// that keep bytes, other than c. It returns false if there is none.
func (a *Assembler) makeRoom(c *Conn) bool {
	victim := a.holding.oldest
	if victim == c && victim != nil {
		victim = victim.links[byHolding].next
	}
	if victim == nil {
		return false
	}
	for _, side := range victim.sides() {
		a.giveUpDirection(victim, side)
	}
	a.updateLists(victim)
	return true
}

// giveUpDirection drops the bytes that a direction keeps. The direction goes on after the
// last of them.
func (a *Assembler) giveUpDirection(c *Conn, side uint8) {
	h := &c.halves[side]
	if !h.isHolding() {
		return
	}
	end := h.next
	for i := h.runs; i != 0; i = a.mem.items[i].next {
		end = a.mem.items[i].sent
	}
	fin, finSeq := h.hasFIN && int32(h.finSeq-end) >= 0, h.finSeq
	if fin {
		end = finSeq
	}
	a.Counters.GivenUp += uint64(h.kept)
	missing := end - h.next
	h.next = end
	a.interrupt(c, side, Break{Why: GivenUp, Len: uint64(missing)})
	a.releaseAll(h)
	if fin {
		a.endDirection(c, side, Finished)
	}
}
