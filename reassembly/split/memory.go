package split

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
