package subset

import (
	"cmp"
	"slices"
)

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
