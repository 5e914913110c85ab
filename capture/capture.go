// Package capture says what a captured packet is, how a source of packets is
// read, and how several sources are read as one. It knows neither file formats
// nor interfaces: those are in capture/file and capture/live.
package capture

import "io"

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
}

// Batch is a run of packets in capture order together with the memory that
// their Data points into. Whoever owns a Batch may have it filled again.
//
// What few packets have is beside them, so that all the others do not pay for
// it: Gaps and Comments are in the order of their At.
type Batch struct {
	Packets  []Packet
	Gaps     []Gap
	Comments []Comment
	Buf      []byte // belongs to the Source that fills the batch
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.Packets = b.Packets[:0]
	b.Gaps = b.Gaps[:0]
	b.Comments = b.Comments[:0]
}

// Comment is what somebody wrote about a packet. A packet may have several.
type Comment struct {
	At   int    // index of the packet in Batch.Packets
	Text []byte // bytes of the input, meant to be UTF-8; valid as long as the packet
}

// Stats are running totals of a Source.
type Stats struct {
	Received uint64 // packets delivered
	Dropped  uint64 // packets lost before they reached the source
	Bytes    int64  // bytes of input consumed; of a compressed input: before expansion
	Size     int64  // bytes of input in all, 0 if unknown
	Gaps     uint64 // damaged places that were passed over
	Skipped  int64  // bytes of input in these places, after expansion
}

// Source delivers packets in capture order.
//
// Read fills b and returns early when the input would block (standard input,
// live). It returns io.EOF after the last packet. A damaged input delivers
// what precedes the damage, then an error that says where. If it could go on
// after the damage, it does, says in Batch.Gaps at which packet, and the error
// comes at the end instead of io.EOF. Read may return packets and an error
// together, and gaps without packets.
type Source interface {
	Read(b *Batch) error
	Stats() Stats // received, dropped by kernel, bytes
	io.Closer
}

// Interface is where packets were captured, as far as the input tells.
type Interface struct {
	File  uint16 // the input, as in Packet.File
	Index uint16 // within its input, as in Packet.Iface

	// Bytes of the input, cut to a bounded length, not meant for a terminal as
	// they are. Filter is what the capturing program was asked to keep.
	Name, Description, Filter string

	Link    uint16 // LINKTYPE_ value
	SnapLen uint32 // most bytes kept of a packet; 0: no limit
	Dropped uint64 // packets that the capturing program says it lost here
}

// Describer is implemented by sources that know about the interfaces of their
// packets. Inputs may name interfaces at any place, so the list grows while
// packets are read; what was returned stays as it is. It is bounded: packets
// may have an Iface that is not in it.
type Describer interface {
	Interfaces() []Interface
}
