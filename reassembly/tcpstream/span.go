package tcpstream

import (
	"math"
)

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
