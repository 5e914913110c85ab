package split

import (
	"net/netip"

	"qsniff/internal/base/lru"
	"qsniff/reassembly/wire"
)

// flowKey is a pair of ends, by direction.
type flowKey struct {
	src, dst         [16]byte
	srcPort, dstPort uint16
	v4               uint8 // bit 0: src is IPv4, bit 1: dst is
}

func keyOf(src, dst netip.AddrPort) flowKey {
	k := flowKey{
		src: src.Addr().As16(), dst: dst.Addr().As16(),
		srcPort: src.Port(), dstPort: dst.Port(),
	}
	if src.Addr().Is4() {
		k.v4 |= 1
	}
	if dst.Addr().Is4() {
		k.v4 |= 2
	}
	return k
}

// Hash implements lru.Key.
func (k flowKey) Hash(seed uint64) uint64 {
	h := lru.MixBytes(lru.MixBytes(seed, k.src[:]), k.dst[:])
	return lru.Mix(h, uint64(k.srcPort)|uint64(k.dstPort)<<16|uint64(k.v4)<<32)
}

func (k *flowKey) ends() (src, dst netip.AddrPort) {
	return endOf(k.src, k.srcPort, k.v4&1 != 0), endOf(k.dst, k.dstPort, k.v4&2 != 0)
}

func endOf(a [16]byte, port uint16, v4 bool) netip.AddrPort {
	addr := netip.AddrFrom16(a)
	if v4 {
		addr = addr.Unmap()
	}
	return netip.AddrPortFrom(addr, port)
}

// flow is the chain of sets from one end to another, newest first.
type flow struct {
	sets uint32
	n    int
}

// state is what a set is kept for.
type state uint8

const (
	held state = iota // form not known yet: its parts have no numbers
	open              // form known, parts missing
	memo              // delivered; the digests of its parts are kept to recognise late duplicates
)

// partSet holds the parts of one message that came. The second group of fields depends
// on the form: setForm fills it in.
type partSet struct {
	key         flowKey
	id          uint32 // as on the wire
	state       state
	hint        wire.Engine
	first, last int64
	blocks      int
	head, tail  uint32 // chain of parts in arrival order
	prev, after uint32 // neighbours in the queue of its state

	engine        wire.Engine
	total         uint8
	isRepeat      bool // so far equal to a delivered set, part by part
	isInferred    bool // the form of at least one part was chosen by fit
	isCompressed  bool // announced as compressed; only decompressing shows the header length
	isMislabelled bool // announced as compressed, and is not
	isSound       bool // the compressed stream's own checksums are right
	isDisputed    bool // other parts of its id contradict it, apart from those that are counted
	size          uint16
	n             int       // parts
	got           [4]uint64 // bit set of their numbers

	duplicates, conflicts uint64    // parts that came again, equal and different
	otherTotals           uint64    // parts with another total
	refused               uint64    // parts refused because the set would grow too large
	flaw                  flaw      // of the compressed stream
	flawSize, flawSum     uint32    // length and CRC-32 of what came out of it
	duplicateFrames       [2]uint64 // of the last duplicate and what it repeats
	conflictFrames        [2]uint64 // of the last conflict and the part it differs from
}

// keptPart is one datagram of a set. In a memo it has no blocks.
type keptPart struct {
	frame  uint64
	nanos  int64
	digest uint64 // of the whole datagram; set in a memo only
	len    uint32 // bytes kept
	wire   uint32
	blocks uint32
	pieces uint32
	number uint8
}

func (p *keptPart) isCut() bool { return p.wire > p.len }

func (s *partSet) has(number uint8) bool { return s.got[number>>6]>>(number&63)&1 != 0 }

func (s *partSet) isWhole() bool { return s.total > 0 && s.n == int(s.total) }

// queue is a list of sets by time, oldest first.
type queue struct{ oldest, newest uint32 }

// enqueue inserts set i into q after all sets that are not younger. Almost always that
// is the end of the queue.
func (a *Assembler) enqueue(q *queue, i uint32, nanos func(*partSet) int64) {
	sets := a.sets.items
	at := q.newest
	for at != 0 && nanos(&sets[at]) > nanos(&sets[i]) {
		at = sets[at].prev
	}
	after := q.oldest
	if at != 0 {
		after = sets[at].after
		sets[at].after = i
	} else {
		q.oldest = i
	}
	if after != 0 {
		sets[after].prev = i
	} else {
		q.newest = i
	}
	sets[i].prev, sets[i].after = at, after
}

func (a *Assembler) dequeue(q *queue, i uint32) {
	sets := a.sets.items
	s := &sets[i]
	if s.prev != 0 {
		sets[s.prev].after = s.after
	} else {
		q.oldest = s.after
	}
	if s.after != 0 {
		sets[s.after].prev = s.prev
	} else {
		q.newest = s.prev
	}
	s.prev, s.after = 0, 0
}

// firstTime orders the queue of sets that wait, lastTime that of memos.
func firstTime(s *partSet) int64 { return s.first }
func lastTime(s *partSet) int64  { return s.last }

// newSet opens a set, and evicts others if there is no room. Indexes of other sets that
// the caller has may be stale afterwards.
func (a *Assembler) newSet(k flowKey, id uint32, st state, nanos int64) uint32 {
	for f := a.flows.Peek(k); f != nil && f.n >= a.lim.FlowSets; f = a.flows.Peek(k) {
		a.evictFromFlow(k)
	}
	for a.sets.left() == 0 {
		a.evict(nil)
	}
	i := a.sets.take()
	a.sets.items[i] = partSet{key: k, id: id, state: st, first: nanos, last: nanos}
	f, _ := a.flows.Put(k)
	a.sets.next[i] = f.sets
	f.sets = i
	f.n++
	a.enqueue(&a.waiting, i, firstTime)
	return i
}

// closeSet frees set i and all it has.
func (a *Assembler) closeSet(i uint32) {
	s := &a.sets.items[i]
	a.releaseParts(s.head)
	if s.state == memo {
		a.dequeue(&a.memos, i)
	} else {
		a.dequeue(&a.waiting, i)
	}
	f := a.flows.Peek(s.key)
	for link := &f.sets; ; link = &a.sets.next[*link] {
		if *link == i {
			*link = a.sets.next[i]
			break
		}
	}
	f.n--
	if f.n == 0 {
		a.flows.Delete(s.key)
	}
	a.sets.next[i] = 0
	a.sets.release(i)
}

// retire turns the delivered set i into a memo: the bytes of its parts are freed, and
// their digests kept.
func (a *Assembler) retire(i uint32) {
	s := &a.sets.items[i]
	for p := s.head; p != 0; p = a.parts.next[p] {
		pt := &a.parts.items[p]
		pt.digest = a.digestBlocks(pt.blocks, int(pt.len))
		a.releaseBytes(pt)
	}
	s.blocks = 0
	a.dequeue(&a.waiting, i)
	s.state = memo
	s.last = a.now
	a.enqueue(&a.memos, i, lastTime)
}

// firstSetOf returns the first set of a flow, 0 if there is none; the others follow by
// sets.next.
func (a *Assembler) firstSetOf(k flowKey) uint32 {
	if f := a.flows.Peek(k); f != nil {
		return f.sets
	}
	return 0
}

// findSet returns the set with id in state st and form e, or 0.
func (a *Assembler) findSet(k flowKey, id uint32, st state, e wire.Engine) uint32 {
	for i := a.firstSetOf(k); i != 0; i = a.sets.next[i] {
		s := &a.sets.items[i]
		if s.id == id && s.state == st && s.engine == e {
			return i
		}
	}
	return 0
}

// idOf returns a message's id without the compression bit that Source has in it.
func idOf(id uint32, e wire.Engine) uint32 {
	if e == wire.GoldSource {
		return id
	}
	return id &^ wire.Compressed
}

// budget limits the work of decompression per second of packet time, for each source
// address and for all. An attacker who sends junk from many forged addresses exhausts
// the limit for all: other messages of that second stay compressed, and the attack costs
// no more work than that.
type budget struct {
	total, each int
	all         work
	sources     *lru.Table[sourceKey, work]
}

// work is the cost units spent in one second of packet time.
type work struct {
	second int64
	units  int
}

// sourceKey is a source address without its port.
type sourceKey [16]byte

// Hash implements lru.Key.
func (k sourceKey) Hash(seed uint64) uint64 { return lru.MixBytes(seed, k[:]) }

func newBudget(lim Limits) budget {
	return budget{
		total:   lim.Work,
		each:    lim.SourceWork,
		sources: lru.New[sourceKey, work](lim.Sources),
	}
}

// hasLeft reports whether src, and all together, have work left at packet time nanos. The
// cost of a try is known only afterwards, so the last one may exceed the limit; it is
// bounded by Limits.Inflated and Limits.SetBytes.
func (b *budget) hasLeft(src sourceKey, nanos int64) bool {
	second := nanos / nanosPerSecond
	w, _ := b.sources.Put(src)
	w.startSecond(second)
	b.all.startSecond(second)
	return b.all.units < b.total && w.units < b.each
}

// spend adds the cost of a try. It follows a call of hasLeft for the same source.
func (b *budget) spend(src sourceKey, units int) {
	b.all.units += units
	b.sources.Peek(src).units += units
}

// startSecond empties w if what it counts was spent in another second.
func (w *work) startSecond(second int64) {
	if w.second != second {
		*w = work{second: second}
	}
}

// slab is a fixed supply of nodes that are referred to by index instead of pointer, so
// that the garbage collector has nothing to scan. Index 0 is "no node". Every node has a
// link, which chains it to others of its owner.
type slab[T any] struct {
	items []T
	next  []uint32
	free  uint32
	fresh uint32 // first node never taken; memory from there on was never touched
	used  int
}

func newSlab[T any](n int) slab[T] {
	return slab[T]{items: make([]T, n+1), next: make([]uint32, n+1), fresh: 1}
}

// left returns how many nodes can still be taken.
func (s *slab[T]) left() int { return len(s.items) - 1 - s.used }

// take returns a node with its old contents and no link; 0 if none is left.
func (s *slab[T]) take() uint32 {
	i := s.free
	switch {
	case i != 0:
		s.free = s.next[i]
	case int(s.fresh) < len(s.items):
		i = s.fresh
		s.fresh++
	default:
		return 0
	}
	s.next[i] = 0
	s.used++
	return i
}

// release frees node i and those chained after it.
func (s *slab[T]) release(i uint32) {
	for i != 0 {
		n := s.next[i]
		s.next[i] = s.free
		s.free = i
		s.used--
		i = n
	}
}

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

// makeRoom evicts sets until there is memory for a datagram. Add calls it before it looks
// for the datagram's set: delivering a set may move parts between sets of the same id, so
// what was found before would no longer hold.
func (a *Assembler) makeRoom(c *candidate) {
	need := blocksFor(len(c.b))
	for a.parts.left() == 0 || a.blocks.left() < need {
		a.evict(c)
	}
}

// keepPart copies a datagram into the memory that makeRoom freed, as a part for set i.
// It returns 0 if the set would grow too large.
func (a *Assembler) keepPart(i uint32, c *candidate) uint32 {
	s := &a.sets.items[i]
	if s.n >= maxParts || (s.blocks+blocksFor(len(c.b)))*blockSize > a.lim.SetBytes {
		a.Counters.OverSet++
		s.refused++
		return 0
	}
	p := a.parts.take()
	a.parts.items[p] = keptPart{
		frame: c.Frame, nanos: a.now, len: uint32(len(c.b)), wire: uint32(c.wire),
		blocks: a.copyToBlocks(c.b), pieces: a.keepPieces(c),
	}
	return p
}

// evict frees the oldest memo or, if there is none, delivers the set that has waited
// longest and frees it. Sets that datagram c may belong to go last.
func (a *Assembler) evict(c *candidate) {
	if i := a.memos.oldest; i != 0 {
		a.Counters.MemosEvicted++
		a.closeSet(i)
		return
	}
	i := a.waiting.oldest
	for i != 0 && c != nil && a.sets.items[i].id == c.id && a.sets.items[i].key == c.key {
		i = a.sets.items[i].after
	}
	if i == 0 {
		i = a.waiting.oldest
	}
	a.Counters.Evicted++
	a.finishSet(i, evicted)
}

// evictFromFlow evicts a set of one flow: the oldest memo, else the set whose last part
// is the oldest.
func (a *Assembler) evictFromFlow(k flowKey) {
	var oldest uint32
	for i := a.firstSetOf(k); i != 0; i = a.sets.next[i] {
		s := &a.sets.items[i]
		if oldest == 0 {
			oldest = i
			continue
		}
		o := &a.sets.items[oldest]
		if isMemo, was := s.state == memo, o.state == memo; isMemo != was {
			if isMemo {
				oldest = i
			}
		} else if s.last < o.last || s.last == o.last && s.first < o.first {
			oldest = i
		}
	}
	if a.sets.items[oldest].state == memo {
		a.Counters.MemosEvicted++
		a.closeSet(oldest)
		return
	}
	a.Counters.Evicted++
	a.finishSet(oldest, evicted)
}

func (a *Assembler) copyToBlocks(b []byte) (first uint32) {
	var last uint32
	for ; len(b) > 0; b = b[min(len(b), blockSize):] {
		i := a.blocks.take()
		copy(a.blocks.items[i][:], b)
		if last == 0 {
			first = i
		} else {
			a.blocks.next[last] = i
		}
		last = i
	}
	return first
}

// keepPieces copies the list of IP fragments that brought a datagram, and returns its
// first node. It returns 0 if there are none, or no room for all; then the frame that
// completed the datagram stands for all.
func (a *Assembler) keepPieces(c *candidate) (first uint32) {
	if len(c.Pieces) > a.pieces.left() {
		a.Counters.PiecesDropped++
		return 0
	}
	var last uint32
	for _, p := range c.Pieces {
		i := a.pieces.take()
		a.pieces.items[i] = p
		if last == 0 {
			first = i
		} else {
			a.pieces.next[last] = i
		}
		last = i
	}
	return first
}
