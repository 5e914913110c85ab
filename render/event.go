// Package render says what a renderer is given. Renderers append to a byte
// slice; they do no I/O, keep nothing between events and never look at which
// protocol or message type they print: the definitions of the fields tell all.
package render

import (
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/splithdr"
)

// Event is one message together with where it came from. All of it is valid
// during the call only.
type Event struct {
	Frame  uint64   // the packet that completed the message, from 1
	Frames []uint64 // all packets it came in, in order; nil if that is Frame alone
	Nanos  int64    // Unix time of Frame
	File   int      // input, or -1 where there is only one
	Iface  int      // interface, or -1 where the input names none

	Src, Dst netip.AddrPort
	Reply    bool // sent by the server; where the type is unknown, by its ports
	Msg      *dissect.Message
	Why      string // of a fragment: what became of the rest; a constant, or empty
	Split    *Split // nil if the message was not split

	Ways     []Way    // how the packet came in, outermost first; nil for none
	IfName   string   // of the interface; from the input, so escape it
	Comments [][]byte // what somebody wrote about the packet; escape them too
	Cut      string   // what Frames brought where it was neither parts of a split nor fragments of IP; a constant, or empty
}

// Split says how a message was split.
type Split struct {
	Engine     splithdr.Engine
	ID         uint32 // without the compression bit
	Total      int
	Received   int
	Size       int // the size field; 0 if the header has none
	Compressed bool
	// Declared and CRC stand in front of a compressed message: its length and
	// CRC-32; Packed is the length of the stream. All 0 where there are none.
	Declared, CRC uint32
	Packed        int
}

// Transport is the transport protocol's name.
func (e *Event) Transport() string { return "udp" }

// Renderer appends what it makes of an event. It allocates nothing once dst has
// grown.
type Renderer interface {
	Append(dst []byte, e *Event) []byte
	AppendRecord(dst []byte, r *Record) []byte
}
