package ipfrag

import (
	"hash/maphash"
	"math/bits"
)

// none ends every chain of indexes.
const none = ^uint32(0)

// key identifies a datagram. In IPv4 the protocol is part of it (RFC 791 section
// 3.2); in IPv6 it is 0, because fragments of one datagram may name different
// protocols and that of the first counts (RFC 8200 section 4.5).
type key struct {
	src, dst [16]byte
	id       uint32
	proto    uint8
	version  uint8
}

// set holds the fragments of one datagram that came.
type set struct {
	key          key
	first, last  int64  // arrival of the earliest and the latest fragment
	frags        uint32 // chain of fragments by offset
	tail         uint32 // the last of them
	have         uint32 // bytes that they cover on the wire
	total        uint32 // length of the datagram, 0 as long as its last fragment is missing
	reach        uint32 // where the fragment ends that goes furthest
	chain        uint32 // next set in the index, or next free set
	older, newer uint32
	count        uint16 // of frags
	proto, ttl   uint8
}

// fragment is one fragment of a set. The snap length may have cut it: got <= wire.
type fragment struct {
	frame     uint64
	off       uint32
	wire, got uint32 // bytes as sent, bytes as captured
	block     uint32 // first of the blocks that hold the bytes
	next      uint32 // next fragment of the set, or next free fragment
	beginsRun bool   // it did not come right after the one before it, with none beyond
}

func (f *fragment) end() uint32 { return f.off + f.wire }

// indexSize returns the length of the index for so many sets: a power of two above
// their number, so that chains are short.
func indexSize(sets int) int { return 1 << bits.Len(uint(sets)) }

// freeAll puts all sets, fragments and blocks on their free lists.
func (t *Table) freeAll() {
	for i := range t.index {
		t.index[i] = none
	}
	for i := range t.sets {
		t.sets[i].chain = uint32(i) + 1
	}
	for i := range t.frags {
		t.frags[i].next = uint32(i) + 1
		t.next[i] = uint32(i) + 1
	}
	t.sets[len(t.sets)-1].chain = none
	t.frags[len(t.frags)-1].next = none
	t.next[len(t.next)-1] = none
	t.blocksLeft = len(t.next)
	t.freeSet, t.freeFrag, t.freeBlock = 0, 0, 0
}

// bucket returns the head of the chain that k belongs to. Each Table hashes with a
// secret seed of its own, so that an attacker cannot send keys that all fall into one
// chain. The seed changes no result: chains are searched to the end, and sets are
// evicted by age.
func (t *Table) bucket(k *key) *uint32 {
	return &t.index[maphash.Comparable(t.seed, *k)&uint64(len(t.index)-1)]
}

func (t *Table) find(k *key) uint32 {
	s := *t.bucket(k)
	for s != none && t.sets[s].key != *k {
		s = t.sets[s].chain
	}
	return s
}

// insert returns a new empty set for k. If all sets are in use, it evicts the oldest.
func (t *Table) insert(k *key, nanos int64) uint32 {
	if t.freeSet == none {
		t.evict(none)
	}
	s := t.freeSet
	t.freeSet = t.sets[s].chain
	head := t.bucket(k)
	t.sets[s] = set{
		key: *k, first: nanos, last: nanos, frags: none, tail: none,
		chain: *head, older: t.newest, newer: none,
	}
	*head = s
	if t.newest == none {
		t.oldest = s
	} else {
		t.sets[t.newest].newer = s
	}
	t.newest = s
	return s
}

// evict removes the oldest set other than keep, to which a fragment is being added.
func (t *Table) evict(keep uint32) {
	s := t.oldest
	if s == keep {
		s = t.sets[s].newer
	}
	t.n.Evicted++
	t.deliverIncomplete(s, Evicted)
	t.remove(s)
}

// remove takes set i out of the table and frees it and all it holds.
func (t *Table) remove(i uint32) {
	t.releaseFragments(i)
	s := &t.sets[i]
	link := t.bucket(&s.key)
	for *link != i {
		link = &t.sets[*link].chain
	}
	*link = s.chain
	if s.older == none {
		t.oldest = s.newer
	} else {
		t.sets[s.older].newer = s.newer
	}
	if s.newer == none {
		t.newest = s.older
	} else {
		t.sets[s.newer].older = s.older
	}
	s.chain, t.freeSet = t.freeSet, i
}

// releaseFragments frees the fragments of set i and their blocks.
func (t *Table) releaseFragments(i uint32) {
	s := &t.sets[i]
	for s.frags != none {
		n := s.frags
		f := &t.frags[n]
		s.frags = f.next
		for f.block != none {
			b := f.block
			f.block = t.next[b]
			t.next[b], t.freeBlock = t.freeBlock, b
			t.blocksLeft++
		}
		f.next, t.freeFrag = t.freeFrag, n
	}
	s.tail, s.count, s.have = none, 0, 0
}

// store copies b into blocks for set i, evicting other sets until there is
// room, and returns a new fragment. One set alone always fits (minBytes).
func (t *Table) store(i uint32, b []byte) uint32 {
	for t.freeFrag == none || t.blocksLeft*blockSize < len(b) {
		t.evict(i)
	}
	n := t.freeFrag
	f := &t.frags[n]
	t.freeFrag = f.next
	*f = fragment{got: uint32(len(b)), block: none, next: none}
	link := &f.block
	for len(b) > 0 {
		block := t.freeBlock
		t.freeBlock = t.next[block]
		t.blocksLeft--
		b = b[copy(t.block(block), b):]
		t.next[block] = none
		*link = block
		link = &t.next[block]
	}
	return n
}

func (t *Table) block(i uint32) []byte {
	return t.data[int(i)*blockSize:][:blockSize]
}

const (
	// limit: DefaultBytes is the memory of a Table unless the caller chooses another:
	// 26 of the largest datagrams, or almost 900 replies that lost their
	// second half. Linux takes 4 MiB (ipfrag_high_thresh).
	DefaultBytes = 2 << 20

	// limit: blockSize is the unit in which payload is stored, in bytes. Three hold
	// a fragment of a 1,500-byte MTU with 4 % waste. A flood of tiny
	// fragments costs at most a block each.
	blockSize = 512

	// limit: The sizes of the records; a test compares them with the compiler's.
	fragmentBytes = 32
	setBytes      = 96
	pieceBytes    = 24
)
