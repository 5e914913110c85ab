// Package ipfrag joins the fragments of IPv4 and IPv6 datagrams in a fixed amount of memory, as the hosts
// that game servers run on do: as Linux does since 4.20 (2018). It does not read what it joins and checks
// no checksum. A Table is for one goroutine.
//
// A fragment arrives. The sets that have expired end incomplete; then the fragment goes to the set with its
// ends, protocol and id, or opens one, for which the oldest set may be evicted. When a set covers all bytes
// of its datagram, the datagram is returned and the set removed.
//
// A run is a row of fragments that came in the order of their bytes, one right after the other, while none
// beyond them had come. Of a fragment that claims bytes that are there already:
//
//   - one that lies within a run is ignored, whether its bytes are equal or not: the first copy counts;
//   - any other ends the set, all of it (RFC 5722). So does one that contradicts the length of the
//     datagram (two ends, bytes beyond the end), and an empty one;
//   - fragments of the same id that come after that open a new set, out of which a datagram may come.
//
// A fragment that is not the last and whose length is no multiple of 8 is cut to one in IPv4, and dropped
// in IPv6. TestLiveKernel holds all of this against the kernel of the system that it runs on. Windows and
// BSD have rules of their own, which are not followed.
package ipfrag

import (
	"hash/maphash"
	"net/netip"
	"time"

	"qsniff/capture/packet"
	"qsniff/reassembly"
)

// Outcome is what became of a set of fragments.
type Outcome uint8

// The outcomes. A set is complete only if it was Joined.
const (
	Joined  Outcome = iota
	Expired         // a fragment was missing for too long
	Evicted         // memory was needed for newer sets
	Ended           // the capture ended first
	Overlap         // its fragments contradict each other
	TooMany         // more fragments than the limit
)

// Datagram is a joined IP payload, or what there is of one. It and all it
// points to belong to the Table and are valid until the next call of a method of
// the Table.
type Datagram struct {
	Src, Dst netip.AddrPort // the ports are 0
	ID       uint32         // 16 bits in IPv4
	Proto    uint8          // of the first fragment; in IPv6 it may be an extension header
	TTL      uint8          // or hop limit, of the first fragment
	Outcome  Outcome
	Complete bool // every byte was sent: Why is Joined
	// Data is what was captured without a gap from the start on: less than
	// Wire if the set is incomplete or the snap length cut a fragment.
	Data []byte
	// Wire is the length sent, in bytes. If the last fragment did not come, only
	// the UDP header has it, and Wire is the most that it can be.
	Wire int
	// Pieces are the fragments in order of offset, with their lengths on the
	// wire: they may reach beyond Data.
	Pieces      []reassembly.Piece
	First, Last int64 // arrival of the earliest and the latest fragment, Unix nanoseconds
}

// Decode decodes the datagram into p, as if it had come in one packet. p.Payload
// points into d.Data. Of the old contents of p only Depth and Outer stay, the tunnels
// around the packet: p is a zero Packet, or a fragment that came in the same tunnels.
func (d *Datagram) Decode(p *packet.Packet) {
	*p = packet.Packet{Src: d.Src, Dst: d.Dst, Proto: d.Proto, TTL: d.TTL, Depth: p.Depth, Outer: p.Outer}
	if d.Src.Addr().Is4() {
		p.IPID = uint16(d.ID)
	}
	p.DecodeJoined(d.Data, d.Wire)
}

// Counters are running totals. Every fragment that was added is still held,
// was refused (Duplicates, Bad, TooLong) or went with its set.
type Counters struct {
	Fragments  uint64 // added
	Joined     uint64 // datagrams completed
	Duplicates uint64 // fragments ignored: they lie within what was there, with whatever bytes
	Bad        uint64 // fragments refused: impossible length, beyond the end, or a second end
	TooLong    uint64 // fragments refused: end beyond 65,535
	Overlaps   uint64 // sets that ended incomplete: their fragments contradict each other
	TooMany    uint64 // sets that ended incomplete: more fragments than the limit
	Expired    uint64 // sets that waited too long
	Evicted    uint64 // sets that made room for newer ones
	Ended      uint64 // sets that the end of the capture left incomplete
}

// Abandoned returns how many sets ended incomplete.
func (n *Counters) Abandoned() uint64 {
	return n.Expired + n.Evicted + n.Ended + n.Overlaps + n.TooMany
}

// Refused returns how many fragments were refused for another reason than being
// duplicates.
func (n *Counters) Refused() uint64 { return n.Bad + n.TooLong }

// Table holds the sets of fragments that are not complete yet.
type Table struct {
	// DeliverIncomplete, if not nil, is called from within Add, Expire or Flush
	// with every set that ends incomplete and of which the first bytes were captured.
	// It must not call the Table.
	DeliverIncomplete func(*Datagram)

	n    Counters
	seed maphash.Seed
	out  Datagram
	buf  [maxLength]byte

	maxBytes int

	index []uint32 // heads of the chains of sets, by hash; nil before the first fragment
	sets  []set
	frags []fragment
	data  []byte   // blockSize bytes for each block
	next  []uint32 // of each block: the next of its fragment or of the free ones

	freeSet, freeFrag, freeBlock uint32
	blocksLeft                   int
	oldest, newest               uint32 // ends of the list of sets by age
}

// New returns a Table that takes maxBytes of memory with the first fragment and never more,
// but at least the 220 KB or so that it needs to join the largest datagram.
func New(maxBytes int) *Table {
	return &Table{seed: maphash.MakeSeed(), maxBytes: max(maxBytes, minBytes),
		freeSet: none, freeFrag: none, freeBlock: none, oldest: none, newest: none}
}

// allocate takes the memory: most captures have no fragments.
func (t *Table) allocate() {
	blocks := (t.maxBytes - fixedBytes) / blockCost
	t.sets = make([]set, blocks/blocksPerSet)
	t.frags = make([]fragment, blocks)
	t.data = make([]byte, blocks*blockSize)
	t.next = make([]uint32, blocks)
	t.index = make([]uint32, indexSize(len(t.sets)))
	t.out.Pieces = make([]reassembly.Piece, 0, maxFragments)
	t.freeAll()
}

// Counters returns the totals so far.
func (t *Table) Counters() Counters { return t.n }

// Expire removes the sets that have waited too long at nanos, oldest first: they end
// incomplete. Add does it too; Expire is for times without fragments.
func (t *Table) Expire(nanos int64) {
	for t.oldest != none && nanos-t.sets[t.oldest].first >= expiry {
		s := t.oldest
		t.n.Expired++
		t.deliverIncomplete(s, Expired)
		t.remove(s)
	}
}

// Flush removes all sets, oldest first: they end incomplete with the capture.
func (t *Table) Flush() {
	for t.oldest != none {
		s := t.oldest
		t.n.Ended++
		t.deliverIncomplete(s, Ended)
		t.remove(s)
	}
}

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

// deliverIncomplete passes set i, which ends incomplete, to DeliverIncomplete if its
// first bytes were captured.
func (t *Table) deliverIncomplete(i uint32, outcome Outcome) {
	f := t.sets[i].frags
	if t.DeliverIncomplete == nil || f == none || t.frags[f].off != 0 || t.frags[f].got == 0 {
		return
	}
	t.joinFragments(i, outcome)
	t.DeliverIncomplete(&t.out)
}

// joinFragments makes t.out of what set i has.
func (t *Table) joinFragments(i uint32, outcome Outcome) {
	s := &t.sets[i]
	t.resetOut(&s.key, outcome)
	d := &t.out
	d.Proto, d.TTL, d.First, d.Last = s.proto, s.ttl, s.first, s.last
	if s.total != 0 {
		d.Wire = int(s.total)
	}
	for n := s.frags; n != none; n = t.frags[n].next {
		f := &t.frags[n]
		d.Pieces = append(d.Pieces, reassembly.Piece{Frame: f.frame, Off: f.off, Len: f.wire})
		if int(f.off) == len(d.Data) {
			d.Data = t.appendTo(d.Data, f)
		}
	}
}

// joinAtomic makes t.out of an atomic fragment, which is a whole datagram.
func (t *Table) joinAtomic(p *packet.Packet, k *key, frame uint64, nanos int64) *Datagram {
	t.n.Joined++
	t.resetOut(k, Joined)
	d := &t.out
	d.Proto, d.TTL, d.First, d.Last = p.Proto, p.TTL, nanos, nanos
	d.Data, d.Wire = append(d.Data, p.Payload...), p.Wire
	d.Pieces = append(d.Pieces, reassembly.Piece{Frame: frame, Len: uint32(p.Wire)})
	return d
}

// resetOut empties t.out and fills in its ends, id and outcome.
func (t *Table) resetOut(k *key, outcome Outcome) {
	src, dst := netip.AddrFrom16(k.src), netip.AddrFrom16(k.dst)
	if k.version == 4 {
		src, dst = src.Unmap(), dst.Unmap()
	}
	t.out = Datagram{
		Src: netip.AddrPortFrom(src, 0), Dst: netip.AddrPortFrom(dst, 0), ID: k.id,
		Outcome: outcome, Complete: outcome == Joined,
		Data: t.buf[:0], Wire: maxLength, Pieces: t.out.Pieces[:0],
	}
}

// appendTo appends the bytes of f. They fit: no fragment ends beyond maxLength.
func (t *Table) appendTo(dst []byte, f *fragment) []byte {
	left := int(f.got)
	for b := f.block; left > 0; b = t.next[b] {
		n := min(left, blockSize)
		dst = append(dst, t.block(b)[:n]...)
		left -= n
	}
	return dst
}

const (
	// limit: minBytes is the least a Table works with: one set may be 65,535 bytes
	// in maxFragments fragments, each of which wastes part of a block, and it
	// must fit without evicting itself.
	minBytes = fixedBytes + (maxLength/blockSize+1+maxFragments)*blockCost

	// limit: expiry is how long a set waits for its missing fragments, from the
	// arrival of its first, in nanoseconds of packet time. Linux gives IPv4 30
	// seconds (ipfrag_time) and RFC 8200 gives IPv6 60; the shorter serves both,
	// because 16-bit ids are used again and no client waits that long.
	expiry = int64(30 * time.Second)

	// limit: maxLength is the longest IP payload that is joined, in bytes: the length
	// field of an IP header holds no more, and fragments that end beyond it are the
	// "ping of death" (CVE-1999-0128).
	maxLength = 65_535

	// limit: maxFragments is how many fragments one set may have. 65,535 bytes over
	// the 576-byte MTU that every IPv4 host must accept are 119.
	maxFragments = 128

	// limit: blocksPerSet is how many blocks there are for each set: the smallest
	// datagram that a 1,500-byte MTU cuts takes four, so sets do not run out before
	// blocks do, unless an attacker sends shorter fragments.
	blocksPerSet = 4

	// limit: blockCost is what a block takes of a Table's memory: itself, its link,
	// one record of a fragment and its part of a set and of the index.
	blockCost = blockSize + 4 + fragmentBytes + (setBytes+2*4+blocksPerSet-1)/blocksPerSet

	// limit: fixedBytes is what every Table takes whatever its size: the memory of the
	// datagram that it returns.
	fixedBytes = maxLength + maxFragments*pieceBytes + 512
)
