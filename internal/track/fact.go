package track

import (
	"net/netip"
	"unicode/utf8"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/reassembly/wire"
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
	Refused bool // the message refuses a login, or the token of a command
	Page    dissect.Page
	// GamePort is where players join, as the message says; 0 if it does not.
	GamePort uint16
	Bytes    uint32 // of the message
	Wire     uint32 // with the headers of IP and of UDP or TCP of all its packets
	Packets  uint32 // in which the message came
	Weight   uint32 // how many messages this one stands for, being of a sample; 0: itself
	Train    int64  // nanoseconds from its first packet to its last
	// TTL is that of the packet that completed a reply, or its hop limit; 0 if it is not known.
	TTL uint8
	// IsSplit is set of a reply that came in parts of an engine, or in one. Engine and PartSize are
	// the form in which it was cut; Engine is None of others, of compressed ones, and where the form
	// is a guess.
	IsSplit  bool
	Engine   wire.Engine
	PartSize uint16
	Said     *Said // nil if the message says nothing of its server, or nobody wants it
}

// Count returns how many messages f stands for, at least one.
func (f *Fact) Count() uint64 { return uint64(max(f.Weight, 1)) }

// Said is what a reply says that other replies of its server, or of others, can contradict.
// Numbers are -1, and hashes and ids 0, where the reply does not have them; hashes are equal for
// equal texts within a run.
type Said struct {
	Print uint64 // hash of all bytes of an answer to a request for information
	Map   uint64 // hash
	ID    uint64 // that the server is registered by
	Form  int32  // which of the optional fields the reply has, as a number of the protocol's
	Players, Max, Bots,
	TagPlayers int32 // the players once more, as the tags have it
	List PlayerList
}

// PlayerList is what a list of players amounts to.
type PlayerList struct {
	Counted int32  // players as the list's head has it; -1 if the reply has no list
	Listed  int32  // entries
	Named   int32  // of them with a name
	Timed   int32  // of them with a positive time
	Names   uint64 // hash of all names, in any order
	Times   uint64 // hash of all names and times, in any order
	// Nameless is how many have a positive time and no name, Youngest the shortest of their times, and Oldest the
	// longest of those with a name; in nanoseconds, 0 if there are none.
	Nameless         int32
	Youngest, Oldest int64
	// Shortest and Longest are of the positive times, in nanoseconds.
	Shortest, Longest int64
}

// ServerInfo is what a server reports of itself in a reply: the start of its texts, as they
// came from the network.
type ServerInfo struct {
	Name, Map ShortText
	// Players are as the tags have them where these say more than a count of one byte; of what the reply does
	// not contain, -1.
	Players, Max, Bots, Queue int32
}

// NoServerInfo is the ServerInfo of a server that has reported nothing.
func NoServerInfo() ServerInfo { return ServerInfo{Players: -1, Max: -1, Bots: -1, Queue: -1} }

// Merge adds what another reply of the server says: each reply has a part of it.
func (i *ServerInfo) Merge(from *ServerInfo) {
	i.Name.replace(&from.Name)
	i.Map.replace(&from.Map)
	replaceCount(&i.Players, from.Players)
	replaceCount(&i.Max, from.Max)
	replaceCount(&i.Bots, from.Bots)
	replaceCount(&i.Queue, from.Queue)
}

// Profile is ServerInfo with what a list of servers shows besides.
type Profile struct {
	ServerInfo
	Version, Tags ShortText
}

// NoProfile is the Profile of a server that has reported nothing.
func NoProfile() Profile {
	return Profile{ServerInfo: NoServerInfo()}
}

// Merge adds what another reply of the server says.
func (p *Profile) Merge(from *Profile) {
	p.ServerInfo.Merge(&from.ServerInfo)
	p.Version.replace(&from.Version)
	p.Tags.replace(&from.Tags)
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

// Listeners pass everything on to each of them.
type Listeners []Listener

// AddFact implements Listener.
func (l Listeners) AddFact(f *Fact, found []Found, info *ServerInfo) {
	for _, x := range l {
		x.AddFact(f, found, info)
	}
}

// AddFinding implements Listener.
func (l Listeners) AddFinding(frame uint64, nanos int64, server, client netip.AddrPort, found Found) {
	for _, x := range l {
		x.AddFinding(frame, nanos, server, client, found)
	}
}
