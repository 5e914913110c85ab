package pipeline

import (
	"net/netip"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/internal/render/tally"
	"qsniff/reassembly"
)

// Partitions is how many partitions the traffic is divided into, by address pair. It
// does not depend on the number of goroutines, or the output would. ARCHITECTURE.md has
// the reason for 16.
const Partitions = 16

// inFlight is how many batches there are. Chosen: more than two for each of reader, workers
// and fold, so that none waits for memory while another works. Together they bound what
// is queued.
const inFlight = 8

type kind uint8

const (
	kindDatagram  kind = iota // a whole UDP datagram, or what the capture kept of it
	kindAbandoned             // the start of an IP datagram of which other fragments are missing
	kindBegun                 // the first fragment of an IP datagram came; only its ends are used
	kindQuoted                // a datagram that an ICMP error quotes; the error is in icmp
	kindSegment               // a TCP segment
	kindStray                 // what no message can be made of by itself, for watchers: a fragment, ICMP, another protocol
	kindGap                   // a stretch of the capture could not be read
	kindTick                  // tickEvery has passed
	kindEnd                   // no packet follows
)

// allPartitions is the part of an item that goes to all: a tick, a gap or the end.
const allPartitions = Partitions

// item is one unit of work for a partition, or for all. A batch has hundreds of them, which
// go through the caches of two processors: what few have is in rare.
type item struct {
	packet.Packet
	moment
	*rare // never nil in a batch
	kind  kind
	part  uint8  // the partition it is for, or allPartitions
	pair  uint16 // further bits of the hash of the two addresses
	// weight is how many packets this one stands for, as track.Sighting.Weight.
	weight uint32
}

// setPartition sets what depends on the two addresses.
func (it *item) setPartition() {
	h := it.PairHash()
	it.part, it.pair = uint8(h%Partitions), uint16(h>>16)
}

// moment is when and where a packet was captured.
type moment struct {
	frame uint64
	nanos int64 // time stamp of the packet: for people
	age   int64 // what tables age by: never goes back
	from  *origin
}

// rare is what few items have. Workers only read it.
type rare struct {
	pieces []reassembly.Piece // of a datagram joined from fragments
	place  []reassembly.Piece // of one that was merged with others: where in the payload of its frame it is
	// isSample is set of a packet that is a sample in another one: its bytes have no place of their own.
	isSample bool
	why      string       // of an abandoned one: what became of the other fragments
	ways     []packet.Way // tunnels around the packet, outermost first
	damage   *capture.Gap // of a gap
	icmp     icmp         // of a quoted one
}

// origins returns which frames brought which bytes; nil if one brought all, at the start of its payload.
func (x *rare) origins() []reassembly.Piece {
	if x.place != nil {
		return x.place
	}
	return x.pieces
}

// noRare and noOrigin are those of most items, and of those without a packet.
var (
	noRare   rare
	noOrigin origin
)

// origin is where a packet was captured, and the comments that the file has about it.
type origin struct {
	file, iface uint16
	known       bool     // the input describes the interface
	name        string   // of the interface
	comments    [][]byte // valid as long as the batch
}

// icmp is an ICMP error: its sender, type and code, and the reason in words.
type icmp struct {
	from       netip.Addr
	reason     packet.Reason
	kind, code uint8
	wire       uint32 // its length with the IP header
}

// batch carries packets from the reader to the workers, which only read it.
type batch struct {
	raw          capture.Batch
	items        []item
	parts        []uint8 // of items: side by side, for workers to choose theirs without a look at all others
	rares        []rare  // of items; where the list grows, earlier ones stay in the memory before
	joined       arena
	ways         []packet.Way
	notes        [][]byte            // comments of packets
	origins      []origin            // of packets, as rares
	totals       readerTotals        // of the reader, after this batch
	steps        clockSteps          // of the clock so far
	translations []tally.Translation // known so far
	skews        []tally.Skew        // of clocks that are not aligned
	copiesAt     copiesAt            // the places with most copies so far
	seed         uint64              // of hashes, see reader.setSeed
	err          error               // nil, or of the last batch: io.EOF, or the error of the source
}

func newBatch() *batch {
	return &batch{items: make([]item, 0, capture.MaxPackets+capture.MaxPackets/8)}
}

func (b *batch) reset() {
	b.raw.Reset()
	b.items, b.parts = b.items[:0], b.parts[:0]
	b.joined.reset()
	b.ways, b.notes = b.ways[:0], b.notes[:0]
	b.rares, b.origins = b.rares[:0], b.origins[:0]
	b.err = nil
}

// spare returns the memory after the last item, for a packet to be decoded into. keepSpare
// makes an item of it, for the partition of its ends; anything else that is added takes its
// place.
func (b *batch) spare() *item {
	n := len(b.items)
	if n == cap(b.items) {
		b.items = append(b.items, item{})[:n]
	}
	return &b.items[:n+1][n]
}

func (b *batch) keepSpare() {
	n := len(b.items)
	b.items = b.items[:n+1]
	it := &b.items[n]
	it.setPartition()
	b.complete(it)
}

// give adds a copy of it, for the partition of its ends.
func (b *batch) give(it *item) {
	it.setPartition()
	b.appendItem(it)
}

func (b *batch) appendItem(it *item) {
	b.items = append(b.items, *it)
	b.complete(&b.items[len(b.items)-1])
}

// complete lists the partition of the last item, and copies its ways, which the next packet
// overwrites.
func (b *batch) complete(it *item) {
	b.parts = append(b.parts, it.part)
	if it.rare == nil {
		it.rare = &noRare
	}
	if ways := it.Ways(); len(ways) > 0 {
		start := len(b.ways)
		b.ways = append(b.ways, ways...)
		x := *it.rare
		x.ways = b.ways[start:len(b.ways):len(b.ways)]
		it.rare = b.addRare(x)
	}
	it.Outer = nil
}

// addRare keeps x as long as the batch.
func (b *batch) addRare(x rare) *rare {
	b.rares = append(b.rares, x)
	return &b.rares[len(b.rares)-1]
}

// giveAll adds an item without a packet for every partition.
func (b *batch) giveAll(it item) {
	it.part, it.from = allPartitions, &noOrigin
	b.appendItem(&it)
}
