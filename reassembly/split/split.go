// Package split joins the messages that game servers cut into several datagrams
// (first four bytes FE FF FF FF), in the three forms of GoldSource and Source,
// and decompresses those that were compressed.
//
// It is not a dissector: a joined message may be a query reply, game traffic or
// nonsense. It is not fit for concurrent use: one Assembler serves one partition. It
// has no clock: time is packet time.
//
// A part arrives. Not every part shows which form its header has; package wire has the
// tests.
//
//  1. A part 0 that proves its form opens a set, or joins the open one with its id.
//  2. Another part joins the set with its ends and id whose form it fits.
//  3. A part that fits none is held, without a number, until such a set wants it.
//  4. A set is delivered when it is whole, when it has waited too long, when others need
//     its memory, or when the capture ends. Held parts that no set took are then read in
//     the form that fits most of them.
//  5. Of a whole set the digests of its parts stay for a while, as a memo, to recognise
//     late duplicates.
package split

import (
	"math/rand/v2"
	"net/netip"

	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
	"qsniff/reassembly"
	"qsniff/reassembly/wire"
)

// Assembler joins the split messages of any number of flows within fixed
// memory. Set Deliver before the first call.
type Assembler struct {
	// Deliver receives every set once, when it is whole or waits no longer. It must
	// not call the Assembler.
	Deliver func(*Set)

	Counters Counters

	lim   Limits
	seed  uint64 // of the digests by which repeated parts are recognised
	now   int64
	flows *lru.Table[flowKey, flow]

	sets   slab[partSet]
	parts  slab[keptPart]
	blocks slab[[blockSize]byte]
	pieces slab[reassembly.Piece]

	waiting, memos queue

	out    Set
	order  [maxParts + 1]uint32 // scratch of deliver: parts by number
	joined []byte
	bz     *inflater
	budget budget
}

// New returns an Assembler that takes all its tables at once.
func New(lim Limits) *Assembler {
	lim = lim.withDefaults()
	return &Assembler{
		lim:    lim,
		seed:   rand.Uint64(),
		flows:  lru.New[flowKey, flow](lim.Sets),
		bz:     &inflater{limit: lim.Inflated},
		budget: newBudget(lim),
	}
}

// ShareInflater makes a decompress in the memory of b, which has the same limits; one goroutine must
// serve both. Decompressed bytes are used before Deliver returns.
func (a *Assembler) ShareInflater(b *Assembler) { a.bz = b.bz }

// allocate takes the memory for sets and parts. Add calls it with the first part: most
// captures have none.
func (a *Assembler) allocate() {
	a.sets = newSlab[partSet](a.lim.Sets)
	a.parts = newSlab[keptPart](a.lim.Parts)
	a.blocks = newSlab[[blockSize]byte](a.lim.Bytes / blockSize)
	a.pieces = newSlab[reassembly.Piece](a.lim.Pieces)
}

// Add adds one datagram that starts with FE FF FF FF. Sets that it completes, that it
// evicts or that have expired are delivered before Add returns.
func (a *Assembler) Add(f *Datagram) {
	if a.sets.items == nil {
		a.allocate()
	}
	a.Tick(f.Nanos)
	a.Counters.Parts++
	c := candidate{Datagram: f, b: f.Data[:min(len(f.Data), maxDatagram)]}
	c.wire = max(f.Wire, len(f.Data))
	c.isCut = c.wire > len(c.b)
	if len(c.b) < wire.MinSplitLen || !wire.IsSplit(c.b) || !hasReadableHeader(c.b) {
		a.reject(&c)
		return
	}
	c.key = keyOf(f.Src, f.Dst)
	c.id = wire.SplitID(c.b)
	a.makeRoom(&c)
	a.route(&c)
}

// Tick advances packet time to nanos, delivers the sets that have waited too long, and
// frees the memos that have expired. Time that goes backwards stands still instead.
func (a *Assembler) Tick(nanos int64) {
	if nanos < a.now {
		a.Counters.BackwardsTime++
	} else {
		a.now = nanos
	}
	for i := a.waiting.oldest; i != 0 && a.isOverdue(a.sets.items[i].first); i = a.waiting.oldest {
		a.finishSet(i, expired)
	}
	for i := a.memos.oldest; i != 0 && a.isOverdue(a.sets.items[i].last); i = a.memos.oldest {
		a.closeSet(i)
	}
}

// Flush ends the capture at nanos: it delivers the sets that still wait as Ended,
// since their missing parts may have come after the capture. The Assembler is empty
// afterwards and can be used again.
func (a *Assembler) Flush(nanos int64) {
	a.Tick(nanos)
	for a.waiting.oldest != 0 {
		a.finishSet(a.waiting.oldest, ended)
	}
	for a.memos.oldest != 0 {
		a.closeSet(a.memos.oldest)
	}
	a.now = 0
}

// isOverdue reports whether what began to wait at nanos has waited too long.
func (a *Assembler) isOverdue(nanos int64) bool { return a.now-nanos >= int64(a.lim.Wait) }

// hasReadableHeader reports whether the header of b can be parsed in any form.
func hasReadableHeader(b []byte) bool {
	for _, e := range forms {
		if _, ok := wire.ParseSplit(b, e); ok {
			return true
		}
	}
	return false
}

// forms is in the order of preference where nothing else decides.
var forms = [...]wire.Engine{wire.Source, wire.GoldSource, wire.SourceOld}

// reject delivers a datagram whose header makes sense in no form: as Truncated if the
// capture cut it within the header, else as Malformed.
func (a *Assembler) reject(c *candidate) {
	o := a.newOut(keyOf(c.Src, c.Dst))
	if c.isCut && len(c.b) < wire.Source.HeaderLen() {
		a.Counters.Short++
		o.Outcome = Truncated
	} else {
		a.Counters.Malformed++
		o.Outcome = Malformed
	}
	head := 0
	if wire.IsSplit(c.b) {
		head = markLen
		if len(c.b) >= commonLen {
			head = commonLen
			o.ID = wire.SplitID(c.b)
		}
	}
	o.Received = 1
	o.First, o.Last = a.now, a.now
	a.joined = append(a.joined[:0], c.b[head:]...)
	n := uint32(len(a.joined))
	o.Parts = append(o.Parts, Part{Len: n, Frame: c.Frame})
	if n > 0 {
		o.Pieces = append(o.Pieces, reassembly.Piece{Frame: c.Frame, Len: n, At: uint32(head)})
	}
	o.Frames = append(o.Frames, c.Frame)
	o.Joined, o.Data, o.Run = a.joined, a.joined, len(a.joined)
	o.Wire = c.wire - head
	if !c.isCut && n > 0 {
		second := uint64(0)
		if n > 1 {
			second = uint64(a.joined[1])
		}
		o.addFinding(BadHeader, BadHeader.Severity, uint64(a.joined[0]), second)
	}
	a.send()
}

// markLen is the length of FE FF FF FF, commonLen that of what all forms begin
// with: the mark and the id.
const (
	markLen   = 4
	commonLen = 8
)

// Datagram is a datagram that starts with FE FF FF FF. The Assembler copies what it
// keeps.
type Datagram struct {
	Src, Dst netip.AddrPort     // ends that differ in the zone only are the same
	Data     []byte             // the UDP payload as captured, header included
	Wire     int                // its length on the wire, at least len(Data)
	Pieces   []reassembly.Piece // by IP fragment, offsets into Data ascending; nil if the datagram is one frame
	Frame    uint64             // the frame that completed the datagram
	Nanos    int64              // packet time
	Hint     wire.Engine        // form of earlier messages of the flow; None if there were none
}

// Outcome is what became of a set.
type Outcome uint8

// The outcomes.
const (
	Complete    Outcome = iota
	Incomplete          // parts are missing
	Truncated           // every part came, the capture cut at least one
	BadBzip2            // compressed, and no layout gives the declared size and CRC
	TooLarge            // compressed, and larger than Limits.Inflated
	Refused             // compressed, and not decompressed: this second's work is spent
	Unsupported         // compressed, with a randomised block, which the decoder does not read
	Malformed           // one datagram whose header makes sense in no form
)

// Set is one split message, or what came of it. It and all it points to are
// valid during the call of Deliver only.
type Set struct {
	Src, Dst   netip.AddrPort
	Engine     wire.Engine
	Outcome    Outcome
	Compressed bool   // announced by the id's top bit (Source only)
	Ended      bool   // the capture ended before the wait was over
	IsInferred bool   // no part proves the form of the header
	Disputed   bool   // of a part, or of the whole with this id, another copy with other bytes came as well
	Size       uint16 // Source: the part size of the header
	ID         uint32 // Source: without the compression bit
	Total      int    // number of parts, by the header of the first that came; 0 if Malformed
	Received   int    // different parts that came

	// Data is the message: Joined, or Joined decompressed. In an incomplete or
	// truncated set its first Run bytes are the message up to the first gap; the
	// payloads of the later parts follow in their order. Run is 0 where compressed
	// bytes could not be decompressed: nothing in them can be dissected. In a BadBzip2 set
	// with a Run they could be, and what came out is not what the header declares.
	Data []byte
	Run  int
	// IsSound is set in such a set if the stream's own checksums are right: Data is what was
	// compressed, and the header is wrong.
	IsSound bool
	Wire    int // what len(Data) would be, had the capture cut nothing

	// Joined is the payloads after the split headers, by number. If Prefix is 8,
	// it starts with the decompressed size and the CRC-32 that are in
	// Declared and CRC; copies of them in later parts are not in it. Of a
	// Malformed datagram it is what follows the id.
	Joined        []byte
	Prefix        int
	Declared, CRC uint32

	Parts  []Part             // the parts that came, by number; they tile Joined
	Pieces []reassembly.Piece // which frame brought which bytes of Joined, ascending, disjoint
	Frames []uint64           // all frames that brought something, ascending

	First, Last int64 // packet time of the first and the last part that came
	Expert      []finding.Expert
}

// Part is where the payload of one part lies in Joined, and the frame that brought it.
type Part struct {
	Number   uint8
	IsCut    bool // the capture cut its end off
	Off, Len uint32
	Frame    uint64
}

// Counters are running totals. Sets counts the sets that wait no longer; each of them
// is also counted as Complete, Incomplete, Truncated, BadBzip2, TooLarge, Refused,
// Unsupported or Repeats.
type Counters struct {
	Parts         uint64 // datagrams given to Add
	Duplicates    uint64 // parts that came again, equal
	Repeats       uint64 // sets of late duplicates that never became a whole copy; not delivered
	Conflicts     uint64 // parts that came again, different
	Held          uint64 // parts that waited for another one to prove their form
	TotalsDiffer  uint64 // parts that disagree about the number of parts
	BadNumber     uint64 // parts beyond their set's total
	Sets          uint64
	Complete      uint64
	Incomplete    uint64
	Truncated     uint64
	BadBzip2      uint64
	TooLarge      uint64
	Refused       uint64
	Unsupported   uint64
	Malformed     uint64 // datagrams; they open no set
	Short         uint64 // datagrams that the capture cut inside the header; they open no set
	Compressed    uint64 // sets announced as compressed
	Inferred      uint64 // sets whose form was chosen by fit
	IDReused      uint64
	Evicted       uint64 // waiting sets that had to make room
	MemosEvicted  uint64 // memos of delivered sets that had to make room before they expired
	OverSet       uint64 // parts refused because their set would grow too large
	PiecesDropped uint64 // parts whose IP fragments were not listed, for lack of room
	Inflations    uint64 // streams tried
	BackwardsTime uint64 // fragments or ticks older than one before
}
