// Package render says what a renderer is given. Renderers append to a byte
// slice; they do no I/O, keep nothing between events and never look at which
// protocol or message type they print: the definitions of the fields tell all.
package render

import (
	"net/netip"

	"qsniff/dissect"
	"qsniff/wire"
)

// Event is one message together with where it came from. All of it is valid
// during the call only.
type Event struct {
	Frame  uint64   // the packet that completed the message, from 1
	Frames []uint64 // all packets it came in, in order; nil if that is Frame alone
	Nanos  int64    // Unix time of Frame
	Start  int64    // Unix time of the first packet
	Hole   Hole     // set by the renderer
	Quote  Quote    // likewise
	File   int      // input, or -1 where there is only one
	Iface  int      // interface, or -1 where the input names none

	Src, Dst      netip.AddrPort
	Reply         bool // sent by the server; where the type is unknown, by its ports
	Msg           *dissect.Message
	WhyIncomplete string // of a fragment: what became of the rest; a constant, or empty
	Split         *Split // nil if the message was not split
	Exchange      Exchange
	Train         int64 // nanoseconds from the first packet of Frames to the last; 0 if that is not known

	TCP      bool     // the message came over TCP, else over UDP
	Ways     []Way    // how the packet came in, outermost first; nil for none
	IfName   string   // of the interface; from the input, so escape it
	Comments [][]byte // what somebody wrote about the packet; escape them too
	// Record is "reply" where the event is no message but what several messages
	// came to: a reply joined from them. Empty for messages.
	Record string
	// Pieces says which frame brought which bytes of Msg.Data, in the order of
	// the bytes. It is nil where all came in one frame, and where the data was
	// decompressed, so that no byte is any frame's.
	Pieces     []Piece
	JoinedFrom string // what Frames brought where it was neither parts of a split nor fragments of IP; a constant, or empty
}

// Exchange says to which request and replies a message belongs. The zero value is
// none. Times are in nanoseconds, and -1 where they are not known.
type Exchange struct {
	ID uint64 // frame of its first request
	// Verb is what the message is in it, as a verb whose object is a request:
	// "answers"; empty for the first request. A constant.
	Verb         string
	Request      uint64 // of a reply, the frame of the request that it replies to; 0 if that is not known
	RTT          int64  // from that request to the reply
	ChallengeRTT int64  // of an answer, the round trip of the challenge before it
}

// Piece says that one frame brought the bytes [Off, Off+Len) of a message.
type Piece struct {
	Frame    uint64
	Off, Len uint32
}

// Split says how a message was split.
type Split struct {
	Engine     wire.Engine
	ID         uint32 // without the compression bit
	Total      int
	Received   int
	Size       int // the size field; 0 if the header has none
	Compressed bool
	// Declared and CRC stand before a compressed message: its length and
	// CRC-32; Packed is the length of the stream. All 0 where there are none.
	Declared, CRC uint32
	Packed        int
}

// Transport is the transport protocol's name.
func (e *Event) Transport() string {
	if e.TCP {
		return "tcp"
	}
	return "udp"
}

// Direction is "reply" or "request"; one-way messages are requests.
func (e *Event) Direction() string {
	if e.Reply {
		return "reply"
	}
	return "request"
}

// Renderer appends what it makes of an event. It allocates nothing once dst has
// grown.
type Renderer interface {
	Append(dst []byte, e *Event) []byte
	AppendRecord(dst []byte, r *Record) []byte
}
