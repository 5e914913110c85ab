package split

import (
	"net/netip"

	"qsniff/dissect/finding"
	"qsniff/reassembly"
	"qsniff/reassembly/wire"
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
