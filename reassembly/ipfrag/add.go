package ipfrag

import "qsniff/capture/packet"

// Add adds the fragment p (p.Frag.Set) that came with the given frame number
// at nanos, and returns the datagram if that completes it, else nil. It copies
// what it keeps. Sets that end incomplete go to DeliverIncomplete before it returns.
func (t *Table) Add(p *packet.Packet, frame uint64, nanos int64) *Datagram {
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
	if !t.placeFragment(s, p, frame) {
		return nil
	}
	set := &t.sets[s]
	set.last = max(set.last, nanos)
	if set.total == 0 || set.have != set.total {
		return nil
	}
	t.n.Joined++
	t.joinFragments(s, Joined)
	t.remove(s)
	return &t.out
}

// isPlausible reports whether p alone can be a fragment, and counts it if not. In IPv6 all fragments but the
// last end at a multiple of 8 bytes; others are answered with an error (RFC 8200 section 4.5).
func (t *Table) isPlausible(p *packet.Packet) bool {
	switch {
	case p.Wire <= 0 && p.Frag.Off == 0 && !p.Frag.More || p.Frag.More && p.Wire%8 != 0 && !p.Src.Addr().Is4():
		t.n.Bad++
	case p.Wire > maxLength || int(p.Frag.Off) > maxLength-p.Wire:
		t.n.TooLong++
	default:
		return true
	}
	return false
}

// placeFragment adds the fragment to set i and reports whether it did, by the rules in the comment of the
// package. A fragment that contradicts the others ends the set, as one too many does. One that is ignored
// may still be the last: then the length is known, and Linux does not look whether that completes the set.
func (t *Table) placeFragment(i uint32, p *packet.Packet, frame uint64) bool {
	s := &t.sets[i]
	off, wire := p.Frag.Off, usedLength(p)
	end := off + wire
	if wire == 0 || !s.fits(p.Frag.More, end) {
		t.n.Bad++
		t.giveUp(i, Overlap, &t.n.Overlaps)
		return false
	}
	if !p.Frag.More {
		s.total = end
	}
	s.reach = max(s.reach, end)
	before, after := t.findNeighbours(s, off)
	switch {
	case t.isWithinRun(before, after, off, end):
		t.n.Duplicates++
		return false
	case before != none && t.frags[before].end() > off || after != none && t.frags[after].off < end:
		t.giveUp(i, Overlap, &t.n.Overlaps)
		return false
	case s.count == maxFragments:
		t.giveUp(i, TooMany, &t.n.TooMany)
		return false
	}
	t.link(i, before, after, t.store(i, p.Payload[:min(len(p.Payload), int(wire))]), p, frame)
	return true
}

// usedLength returns how many bytes of a fragment are used: of one that is not the last, a multiple of 8.
func usedLength(p *packet.Packet) uint32 {
	if p.Frag.More {
		return uint32(p.Wire) &^ 7
	}
	return uint32(p.Wire)
}

// isWithinRun reports whether the bytes [off, end) lie within one run of fragments. before is the last
// fragment that starts before off, after the first that does not.
func (t *Table) isWithinRun(before, after, off, end uint32) bool {
	n := before // where off is
	switch {
	case after != none && t.frags[after].off == off:
		n = after
	case before == none || t.frags[before].end() <= off:
		return false
	}
	for t.frags[n].end() < end {
		n = t.frags[n].next
		if n == none || t.frags[n].beginsRun {
			return false
		}
	}
	return true
}

// link puts the stored fragment n between its neighbours in set i.
func (t *Table) link(i, before, after, n uint32, p *packet.Packet, frame uint64) {
	s, f := &t.sets[i], &t.frags[n]
	f.frame, f.off, f.wire, f.next = frame, p.Frag.Off, usedLength(p), after
	f.beginsRun = after != none || before == none || t.frags[before].end() != f.off
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
	s.count++
	s.have += f.wire
}

// fits reports whether a fragment that ends at end agrees with the length of the datagram as far as the
// fragments of s show it: the last fragment is where all end, and there is one end.
func (s *set) fits(more bool, end uint32) bool {
	if more {
		return s.total == 0 || end <= s.total
	}
	return end >= s.reach && (s.total == 0 || end == s.total)
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

// giveUp delivers set i, whose fragments contradict each other or are too many, as it is, counts it in
// count, and removes it. Fragments that still come open another set.
func (t *Table) giveUp(i uint32, outcome Outcome, count *uint64) {
	if t.sets[i].count > 0 {
		*count++
		t.deliverIncomplete(i, outcome)
	}
	t.remove(i)
}

func keyOf(p *packet.Packet) key {
	src, dst := p.Src.Addr(), p.Dst.Addr()
	k := key{src: src.As16(), dst: dst.As16(), id: p.Frag.ID, version: 6}
	if src.Is4() {
		k.version, k.proto = 4, p.Proto
	}
	return k
}
