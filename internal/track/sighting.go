package track

import (
	"encoding/binary"
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/base/lru"
)

// Host is an IP address; IPv4 is mapped.
type Host [16]byte

// HostOf returns the address of an end.
func HostOf(a netip.AddrPort) Host { return a.Addr().As16() }

// Set makes h the address of an end.
func (h *Host) Set(a netip.AddrPort) { h.setAddr(a.Addr()) }

func (h *Host) setAddr(ip netip.Addr) {
	a, b := wordsOf(ip)
	binary.BigEndian.PutUint64(h[:8], a)
	binary.BigEndian.PutUint64(h[8:], b)
}

// words returns the two halves of the address.
func (h *Host) words() (a, b uint64) {
	return binary.BigEndian.Uint64(h[:8]), binary.BigEndian.Uint64(h[8:])
}

// wordsOf returns the two halves of an address as a Host. What is written must be read in the same
// pieces: a processor that reads what it has just written in others waits for that.
func wordsOf(ip netip.Addr) (a, b uint64) {
	if ip.Is4() {
		h := ip.As4()
		return 0, 0xffff<<32 | uint64(binary.BigEndian.Uint32(h[:]))
	}
	h := ip.As16()
	return binary.BigEndian.Uint64(h[:8]), binary.BigEndian.Uint64(h[8:])
}

// Addr returns the address as a netip.Addr; IPv4 is unmapped.
func (h Host) Addr() netip.Addr { return netip.AddrFrom16(h).Unmap() }

// Is4 reports whether the address is IPv4. It reads no more at once than Set writes: see there.
func (h *Host) Is4() bool {
	return binary.BigEndian.Uint64(h[:8]) == 0 && binary.BigEndian.Uint32(h[8:]) == 0xffff
}

// Hash mixes the address with the seed.
func (h Host) Hash(seed uint64) uint64 { return h.HashOf(seed) }

// HashOf is Hash of an address in memory, which is not copied. It takes a third round because
// after two, the hashes of consecutive addresses are spread too evenly: sketches count too few
// or too many of them.
func (h *Host) HashOf(seed uint64) uint64 {
	a, b := binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:])
	return lru.Mix(lru.Mix(lru.Mix(seed, a), b), 0)
}

// End is one end of UDP or TCP.
type End struct {
	Host Host
	Port uint16
}

// EndOf returns the end at an address and a port.
func EndOf(a netip.AddrPort) End { return End{HostOf(a), a.Port()} }

// set makes e the end at an address and a port.
func (e *End) set(a netip.AddrPort) {
	e.Host.Set(a)
	e.Port = a.Port()
}

// AddrPort returns the end as a netip.AddrPort.
func (e End) AddrPort() netip.AddrPort { return netip.AddrPortFrom(e.Host.Addr(), e.Port) }

// Hash mixes the end with the seed.
func (e End) Hash(seed uint64) uint64 { return lru.Mix(e.Host.Hash(seed), uint64(e.Port)) }

// PacketType is what a packet is, as far as its own bytes show: it is decided without
// pairing, joining or looking anything up.
type PacketType uint8

// The types of packets.
const (
	// IsOther is a datagram of no protocol that qsniff reads: the game's, mostly.
	IsOther PacketType = iota
	IsRequest
	IsReply
	IsChallenge // a reply that gives a challenge in place of an answer
	IsPart      // of a split reply
	// IsJunk begins like a connectionless packet of the engines, but no protocol recognizes it.
	IsJunk
	// IsUnreachable is an ICMP error about a datagram that Src sent to Dst.
	IsUnreachable
	IsOpened // SYN
	IsAgreed // SYN with ACK: Key is the sender's first sequence number
	IsAcked  // any other segment with ACK: Key is the number before the one acknowledged
	// IsLogin is a password for a remote console over TCP, IsWelcome and IsRejected are the
	// server's answers to it.
	IsLogin
	IsWelcome
	IsRejected
	// IsFragment is a fragment of an IP datagram, whether or not the others come: Key is the
	// number that they share, Detail the protocol. What is joined from them is a sighting
	// of its own, with Joined.
	IsFragment
	// IsControl is an ICMP message that quotes no datagram: Detail is its type, Key what follows the
	// checksum, which is identifier and sequence number of an echo.
	IsControl
	// IsCarried is a packet of another protocol on top of IP, or of one whose header is
	// impossible: Detail is the protocol. A packet inside of a GRE tunnel is a sighting of
	// its own, beside that of the tunnel's.
	IsCarried
	// NumPacketTypes is the number of types.
	NumPacketTypes
)

// Sighting is one packet, or what was joined from IP fragments, as the watchers of a whole
// network get it: a small flat record, made for every packet without a table lookup. It
// holds nothing but what the packet itself shows.
type Sighting struct {
	Frame    uint64
	Age      int64 // the time that tables age by: it never goes back
	Nanos    int64 // Unix time of the packet, which may go back
	Src, Dst Host
	// ClientHash is a hash of the client's address, ServerHash one of the server's address and
	// port, both with the seed of the run. Sighting.Server defines which end is which.
	ClientHash, ServerHash uint64
	SrcPort                uint16
	DstPort                uint16
	What                   PacketType
	TTL                    uint8 // or hop limit
	Flags                  SightFlags
	Detail                 uint8          // see What
	Foreign                uint8          // which message of another game it is, see dissect.Registry.ForeignType; 0: none
	Asks                   dissect.Asked  // what a request asks for, or a reply gives
	Proto                  *dissect.Proto // nil if no protocol recognizes it
	Type                   *dissect.Type
	// Key is the challenge that a request brings back or that an IsChallenge gives; see
	// What for segments. It is valid where HasKey is set.
	Key uint32
	// Secret is equal for equal passwords of an IsLogin, see dissect.Message. It is never shown.
	Secret uint32
	Bytes  uint32 // of the payload, as sent
	Wire   uint32 // with the headers of IP and of UDP or TCP
	// Print is a hash of the payload without the challenge: packets of one tool have
	// the same.
	Print uint32
	// Weight is how many packets this one stands for, being a sample; 0: it stands for itself. At
	// most MaxWeight.
	Weight uint32
}

// MaxWeight is the most packets that one stands for. Chosen: above it one sample is more than a full
// 10 Gbit/s link carries in a tenth of a second.
const MaxWeight = 1 << 20

// Count returns how many packets s stands for, at least one.
func (s *Sighting) Count() uint32 { return max(s.Weight, 1) }

// IsSample reports whether other packets that the capture lacks came beside s: answers, proofs and
// sessions cannot be followed.
func (s *Sighting) IsSample() bool { return s.Weight > 1 }

// SightFlags are further properties of a packet.
type SightFlags uint8

// The flags.
const (
	// HasKey: the packet has a challenge that is not a placeholder.
	HasKey SightFlags = 1 << iota
	// Cut: the capture does not have all of the payload. A challenge may be missing.
	Cut
	// Weak: the bytes could be a query or anything else. Watchers get such a packet as a
	// request only where its server gets nothing else, or has spoken the protocol.
	Weak
	// First: of the IsParts of a split reply, the one that counts as the message.
	First
	// Connection: over TCP.
	Connection
	// Joined: made of fragments that are sightings of their own.
	Joined
	// Familiar: an IsJunk begins as some request or join does: filters against junk, which
	// look at the first bytes only, let it pass.
	Familiar
	// AtSplitPort: an IsPart comes from a port where servers that split replies usually are.
	AtSplitPort
)

// From returns the end that sent the packet.
func (s *Sighting) From() End { return End{s.Src, s.SrcPort} }

// To returns the end to which the packet went.
func (s *Sighting) To() End { return End{s.Dst, s.DstPort} }

// Server returns the server's end of a packet. Where What does not show which end that is,
// it is the receiver.
func (s *Sighting) Server() (Host, uint16) {
	if s.isFromServer() {
		return s.Src, s.SrcPort
	}
	return s.Dst, s.DstPort
}

// Client returns the other end.
func (s *Sighting) Client() (Host, uint16) {
	if s.isFromServer() {
		return s.Dst, s.DstPort
	}
	return s.Src, s.SrcPort
}

// FromHash returns a hash of the end that sent the packet: what one direction of a flow has
// as FromHash, the other one has as ToHash. The hashes must be set.
func (s *Sighting) FromHash() uint64 {
	if s.isFromServer() {
		return s.ServerHash
	}
	return lru.Mix(s.ClientHash, uint64(s.SrcPort))
}

// ToHash returns a hash of the end to which the packet went.
func (s *Sighting) ToHash() uint64 {
	if s.isFromServer() {
		return lru.Mix(s.ClientHash, uint64(s.DstPort))
	}
	return s.ServerHash
}

// SetEnds sets the addresses and ports. For IPv4, which nearly all are of, it calls nothing.
func (s *Sighting) SetEnds(src, dst *netip.AddrPort) {
	var a, b, c, d uint64
	if src.Addr().Is4() && dst.Addr().Is4() {
		x, y := src.Addr().As4(), dst.Addr().As4()
		b, d = 0xffff<<32|uint64(binary.BigEndian.Uint32(x[:])), 0xffff<<32|uint64(binary.BigEndian.Uint32(y[:]))
	} else {
		a, b = wordsOf(src.Addr())
		c, d = wordsOf(dst.Addr())
	}
	binary.BigEndian.PutUint64(s.Src[:8], a)
	binary.BigEndian.PutUint64(s.Src[8:], b)
	binary.BigEndian.PutUint64(s.Dst[:8], c)
	binary.BigEndian.PutUint64(s.Dst[8:], d)
	s.SrcPort, s.DstPort = src.Port(), dst.Port()
}

// FillHashes sets ClientHash and ServerHash. What must be set before.
func (s *Sighting) FillHashes(seed uint64) {
	if s.isFromServer() {
		s.ClientHash, s.ServerHash = s.Dst.HashOf(seed), lru.Mix(s.Src.HashOf(seed), uint64(s.SrcPort))
		return
	}
	s.ClientHash, s.ServerHash = s.Src.HashOf(seed), lru.Mix(s.Dst.HashOf(seed), uint64(s.DstPort))
}

// isFromServer reports whether the server sent the packet.
func (s *Sighting) isFromServer() bool {
	switch s.What {
	case IsReply, IsChallenge, IsPart, IsAgreed, IsWelcome, IsRejected, IsUnreachable:
		return true
	}
	return false
}

// ProfileWatcher is a Watcher that wants to know what servers report of themselves, too.
type ProfileWatcher interface {
	Watcher
	// AddProfile receives what a server reports of itself in a reply, right after the
	// Sighting of the reply, whatever that was sent for. Only replies of one packet are read,
	// and of each server and sixteenth of all clients one a second: what it reports does not
	// change faster.
	AddProfile(s *Sighting, p *Profile)
}

// ListWatcher is a Watcher that wants to know which servers master servers list, too.
type ListWatcher interface {
	Watcher
	// AddListed receives, after the Sighting of a master server's reply, the ServerHash of each
	// server that it lists. Where the capture cut the reply, with Cut, it lists others as well.
	AddListed(s *Sighting, servers []uint64)
}

// Watcher receives sightings in packet order. Arguments are valid during the call.
type Watcher interface {
	Sight(s *Sighting)
	// Tick reports that time has passed: the time that tables age by, and the time stamp
	// of the packet that shows it.
	Tick(age, nanos int64)
	// Lost reports how many packets are missing from the capture, as far as the capture shows.
	Lost(packets uint64)
	// End reports that no packet follows.
	End(age, nanos int64)
}

// Foreseer is a Watcher that wants to know what comes. Foresee asks the processor for the memory that
// Sight will touch a few sightings later: under a flood of forged addresses that is another line of
// each table with each packet, and waiting for it takes longer than all else. It changes nothing, and
// a sighting that was foreseen need not come.
type Foreseer interface{ Foresee(s *Sighting) }
