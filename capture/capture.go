// Package capture defines what a captured packet is, how a source of packets is
// read, and how several sources are read as one. It reads neither files nor
// interfaces itself: capture/file and capture/live are the sources. A source fills
// a Batch, the reader of the Batch uses its packets, and has it filled again.
package capture

import (
	"io"

	"qsniff/internal/base/digits"
)

// Packet is one captured frame. Data points into the Batch it came in and is
// valid until that Batch is filled again.
type Packet struct {
	No    uint64 // from 1, over all inputs
	Nanos int64  // Unix time in nanoseconds
	Data  []byte // what was captured, from the link header on
	Wire  uint32 // length on the wire, at least len(Data)
	Link  uint16 // LINKTYPE_ value; 16 bits, because SLL2 is 276
	Iface uint16 // interface within its input
	File  uint16 // input, from 0
	Lane  uint16 // from 0; inputs of one lane follow each other in time, as the files of a ring

	// Segment is set where Data holds several UDP datagrams that offload merged into one: the bytes
	// of payload that each has but the last, which may have fewer. Only live sources know it.
	Segment uint16
}

// Batch is a run of packets in capture order together with the memory that
// their Data points into. The owner of a Batch may have it filled again.
//
// Gaps and Comments, which few packets have, are not part of Packet, so that the others
// take no memory for them. Both are in the order of their At.
type Batch struct {
	Packets  []Packet
	Gaps     []Gap
	Comments []Comment
	Buf      []byte // belongs to the Source that fills the batch
	HasMore  bool   // of a live source: more packets were waiting than the batch has room for
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.Packets = b.Packets[:0]
	b.Gaps = b.Gaps[:0]
	b.Comments = b.Comments[:0]
	b.HasMore = false
}

// Comment is what somebody wrote about a packet. A packet may have several.
type Comment struct {
	At   int    // index of the packet in Batch.Packets
	Text []byte // bytes of the input, meant to be UTF-8; valid as long as the packet
}

// Gap is a stretch of an input that could not be read, with packets after it
// that could. It is reported in place, because messages, exchanges and connections
// with packets before and after it may be incomplete.
type Gap struct {
	At      int    // index in Batch.Packets of the packet after it; len(Packets) if that is not in this batch
	File    string // name of the input
	Offset  int64  // of the first byte that was not read, after expansion
	Skipped int64  // bytes that were not read; sound ones between malformed places may not be counted
	Reason  string // lower case, one line
	Hint    string // what to do, one line; may be empty
}

// String returns one line, without the hint.
func (g *Gap) String() string {
	return g.File + ": byte " + digits.Grouped(g.Offset) + ": " + g.Reason +
		"; " + digits.Counted(uint64(g.Skipped), "byte") + " skipped"
}

// Stats are running totals of a Source.
type Stats struct {
	Received uint64 // packets delivered
	Dropped  uint64 // packets lost before they reached the source
	Bytes    int64  // bytes of input consumed; of a compressed input: before expansion
	Size     int64  // bytes of input in all, 0 if unknown
	Gaps     uint64 // malformed places that were skipped
	Skipped  int64  // bytes of input in these places, after expansion
}

// Source delivers packets in capture order.
//
// Read fills b and returns early when the input would block (standard input,
// live). It returns io.EOF after the last packet. Of an input that is malformed or
// cut short it delivers what precedes the damage, then returns an error with its
// place. If packets can be read after the damage, they are: Batch.Gaps then reports
// before which packet others are missing, and the error comes at the end instead of
// io.EOF. Read may return packets and an error together, and gaps without packets.
type Source interface {
	Read(b *Batch) error
	Stats() Stats
	io.Closer
}

// Interface is where packets were captured, as far as the input states it.
type Interface struct {
	File  uint16 // the input, as in Packet.File
	Index uint16 // within its input, as in Packet.Iface

	// Bytes of the input, cut to a bounded length, not meant for a terminal as
	// they are. Filter is that of the capturing program.
	Name, Description, Filter string

	Link    uint16 // LINKTYPE_ value
	SnapLen uint32 // most bytes kept of a packet; 0: no limit
	Dropped uint64 // packets that the capturing program reports as lost here
}

// Describer is implemented by sources that can describe the interfaces of their
// packets. Inputs may describe interfaces at any place, so the list grows while
// packets are read; what was returned stays as it is. It is bounded: packets
// may have an Iface that is not in it.
type Describer interface {
	Interfaces() []Interface
}

// limit: MaxCaptured is the largest captured length that is believed, in bytes. It
// is libpcap's MAXIMUM_SNAPLEN: nothing on a network is longer, so a record
// that claims more is damage, and no buffer is sized by what it claims.
const MaxCaptured = 262_144
