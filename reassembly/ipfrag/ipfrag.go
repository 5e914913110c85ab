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
