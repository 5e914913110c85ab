// Package render defines what renderers are given: decoded messages, findings, dialogues,
// incidents and the results of a run. The packages below it are the renderers, one for
// each output format. They append to a byte slice. They do no I/O, keep nothing between
// events and never look at which protocol or message type they print: all that they need
// is in the definitions of the fields.
package render

import (
	"bytes"
	"net/netip"
	"slices"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
	"qsniff/internal/render/tally"
	"qsniff/internal/track/fingerprint"
	"qsniff/reassembly/wire"
)

// Reasons why the sender itself left out the rest of a message; other ones are that the capture lacks it.
const (
	ClosedWithin = "the sender closed the connection within the message"
	ResetWithin  = "the connection was reset within the message"
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

// Clone returns a copy of an event that depends on nothing of it, without its Origin.
func (e *Event) Clone() *Event {
	c := *e
	c.Frames, c.Pieces, c.Ways = slices.Clone(e.Frames), slices.Clone(e.Pieces), slices.Clone(e.Ways)
	c.Comments = nil
	for _, text := range e.Comments {
		c.Comments = append(c.Comments, bytes.Clone(text))
	}
	if e.Split != nil {
		s := *e.Split
		c.Split = &s
	}
	c.Msg, c.Origin = new(dissect.Message), Origin{}
	e.Msg.Clone(c.Msg)
	return &c
}

// Record is a finding that belongs to no message: it is about the capture, or was decided
// long after the messages that it concerns were written. All of it is valid during the
// call only.
type Record struct {
	Nanos  int64 // Unix time
	Start  int64 // Unix nanoseconds of the first packet of the run
	Hole   Hole  // set by the renderer
	Expert *finding.Expert
	Frames []uint64
	// Server and Client are not valid where the finding is about neither.
	Server, Client netip.AddrPort
	// Detail is appended to the code's sentence: names and reasons, which an Expert
	// cannot carry. It may come from the network, so escape it.
	Detail []byte
}

// Way is one layer around the packet of a message: a VLAN tag, an MPLS label, a tunnel.
type Way struct {
	Kind     string // "VXLAN"; a constant
	ID       uint32 // of the tag or tunnel, 0 if there is none
	Src, Dst netip.AddrPort
}

// IncidentEvent is what happened to an incident, for a line among the messages: it was
// detected, changed, or is over. All of it is valid during the call only.
type IncidentEvent struct {
	Nanos int64 // Unix time of the packet, or of the clock, that decided it
	First int64 // Unix nanoseconds of the first packet of the run
	Hole  Hole  // set by the renderer
	Event flood.Event
	// Thread is what all events of one incident have in common, also among those of other runs;
	// empty: it is not shown.
	Thread string
	Run    *tally.Run // counters so far, valid as long as the event; nil: not known
	*flood.Incident
}

// IncidentRenderer is implemented by renderers that have a form for incidents.
type IncidentRenderer interface {
	AppendIncident(dst []byte, x *IncidentEvent) []byte
}

// Clock chooses how a renderer writes the time of a message.
type Clock uint8

// The clocks.
const (
	Absolute Clock = iota // date and time of day
	Relative              // seconds since the first packet
	Delta                 // seconds since the line before
	Epoch                 // seconds since 1970
	Offset                // seconds since the first message of the dialogue
)

// TruncateMicros returns a time in nanoseconds, cut to whole microseconds.
func TruncateMicros(nanos int64) int64 { return nanos - nanos%1000 }

// Hole is blank space for a time that a renderer does not have: the time since the line
// before, which another partition may have rendered, or since the start of a dialogue.
// Whoever writes the output fills it, with FillHole.
type Hole struct {
	IsSet bool
	At    int // offset in the slice that the renderer appended to
	Width int // blank cells there
}

// AppendSeconds appends a time in seconds by any clock but Absolute, right-aligned in
// width cells. Under Delta and Offset it appends blanks and sets h.
func (c Clock) AppendSeconds(dst []byte, nanos, start int64, width int, h *Hole) []byte {
	switch c {
	case Relative:
		return digits.AppendSeconds(dst, nanos-start, width)
	case Delta, Offset:
		*h = Hole{IsSet: true, At: len(dst), Width: width}
		for range width {
			dst = append(dst, ' ')
		}
		return dst
	}
	return digits.AppendSeconds(dst, nanos, width)
}

// FillHole writes nanos, as seconds, over the width blanks at offset at of dst. Where it
// needs more than width cells, the rest of dst moves.
func FillHole(dst []byte, at, width int, nanos int64) []byte {
	lo := len(dst)
	dst = digits.AppendSeconds(dst, nanos, width)
	n := len(dst) - lo
	if n == width {
		copy(dst[at:], dst[lo:])
		return dst[:lo]
	}
	var text [32]byte // longer than any number of seconds
	copy(text[:n], dst[lo:])
	dst = dst[:lo+n-width]
	copy(dst[at+n:], dst[at+width:lo])
	copy(dst[at:], text[:n])
	return dst
}
