package track

import (
	"net/netip"

	"qsniff/dissect"
	"qsniff/finding"
)

// Fact describes one message in packet order, or an answer that did not come: then Step is
// Silence, Frame is that of the last request, and Status is not set.
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
	// Key is the message's: the challenge that an A2S request brings back, or that a reply
	// gives. In a Silence it is that of the last request.
	Key uint64
	// Secret is the message's, see dissect.Message. It is never shown.
	Secret  uint32
	Refused bool   // the message refuses a login
	Bytes   uint32 // of the message
	Wire    uint32 // with the headers of IP and of UDP or TCP of all its packets
	Packets uint32 // in which the message came
	Train   int64  // nanoseconds from its first packet to its last
}

// ServerInfo is what a server reports of itself in a reply: the start of its texts, as they
// came from the network.
type ServerInfo struct {
	Name, Map    ShortText
	Players, Max int32 // -1 if the reply does not contain it
}

// ShortText is the start of a text, 64 bytes at most.
type ShortText struct {
	b [64]byte
	n uint8
}

// Set stores the start of text.
func (s *ShortText) Set(text []byte) { s.n = uint8(copy(s.b[:], text)) }

// Bytes returns the start of the text. It is valid as long as s.
func (s *ShortText) Bytes() []byte { return s.b[:s.n] }

// Found is a finding as listeners receive it. Detail is appended to its sentence; it may come
// from the network.
type Found struct {
	finding.Expert
	Detail []byte
}

// Listener receives what the fold learns. Arguments are valid during the call.
type Listener interface {
	// AddFact receives a message in packet order. info is nil if the server reports nothing of
	// itself in it.
	AddFact(f *Fact, found []Found, info *ServerInfo)
	// AddFinding receives a finding that belongs to no message. The ends are invalid if the
	// finding is about neither.
	AddFinding(frame uint64, nanos int64, server, client netip.AddrPort, found Found)
}
