// Package track remembers what bytes alone do not say. On the partition side:
// what the messages between one server and one client showed (Flows), and which
// of them belong together (Exchanges). On the fold side: what the messages of all
// say, as facts in packet order (Fact). It reads no payload and renders nothing.
package track

import (
	"net/netip"

	"qsniff/dissect"
	"qsniff/finding"
)

// Fact is what the fold learns of one message, or of an answer that did not come:
// then Step is Silence, Frame is that of the last request, and there is no Status.
type Fact struct {
	Frame  uint64
	Nanos  int64 // Unix time of Frame
	Age    int64 // the time that tables age by, at Frame
	Server netip.AddrPort
	Client netip.AddrPort
	Proto  *dissect.Proto
	Type   *dissect.Type // nil if unknown
	Status dissect.Status
	Reply  bool // sent by the server
	TCP    bool
	Part
	// Key is that of the message: the challenge that an A2S request brings back, or
	// that a reply gives. Of a Silence it is that of the last request.
	Key uint64
	// Secret is that of the message, and never shown: see dissect.Message.
	Secret  uint32
	Refused bool   // it refuses a login
	Bytes   uint32 // of the message
	Wire    uint32 // with the headers of IP and of UDP or TCP of all its packets
	Packets uint32 // that it came in
	Train   int64  // nanoseconds from its first packet to its last
}

// Post is what a server says of itself in a reply: the start of its texts, as they
// came from the network.
type Post struct {
	Name, Map    Short
	Players, Max int32 // -1 where the reply does not say
}

// Short is the start of a text.
type Short struct {
	b [64]byte
	n uint8
}

// Set keeps the start of text.
func (s *Short) Set(text []byte) { s.n = uint8(copy(s.b[:], text)) }

// Bytes is what was kept, valid as long as s.
func (s *Short) Bytes() []byte { return s.b[:s.n] }

// Found is a finding, as far as counting goes.
type Found struct {
	Code     *finding.Code
	Severity finding.Severity
}

// Listener receives what the fold learns. Arguments are valid during the call.
type Listener interface {
	// Fact takes a message in packet order; post is nil where the server says
	// nothing of itself.
	Fact(f *Fact, found []Found, post *Post)
	// Finding takes a finding that belongs to no message. The ends are not valid
	// where it is about neither.
	Finding(frame uint64, nanos int64, server, client netip.AddrPort, found Found)
}
