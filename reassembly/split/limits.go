package split

import "time"

// Limits bounds what one Assembler keeps and how much work it does. A member
// that is zero takes its default; one that is too small to be of use is raised.
//
// When one is reached, sets are evicted in this order: memos of delivered sets, oldest
// first; then the set that has waited longest, which is delivered as it is. A part
// that would make its own set too large is refused instead.
type Limits struct {
	Bytes      int           // of datagrams kept, all sets together
	SetBytes   int           // of datagrams kept for one set
	Sets       int           // sets, waiting ones and memos
	FlowSets   int           // sets between the same two ends, in one direction
	Parts      int           // parts, of waiting sets and of memos
	Pieces     int           // IP fragments that brought parts
	Inflated   int           // bytes of a decompressed message
	Work       int           // decompression, cost units a second of packet time
	SourceWork int           // cost units a second for one source address
	Sources    int           // source addresses whose work is counted
	Wait       time.Duration // packet time for which a set waits after its first part
}

const (
	// DefaultBytes times 16 assemblers is 4 MiB: room for 3,300 parts of 1,260
	// bytes that wait at the same time.
	DefaultBytes = 256 << 10

	// DefaultSetBytes is half of that, so that one sender cannot evict everybody
	// else's parts with one set. The largest message on record has 8 parts of 1,260
	// bytes; the header of GoldSource counts to 15, of 1,400.
	DefaultSetBytes = 128 << 10

	// DefaultSets allows for every waiting set being a single part, as after
	// loss, with four blocks each.
	DefaultSets = 256

	// DefaultFlowSets: a client asks for players and rules at once, so two sets
	// wait; the others are memos of delivered ones, at a query a second.
	DefaultFlowSets = 16

	// DefaultParts is one for every block of DefaultBytes.
	DefaultParts = DefaultBytes / blockSize

	// DefaultPieces: split parts fit the MTU and have one piece each. Servers
	// with a raised MTU send up to 45 fragments a part.
	DefaultPieces = 1024

	// DefaultInflated is more than any recorded message (1,723 bytes) by far. A
	// bzip2 stream of 400 bytes can hold 512 MiB.
	DefaultInflated = 64 << 10

	// DefaultWork is 40 ms of every second on the machine where a unit was found
	// to be a microsecond; 16 assemblers together then leave a third of a core.
	DefaultWork = 40_000

	// DefaultSourceWork lets one server send about 250 compressed rule lists a
	// second to the clients of one assembler, and leaves as much for others.
	DefaultSourceWork = DefaultWork / 2

	// DefaultSources: only servers that compress are counted, and only for a second.
	DefaultSources = 256

	// DefaultWait is the upper end of the 3 to 5 s after which a restarted server
	// uses the same ids again; parts of one message arrive within milliseconds.
	DefaultWait = 5 * time.Second
)

const (
	// maxDatagram is the longest UDP datagram without jumbograms, which no
	// engine sends. A longer one is treated as cut there.
	maxDatagram = 65_535

	// maxParts is the highest total that the one byte of the Source header holds.
	maxParts = 255

	// blockSize is the unit of memory for datagrams. The usual 1,260, 1,200 and
	// 1,400 bytes fill five or six blocks to nine tenths and more, and the
	// smallest part that an attacker can send costs a fifth of a real one.
	blockSize = 256
)

// Cost of decompression in units of about a microsecond, measured: 3,000 bytes of text
// took 33, a block that the decoder refuses 75 whatever its input was, and the worst
// input for a failure (a full block of 100,000 symbols from 12,500 bytes) 1,000.
const (
	costTry        = 10
	bytesPerUnit   = 64 // in and out together, of a stream that was right
	costFailed     = 100
	failedPerUnit  = 10 // bytes in, of a stream that was not
	smallestBlock  = 100_000
	nanosPerSecond = 1_000_000_000
)

func (l Limits) withDefaults() Limits {
	def := func(v *int, d, least int) {
		if *v == 0 {
			*v = d
		}
		*v = max(*v, least)
	}
	largest := blocksFor(maxDatagram) * blockSize
	def(&l.SetBytes, DefaultSetBytes, largest)
	def(&l.Bytes, DefaultBytes, l.SetBytes)
	def(&l.Sets, DefaultSets, 2)
	def(&l.FlowSets, DefaultFlowSets, 2)
	def(&l.Parts, DefaultParts, maxParts)
	def(&l.Pieces, DefaultPieces, 1)
	def(&l.Inflated, DefaultInflated, 1)
	def(&l.Work, DefaultWork, 1)
	def(&l.SourceWork, DefaultSourceWork, 1)
	def(&l.Sources, DefaultSources, 1)
	if l.Wait <= 0 {
		l.Wait = DefaultWait
	}
	return l
}

// blocksFor is the number of blocks that hold n bytes.
func blocksFor(n int) int { return (n + blockSize - 1) / blockSize }
