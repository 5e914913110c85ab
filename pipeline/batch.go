package pipeline

import (
	"sync"

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

// item is one thing for partitions to do.
type item struct {
	netlayer.Packet
	kind   kind
	frame  uint64
	nanos  int64
	pieces []reassembly.Piece // of a datagram joined from fragments
	why    string             // of an abandoned one: what became of the rest
}

// batch carries packets from the reader to the partitions and their output to
// the fold. Each partition touches its own mine and out only.
type batch struct {
	raw    capture.Batch
	items  []item
	mine   [Partitions][]int32 // indices into items
	out    [Partitions]output
	joined arena
	totals readerTotals   // of the reader, behind this batch
	done   sync.WaitGroup // workers still at it
	err    error          // why this is the last batch: io.EOF or damage
}

func newBatch() *batch {
	return &batch{items: make([]item, 0, capture.MaxPackets+capture.MaxPackets/8)}
}

func (b *batch) reset() {
	b.raw.Reset()
	b.items = b.items[:0]
	for p := range b.mine {
		b.mine[p] = b.mine[p][:0]
		b.out[p].reset()
	}
	b.joined.reset()
	b.err = nil
}

// give puts it on the list of the partition of its ends.
func (b *batch) give(it item) {
	p := it.Partition()
	b.mine[p] = append(b.mine[p], int32(len(b.items)))
	b.items = append(b.items, it)
}

// giveAll puts it on the list of every partition.
func (b *batch) giveAll(it item) {
	for p := range b.mine {
		b.mine[p] = append(b.mine[p], int32(len(b.items)))
	}
	b.items = append(b.items, it)
}

// arena holds joined datagrams for as long as their batch is at work. Growing
// never moves what is in it: full chunks stay where they are.
type arena struct {
	chunks [][]byte
	n      int // chunks in use
	pieces []reassembly.Piece
}

// arenaChunk holds any datagram: an IP payload is shorter than 64 KiB.
const arenaChunk = 64 << 10

// arenaKeep is how many chunks a batch keeps for the next use.
const arenaKeep = 4

func (a *arena) reset() {
	if len(a.chunks) > arenaKeep {
		clear(a.chunks[arenaKeep:])
		a.chunks = a.chunks[:arenaKeep]
	}
	for i := range a.chunks {
		a.chunks[i] = a.chunks[i][:0]
	}
	a.n = 0
	a.pieces = a.pieces[:0]
}

// add copies data, at most arenaChunk bytes, and returns the copy.
func (a *arena) add(data []byte) []byte {
	if a.n == 0 || cap(a.chunks[a.n-1])-len(a.chunks[a.n-1]) < len(data) {
		if a.n == len(a.chunks) {
			a.chunks = append(a.chunks, make([]byte, 0, arenaChunk))
		}
		a.n++
	}
	c := &a.chunks[a.n-1]
	start := len(*c)
	*c = append(*c, data...)
	return (*c)[start:len(*c):len(*c)]
}

// addPieces copies ps. The copy stays valid when the list grows, because it then
// keeps the old array.
func (a *arena) addPieces(ps []reassembly.Piece) []reassembly.Piece {
	start := len(a.pieces)
	a.pieces = append(a.pieces, ps...)
	return a.pieces[start:len(a.pieces):len(a.pieces)]
}
