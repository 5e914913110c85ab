package ipfrag

import "qsniff/netlayer"

// Add adds the fragment p (p.Frag.Set) that came with the given frame number
// at nanos, and returns the datagram if that completes it, else nil. It copies
// what it keeps. Sets that end incomplete go to DeliverIncomplete before it returns.
func (t *Table) Add(p *netlayer.Packet, frame uint64, nanos int64) *Datagram {
	t.Expire(nanos)
	t.n.Fragments++
	if !t.isPlausible(p) {
		return nil
	}
	if t.index == nil {
		t.allocate()
	}
	k := keyOf(p)
	if p.Frag.Off == 0 && !p.Frag.More {
		// An atomic fragment is whole, whatever else has its id (RFC 6946).
		return t.joinAtomic(p, &k, frame, nanos)
	}
	s := t.find(&k)
	if s == none {
		s = t.insert(&k, nanos)
	}
	if t.placeFragment(s, p, frame) {
		t.sets[s].last = max(t.sets[s].last, nanos)
	}
	if set := &t.sets[s]; set.isGivenUp || set.total == 0 || set.have != set.total {
		return nil
	}
	t.n.Joined++
	t.joinFragments(s, Joined)
	t.remove(s)
	return &t.out
}

// isPlausible reports whether p alone can be a fragment, and counts it if not. Empty
// fragments are refused, because any number of them could be added to a set; all
// fragments but the last end at a multiple of 8 bytes (RFC 791 section 3.2, RFC 8200
// section 4.5).
func (t *Table) isPlausible(p *netlayer.Packet) bool {
	switch {
	case p.Wire <= 0 || p.Frag.More && p.Wire%8 != 0:
		t.n.Bad++
	case p.Wire > maxLength || int(p.Frag.Off) > maxLength-p.Wire:
		t.n.TooLong++
	default:
		return true
	}
	return false
}

// placeFragment adds the fragment to set i and reports whether it did. It refuses a
// fragment that repeats another one or does not fit the length of the datagram. If the
// fragment overlaps another one or is one too many, the set ends incomplete.
func (t *Table) placeFragment(i uint32, p *netlayer.Packet, frame uint64) bool {
	s := &t.sets[i]
	off, end := p.Frag.Off, p.Frag.Off+uint32(p.Wire)
	if s.isGivenUp || !s.fits(t, p.Frag.More, end) {
		t.n.Bad++
		return false
	}
	before, after := t.findNeighbours(s, off)
	if after != none && t.frags[after].off == off && t.frags[after].end() == end {
		if t.equalBytes(after, p.Payload) {
			t.n.Duplicates++
			return false
		}
		t.giveUp(i, Overlap, &t.n.Overlaps)
		return false
	}
	if before != none && t.frags[before].end() > off || after != none && t.frags[after].off < end {
		t.giveUp(i, Overlap, &t.n.Overlaps)
		return false
	}
	if s.count == maxFragments {
		t.giveUp(i, TooMany, &t.n.TooMany)
		return false
	}
	t.link(i, before, after, t.store(i, p.Payload), p, frame)
	return true
}

// link puts the stored fragment n between its neighbours in set i.
func (t *Table) link(i, before, after, n uint32, p *netlayer.Packet, frame uint64) {
	s, f := &t.sets[i], &t.frags[n]
	f.frame, f.off, f.wire, f.next = frame, p.Frag.Off, uint32(p.Wire), after
	if before == none {
		s.frags = n
	} else {
		t.frags[before].next = n
	}
	if after == none {
		s.tail = n
	}
	if f.off == 0 || s.count == 0 {
		s.proto, s.ttl = p.Proto, p.TTL
	}
	if !p.Frag.More {
		s.total = f.end()
	}
	s.count++
	s.have += f.wire
}

// fits reports whether a fragment that ends at end agrees with the length of the
// datagram as far as the fragments of s show it: only the last fragment reaches its
// end, and none lies beyond it.
func (s *set) fits(t *Table, more bool, end uint32) bool {
	switch {
	case s.total != 0 && more:
		return end < s.total
	case s.total != 0:
		return end == s.total
	}
	return more || s.tail == none || t.frags[s.tail].end() < end
}

// findNeighbours returns the last fragment that starts before off and the first that
// does not, or none. Fragments mostly come in order, so the end is tried first.
func (t *Table) findNeighbours(s *set, off uint32) (before, after uint32) {
	if s.tail != none && t.frags[s.tail].off < off {
		return s.tail, none
	}
	before, after = none, s.frags
	for after != none && t.frags[after].off < off {
		before, after = after, t.frags[after].next
	}
	return before, after
}

// equalBytes reports whether fragment n starts with b or b with it: the two may come
// from interfaces with different snap lengths, so only what was captured of both counts.
func (t *Table) equalBytes(n uint32, b []byte) bool {
	f := &t.frags[n]
	left := min(int(f.got), len(b))
	for block := f.block; left > 0; block = t.next[block] {
		k := min(left, blockSize)
		if string(t.block(block)[:k]) != string(b[:k]) {
			return false
		}
		b, left = b[k:], left-k
	}
	return true
}

// giveUp delivers set i, whose fragments contradict each other or are too many, as it
// is and counts it in count. The set stays, empty, until it expires or is evicted.
func (t *Table) giveUp(i uint32, outcome Outcome, count *uint64) {
	*count++
	t.deliverIncomplete(i, outcome)
	t.releaseFragments(i)
	t.sets[i].isGivenUp = true
}

func keyOf(p *netlayer.Packet) key {
	src, dst := p.Src.Addr(), p.Dst.Addr()
	k := key{src: src.As16(), dst: dst.As16(), id: p.Frag.ID, version: 6}
	if src.Is4() {
		k.version, k.proto = 4, p.Proto
	}
	return k
}
