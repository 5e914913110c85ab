// Package ipfrag joins the fragments of IPv4 and IPv6 datagrams in a fixed
// amount of memory. It follows RFC 791, RFC 5722 and RFC 8200: if two fragments
// overlap, the datagram is not joined.
//
// It does not read what it joins and checks no checksum. It is no model of any one
// host: a receiver with other rules may have read the same fragments differently.
// A Table is for one goroutine.
//
// A fragment arrives. The sets that have expired end incomplete; then the fragment
// goes to the set with its ends, protocol and id, or opens one, for which the oldest
// set may be evicted. When a set covers all bytes of its datagram, the datagram is
// returned and the set removed. A set whose fragments contradict each other ends
// incomplete, but stays without its fragments until it expires, so that later ones
// are refused.
package ipfrag

import (
	"hash/maphash"
	"net/netip"

	"qsniff/netlayer"
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
	Overlap         // two fragments claimed the same bytes
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
func (d *Datagram) Decode(p *netlayer.Packet) {
	*p = netlayer.Packet{Src: d.Src, Dst: d.Dst, Proto: d.Proto, TTL: d.TTL, Depth: p.Depth, Outer: p.Outer}
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
	Duplicates uint64 // fragments that repeated one that was there
	Bad        uint64 // fragments refused: impossible length, beyond the end, a second end, or of a set in Overlaps or TooMany
	TooLong    uint64 // fragments refused: end beyond 65,535
	Overlaps   uint64 // sets that ended incomplete: two fragments claimed the same bytes
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
		if !t.sets[s].isGivenUp {
			t.n.Expired++
			t.deliverIncomplete(s, Expired)
		}
		t.remove(s)
	}
}

// Flush removes all sets, oldest first: they end incomplete with the capture.
func (t *Table) Flush() {
	for t.oldest != none {
		s := t.oldest
		if !t.sets[s].isGivenUp {
			t.n.Ended++
			t.deliverIncomplete(s, Ended)
		}
		t.remove(s)
	}
}
