// Package render defines what renderers are given: decoded messages, findings, dialogues,
// incidents and the results of a run. The packages below it are the renderers, one for
// each output format. They append to a byte slice. They do no I/O, keep nothing between
// events and never look at which protocol or message type they print: all that they need
// is in the definitions of the fields.
package render

import (
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/track/fingerprint"
	"qsniff/reassembly/wire"
)

// Event is one message together with where it came from. All of it is valid
// during the call only.
type Event struct {
	Frame  uint64   // the packet that completed the message, from 1
	Frames []uint64 // all packets it came in, in order; nil if that is Frame alone
	Nanos  int64    // Unix nanoseconds of Frame
	Start  int64    // Unix nanoseconds of the first packet of the run
	Hole   Hole     // set by the renderer
	Quote  Quote    // set by the renderer
	File   int      // input, or -1 where there is only one
	Iface  int      // interface, or -1 where the input names none

	Src, Dst      netip.AddrPort
	Reply         bool // sent by the server; where the type is unknown, the ports decide
	Msg           *dissect.Message
	WhyIncomplete string // of an incomplete message: what became of the rest; a constant, or empty
	Split         *Split // nil if the message was not split
	Exchange      Exchange
	Train         int64 // nanoseconds from the first packet of Frames to the last; 0 if unknown

	TCP      bool     // the message came over TCP, else over UDP
	Ways     []Way    // how the packet came in, outermost first; nil for none
	IfName   string   // of the interface; from the input, so escape it
	Comments [][]byte // of the packet, in the capture file; escape them too
	// Record is "reply" where the event is not a message but a reply that was joined from
	// several messages. It is empty for messages.
	Record string
	// Pieces lists which frame brought which bytes of Msg.Data, in the order of
	// the bytes. It is nil where all came in one frame, and where the data was
	// decompressed, so that no byte belongs to one frame.
	Pieces []Piece
	// JoinedFrom names what Frames hold where that is neither parts of a split message
	// nor fragments of IP. It is a constant, or empty.
	JoinedFrom string
	// Origin is where in the packets the message is; the zero value where nobody wants it.
	Origin Origin
}

// Origin is where in the packets the bytes of a message are.
type Origin struct {
	// Pieces lists which frame brought which bytes of Msg.Data, also where that is one. Of
	// a message over TCP there are none: Seq is the sequence number of its first byte.
	Pieces []Piece
	Seq    uint32
	// Packed is what Pieces are of, if Msg.Data was compressed: PrefixLen bytes, or none, and
	// a stream.
	Packed    []byte
	PrefixLen int
	// IsNone is set of a reply that was joined from several messages, which have theirs.
	IsNone bool
	// HasNoPlace is set of a message in a sample of sFlow: its bytes are in the payload of the
	// packet, at a place that is not recorded.
	HasNoPlace bool
	// IsLate is set where a later packet than Frame decided that the message is as it is.
	IsLate bool
}

// Exchange is the place of a message among the request and the replies that it belongs
// to. The zero value is none. Times are in nanoseconds, and -1 where they are unknown.
type Exchange struct {
	ID uint64 // frame of the exchange's first request
	// Verb is what the message does to a request of the exchange: "answers", "challenges".
	// It is a constant, and empty for the first request.
	Verb         string
	Request      uint64 // of a reply, the frame of the request that it replies to; 0 if unknown
	RTT          int64  // from that request to the reply
	ChallengeRTT int64  // of an answer, the round trip of the challenge before it
	// Signs are what the client's visit to the server showed up to this request or answer.
	Signs fingerprint.Signs
}

// Piece is the bytes [Off, Off+Len) of a message, which one frame brought.
type Piece struct {
	Frame    uint64
	Off, Len uint32
	// At is where they begin in what the frame carries: the payload of its datagram, or,
	// of each fragment of IP, the first one too, what follows its IP header. It is unset for TCP.
	At uint32
}

// Split describes how an engine split a message.
type Split struct {
	Engine     wire.Engine
	ID         uint32 // without the compression bit
	Total      int
	Received   int
	Size       int // the size field; 0 if the header has none
	Compressed bool
	// Declared and CRC are the length and the CRC-32 that stand before a compressed
	// message; Packed is the length of the stream. All are 0 where there are none.
	Declared, CRC uint32
	Packed        int
}

// Transport returns the transport protocol's name, "udp" or "tcp".
func (e *Event) Transport() string {
	if e.TCP {
		return "tcp"
	}
	return "udp"
}

// Direction returns "reply" or "request"; one-way messages to the server are requests.
func (e *Event) Direction() string {
	if e.Reply {
		return "reply"
	}
	return "request"
}

// Renderer appends the form that it has for an event or a finding. It allocates nothing
// once dst has grown.
type Renderer interface {
	Append(dst []byte, e *Event) []byte
	AppendRecord(dst []byte, r *Record) []byte
}

// Copier is a Renderer that writes the same faster if it may remember what it wrote. Copy
// returns one that does, for one goroutine.
type Copier interface {
	Renderer
	Copy() Renderer
}
