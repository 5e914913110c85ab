package track

import (
	"net/netip"
	"unicode/utf8"

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

// Merge adds what another reply of the server says: each reply has a part of it.
func (i *ServerInfo) Merge(from *ServerInfo) {
	i.Name.replace(&from.Name)
	i.Map.replace(&from.Map)
	replaceCount(&i.Players, from.Players)
	replaceCount(&i.Max, from.Max)
}

// Profile is ServerInfo with what a list of servers shows besides.
type Profile struct {
	ServerInfo
	Version, Tags ShortText
	Bots, Queue   int32 // -1 if the reply does not contain it
}

// NoProfile is the Profile of a server that has reported nothing.
func NoProfile() Profile {
	return Profile{ServerInfo: ServerInfo{Players: -1, Max: -1}, Bots: -1, Queue: -1}
}

// Merge adds what another reply of the server says.
func (p *Profile) Merge(from *Profile) {
	p.ServerInfo.Merge(&from.ServerInfo)
	p.Version.replace(&from.Version)
	p.Tags.replace(&from.Tags)
	replaceCount(&p.Bots, from.Bots)
	replaceCount(&p.Queue, from.Queue)
}

// replaceCount replaces a count by a later one, if there is one.
func replaceCount(n *int32, by int32) {
	if by >= 0 {
		*n = by
	}
}

// ShortText is the start of a text, 64 bytes at most.
type ShortText struct {
	b [64]byte
	n uint8
}

// Set stores the start of text.
func (s *ShortText) Set(text []byte) { s.n = uint8(copy(s.b[:], text)) }

// Whole returns the start of the text without the half of a character at its end, if it was cut
// there. It is valid as long as s.
func (s *ShortText) Whole() []byte {
	b := s.Bytes()
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if last := b[len(b)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				b = b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// replace replaces the text by a later one, if there is one.
func (s *ShortText) replace(by *ShortText) {
	if by.n > 0 {
		*s = *by
	}
}

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
