package split

import "qsniff/internal/base/lru"

// findPart returns the part of s with a number, or 0.
func (a *Assembler) findPart(s *partSet, number uint8) uint32 {
	p := s.head
	for p != 0 && a.parts.items[p].number != number {
		p = a.parts.next[p]
	}
	return p
}

// linkPart appends part p to set s, which lacks a part with this number.
func (a *Assembler) linkPart(s *partSet, p uint32, number uint8) {
	pt := &a.parts.items[p]
	pt.number = number
	a.parts.next[p] = 0
	if s.tail == 0 {
		s.head = p
	} else {
		a.parts.next[s.tail] = p
	}
	s.tail = p
	s.got[number>>6] |= 1 << (number & 63)
	s.n++
	s.blocks += blocksFor(int(pt.len))
	s.first = min(s.first, pt.nanos)
	s.last = max(s.last, pt.nanos)
}

func (a *Assembler) releaseParts(head uint32) {
	for p := head; p != 0; p = a.parts.next[p] {
		a.releaseBytes(&a.parts.items[p])
	}
	a.parts.release(head)
}

func (a *Assembler) releaseBytes(pt *keptPart) {
	a.blocks.release(pt.blocks)
	a.pieces.release(pt.pieces)
	pt.blocks, pt.pieces = 0, 0
}

// startOf returns the first bytes of a kept datagram: at least its header and, in a
// part 0, the start of a compressed stream.
func (a *Assembler) startOf(pt *keptPart) []byte {
	return a.blocks.items[pt.blocks][:min(pt.len, blockSize)]
}

// digestOf returns a digest of a datagram. It is keyed with a secret, so that an attacker
// cannot make a part that passes for the duplicate of another.
func (a *Assembler) digestOf(b []byte) uint64 {
	return lru.Mix(lru.MixBytes(a.seed, b), uint64(len(b)))
}

// digestBlocks returns the digestOf the first n bytes in the chain of blocks from block on.
func (a *Assembler) digestBlocks(block uint32, n int) uint64 {
	h := a.seed
	for left := n; left > 0; left -= blockSize {
		h = lru.MixBytes(h, a.blocks.items[block][:min(left, blockSize)])
		block = a.blocks.next[block]
	}
	return lru.Mix(h, uint64(n))
}

// isSame reports whether b, of which wire bytes were sent, equals a kept part, as far as
// the capture has bytes of both.
func (a *Assembler) isSame(pt *keptPart, b []byte, wire int) bool {
	if int(pt.wire) != wire {
		return false
	}
	n := min(int(pt.len), len(b))
	for block := pt.blocks; n > 0; block = a.blocks.next[block] {
		k := min(n, blockSize)
		if string(a.blocks.items[block][:k]) != string(b[:k]) {
			return false
		}
		b, n = b[k:], n-k
	}
	return true
}

// areSame is isSame for two kept parts.
func (a *Assembler) areSame(p, q *keptPart) bool {
	if p.wire != q.wire {
		return false
	}
	n := min(int(p.len), int(q.len))
	for x, y := p.blocks, q.blocks; n > 0; n -= blockSize {
		k := min(n, blockSize)
		if string(a.blocks.items[x][:k]) != string(a.blocks.items[y][:k]) {
			return false
		}
		x, y = a.blocks.next[x], a.blocks.next[y]
	}
	return true
}
