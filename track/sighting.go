package track

import (
	"encoding/binary"
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/lru"
)

// Host is an IP address; IPv4 is mapped.
type Host [16]byte

// HostOf is the address of an end.
func HostOf(a netip.AddrPort) Host { return a.Addr().As16() }

// Addr is the address as others write it.
func (h Host) Addr() netip.Addr { return netip.AddrFrom16(h).Unmap() }

// Is4 reports whether the address is IPv4.
func (h *Host) Is4() bool {
	return *(*[12]byte)(h[:12]) == [12]byte{10: 0xff, 11: 0xff}
}

// Hash mixes the address with the seed. The third round makes random what is even
// after two: hashes of addresses in a row, of which sketches count too few or too
// many.
func (h Host) Hash(seed uint64) uint64 {
	a, b := binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:])
	return lru.Mix(lru.Mix(lru.Mix(seed, a), b), 0)
}

// End is one end of UDP or TCP.
type End struct {
	Host Host
	Port uint16
}

// EndOf is the end at an address and a port.
func EndOf(a netip.AddrPort) End { return End{HostOf(a), a.Port()} }

// AddrPort is the end as others write it.
func (e End) AddrPort() netip.AddrPort { return netip.AddrPortFrom(e.Host.Addr(), e.Port) }

// Hash mixes the end with the seed.
func (e End) Hash(seed uint64) uint64 { return lru.Mix(e.Host.Hash(seed), uint64(e.Port)) }

// What says what a packet is, as far as its own bytes tell: nothing is paired,
// joined or remembered to say so.
type What uint8

// What packets are.
const (
	// IsOther is a datagram that no protocol of ours has sent: the game's, mostly.
	IsOther What = iota
	IsRequest
	IsReply
	IsChallenge // a reply that gives a challenge in place of an answer
	IsPart      // of a split reply
	// IsJunk begins like a connectionless packet of the engines and is nothing known.
	IsJunk
	// IsUnreachable is an ICMP error about a datagram that Src sent to Dst.
	IsUnreachable
	// IsListed is a server that a master server's reply names: Src is the server, Dst
	// who asked. Where the capture cut the reply there is one with Cut and the master
	// server itself.
	IsListed
	IsOpened // SYN
	IsAgreed // SYN with ACK: Key is the sender's first number
	IsAcked  // any other segment with ACK: Key is the number before the one acknowledged
	// IsLogin is a password for remote console over TCP, IsWelcome and IsRejected are what
	// the server says to it.
	IsLogin
	IsWelcome
	IsRejected
	// IsFragment is a fragment of an IP datagram, whether or not the others come: Key is the
	// number that they share, Detail the protocol. What is joined from them is a sighting
	// of its own, with Joined.
	IsFragment
	IsControl // an ICMP message that quotes none of our datagrams: Detail is its type
	// IsCarried is a packet of another protocol on top of IP, or of one whose header is
	// impossible: Detail is the protocol. A packet inside of a GRE tunnel is a sighting of
	// its own, beside that of the tunnel's.
	IsCarried
	NumWhats
)

// Sighting is one packet, or what was joined from IP fragments, as the watchers of
// a whole network see it: small, flat, and made for every packet without looking
// anything up. It has no field that the packet itself does not tell.
type Sighting struct {
	Frame    uint64
	Age      int64 // the time that tables age by: never goes back
	Nanos    int64 // Unix time of the packet, which may
	Src, Dst Host
	// ClientHash is a hash of the client's address, ServerHash one of the server's and its
	// port, with the seed of the run; see Sighting.Server for who is which.
	ClientHash, ServerHash uint64
	SrcPort                uint16
	DstPort                uint16
	What                   What
	TTL                    uint8 // or hop limit
	Flags                  SightFlags
	Detail                 uint8          // see What
	Foreign                uint8          // which message of another game it is, see dissect.Registry.ForeignType; 0: none
	Asks                   dissect.Asked  // what a request asks for, or a reply gives
	Proto                  *dissect.Proto // nil if it is nobody's
	Type                   *dissect.Type
	// Key is the challenge that a request brings back or that an IsChallenge gives; see
	// What for segments. It is valid where HasKey is set.
	Key uint32
	// Secret tells passwords of an IsLogin apart, see dissect.Message. It is never shown.
	Secret uint32
	Bytes  uint32 // of the payload, as sent
	Wire   uint32 // with the headers of IP and of UDP or TCP
	// Print is a hash of the payload without the challenge: packets of one tool have
	// the same.
	Print uint32
}

// SightFlags are what else there is to say of a packet.
type SightFlags uint8

// The flags.
const (
	// HasKey: the packet has a challenge, which is no placeholder.
	HasKey SightFlags = 1 << iota
	// Cut: the capture does not have all of the payload. A challenge may be missing.
	Cut
	// Weak: the bytes could be a query or anything else.
	Weak
	// First: of an IsPart, the one that stands for its message.
	First
	// Copy: a packet with the same content went the same way not five milliseconds
	// before, which a mirror that doubles packets does, and so may a sender.
	Copy
	// Connection: over TCP.
	Connection
	// Joined: made of fragments that are sightings of their own.
	Joined
)

// From is the end that sent the packet, To the one it went to.
func (s *Sighting) From() End { return End{s.Src, s.SrcPort} }

// To is the other end.
func (s *Sighting) To() End { return End{s.Dst, s.DstPort} }

// Server and Client are the ends of a packet by what it is. Of what does not tell,
// the receiver counts as the server.
func (s *Sighting) Server() (Host, uint16) {
	if s.fromServer() {
		return s.Src, s.SrcPort
	}
	return s.Dst, s.DstPort
}

// Client is the other end.
func (s *Sighting) Client() (Host, uint16) {
	if s.fromServer() {
		return s.Dst, s.DstPort
	}
	return s.Src, s.SrcPort
}

// FromHash and ToHash return hashes of the ends that sent the packet and that it went to,
// of hashes that have been filled in: what one direction of a flow has as its sender, the
// other one has as its receiver.
func (s *Sighting) FromHash() uint64 {
	if s.fromServer() {
		return s.ServerHash
	}
	return lru.Mix(s.ClientHash, uint64(s.SrcPort))
}

// ToHash: see FromHash.
func (s *Sighting) ToHash() uint64 {
	if s.fromServer() {
		return lru.Mix(s.ClientHash, uint64(s.DstPort))
	}
	return s.ServerHash
}

// Mix fills in the hashes, which depend on What.
func (s *Sighting) Mix(seed uint64) {
	if s.fromServer() {
		s.ClientHash, s.ServerHash = s.Dst.Hash(seed), lru.Mix(s.Src.Hash(seed), uint64(s.SrcPort))
		return
	}
	s.ClientHash, s.ServerHash = s.Src.Hash(seed), lru.Mix(s.Dst.Hash(seed), uint64(s.DstPort))
}

func (s *Sighting) fromServer() bool {
	switch s.What {
	case IsReply, IsChallenge, IsPart, IsAgreed, IsWelcome, IsRejected, IsUnreachable, IsListed:
		return true
	}
	return false
}

// Watcher takes sightings in packet order. Arguments are valid during the call.
type Watcher interface {
	Sight(s *Sighting)
	// Tick says that time has passed: the time that tables age by, and the time stamp
	// of the packet that shows it.
	Tick(age, nanos int64)
	// Lost says that packets are missing from the capture, as far as it tells.
	Lost(packets uint64)
	// End says that no packet follows.
	End(age, nanos int64)
}
