// Package capture says what a captured packet is and how a source of packets
// is read. It knows neither file formats nor interfaces: those are in
// capture/file and capture/live.
package capture

import "io"

// MaxPackets is how many packets a Batch holds at most: enough to make the
// hand-over between goroutines cheap, few enough to stay in the cache.
const MaxPackets = 1024

// MaxCaptured is the largest captured length that is believed, in bytes. It is
// libpcap's MAXIMUM_SNAPLEN: nothing on a network is longer, so a record that
// claims more is damage, and no buffer is sized by what it claims.
const MaxCaptured = 262_144

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
type Batch struct {
	Packets []Packet
	Buf     []byte // belongs to the Source that fills the batch
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() { b.Packets = b.Packets[:0] }

// Stats are running totals of a Source.
type Stats struct {
	Received uint64 // packets delivered
	Dropped  uint64 // packets lost before they reached the source
	Bytes    int64  // bytes of input consumed
	Size     int64  // bytes of input in all, 0 if unknown
}

// Source delivers packets in capture order.
//
// Read fills b and returns early when the input would block (standard input,
// live). It returns io.EOF after the last packet. A damaged input delivers
// what precedes the damage, then an error that says where. Read may return
// packets and an error together.
type Source interface {
	Read(b *Batch) error
	Stats() Stats
	io.Closer
}
