package pipeline

import (
	"net/netip"

	"qsniff/capture"
	"qsniff/netlayer"
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

// item is one unit of work for a partition, or for all.
type item struct {
	netlayer.Packet
	kind   kind
	part   uint8 // the partition it is for, or allPartitions
	frame  uint64
	nanos  int64              // time stamp of the packet: for people
	age    int64              // what tables age by: never goes back
	pieces []reassembly.Piece // of a datagram joined from fragments
	why    string             // of an abandoned one: what became of the other fragments
	ways   []netlayer.Way     // tunnels around the packet, outermost first
	from   origin
	damage *capture.Gap // of a gap
	icmp   icmp         // of a quoted one
}

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
	reason     netlayer.Reason
	kind, code uint8
	wire       uint32 // its length with the IP header
}

// batch carries packets from the reader to the workers, which only read it.
type batch struct {
	raw    capture.Batch
	items  []item
	joined arena
	ways   []netlayer.Way
	notes  [][]byte     // comments of packets
	totals readerTotals // of the reader, after this batch
	seed   uint64       // of hashes, see reader.setSeed
	err    error        // nil, or of the last batch: io.EOF, or the error of the source
}

func newBatch() *batch {
	return &batch{items: make([]item, 0, capture.MaxPackets+capture.MaxPackets/8)}
}

func (b *batch) reset() {
	b.raw.Reset()
	b.items = b.items[:0]
	b.joined.reset()
	b.ways, b.notes = b.ways[:0], b.notes[:0]
	b.err = nil
}

// give adds a copy of it, for the partition of its ends, with a copy of its ways.
func (b *batch) give(it *item) {
	it.part = it.Partition()
	b.appendItem(it)
}

func (b *batch) appendItem(it *item) {
	b.items = append(b.items, *it)
	x := &b.items[len(b.items)-1]
	if ways := it.Ways(); len(ways) > 0 {
		start := len(b.ways)
		b.ways = append(b.ways, ways...)
		x.ways = b.ways[start:len(b.ways):len(b.ways)]
	}
	x.Outer = nil // it is overwritten by the next packet
}

// giveAll adds it for every partition.
func (b *batch) giveAll(it item) {
	it.part = allPartitions
	b.items = append(b.items, it)
}
