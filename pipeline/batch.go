package pipeline

import (
	"qsniff/capture"
	"qsniff/netlayer"
	"qsniff/reassembly"
)

// Partitions is how many parts the world has. It does not depend on the number of
// goroutines, or output would.
const Partitions = 16

// inFlight is how many batches circulate: two for each stage, so that none waits
// for memory while another works. Together they bound what is queued.
const inFlight = 8

type kind uint8

const (
	datagram  kind = iota // a whole UDP datagram, or what the capture kept of it
	abandoned             // the leading run of an IP datagram whose other fragments are missing
	tick                  // time passed
	end                   // no packet follows
)

// everyone is the partition of ticks and the end.
const everyone = Partitions

// item is one thing for partitions to do.
type item struct {
	netlayer.Packet
	kind   kind
	part   uint8 // the partition it is for, or everyone
	frame  uint64
	nanos  int64              // time stamp of the packet: for people
	age    int64              // what tables age by: never goes back
	pieces []reassembly.Piece // of a datagram joined from fragments
	why    string             // of an abandoned one: what became of the rest
}

// batch carries packets from the reader to the workers, which read it only.
type batch struct {
	raw    capture.Batch
	items  []item
	joined arena
	totals readerTotals // of the reader, behind this batch
	err    error        // why this is the last batch: io.EOF or damage
}

func newBatch() *batch {
	return &batch{items: make([]item, 0, capture.MaxPackets+capture.MaxPackets/8)}
}

func (b *batch) reset() {
	b.raw.Reset()
	b.items = b.items[:0]
	b.joined.reset()
	b.err = nil
}

// give hands it to the partition of its ends.
func (b *batch) give(it item) {
	it.part = it.Partition()
	b.items = append(b.items, it)
}

// giveAll hands it to every partition.
func (b *batch) giveAll(it item) {
	it.part = everyone
	b.items = append(b.items, it)
}
