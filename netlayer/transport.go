package netlayer

import (
	"encoding/binary"
	"net/netip"
)

const (
	udpLen    = 8
	tcpMinLen = 20
)

// TCPHeader is the header of a TCP segment (RFC 9293) without its options.
type TCPHeader struct {
	Seq    uint32 // of the first byte of the data, or of the SYN before it
	Ack    uint32 // only with FlagACK
	Window uint16 // as sent: a scale was agreed on, if at all, with the SYN
	Flags  uint8
	Len    uint8 // of the header with its options, bytes
}

// The flags of a TCP header, from the lowest bit.
const (
	FlagFIN uint8 = 1 << iota
	FlagSYN
	FlagRST
	FlagPSH
	FlagACK
	FlagURG
)

// DecodeJoined goes on where a fragment ended: b is the IP payload that its
// fragments were joined to, or the start of it, and wire its whole length in
// bytes. It reads p.Proto and the addresses, clears Frag, and overwrites Proto,
// Payload, Wire, Stop, TCP and the ports, and the addresses if b is a tunnel's;
// ways in are added to those that p has. Payload points into b. Fragments inside
// fragments are too deep, in a tunnel as well: routers cut packets before they
// put them into a tunnel, and the memory of what was joined is not that of a frame.
func (p *Packet) DecodeJoined(b []byte, wire int) {
	p.Payload, p.Wire, p.Frag, p.Stop, p.TCP = nil, 0, Frag{}, OK, TCPHeader{}
	p.Src = netip.AddrPortFrom(p.Src.Addr(), 0)
	p.Dst = netip.AddrPortFrom(p.Dst.Addr(), 0)
	wire = max(wire, len(b))
	if p.Src.Addr().Is4() {
		p.transport(b, wire)
	} else {
		p.extensions(b, wire)
	}
	if p.Frag.Set {
		p.Payload, p.Wire, p.Frag, p.Stop = nil, 0, Frag{}, TooDeep
	}
}

// transport reads the header that p.Proto names.
func (p *Packet) transport(b []byte, wire int) {
	if p.Proto == ProtoUDP { // apart: a switch would find it after four comparisons
		switch p.udp(b, wire) {
		case portGTPU, portVXLAN, portVXLANOld, portGeneve:
			p.overlay(p.Payload, p.Wire)
		}
		return
	}
	switch p.Proto {
	case ProtoTCP:
		p.tcp(b, wire)
	case ProtoICMP, ProtoICMPv6:
		p.Payload, p.Wire, p.Stop = b, wire, ICMP
	case protoIPv4:
		if p.enter(WayIPinIP, 0) {
			p.ipv4(b, wire)
		}
	case protoIPv6:
		if p.enter(WayIPinIP, 0) {
			p.ipv6(b, wire)
		}
	case ProtoGRE:
		p.gre(b, wire)
	default:
		p.Payload, p.Wire, p.Stop = b, wire, OtherProto
	}
}

// udp reads a UDP datagram (RFC 768) and returns the port it went to, or 0 if
// it set Stop. The shorter of the two lengths that UDP and IP claim is believed.
// A UDP length of 0 leaves it to IP: jumbograms (RFC 2675) and segmentation
// offload send it.
func (p *Packet) udp(b []byte, wire int) (dst uint16) {
	if len(b) < udpLen {
		p.Stop = endsIn(ShortUDP, BadUDP, wire, udpLen)
		return 0
	}
	n := int(binary.BigEndian.Uint16(b[4:]))
	if n == 0 || n > wire {
		n = wire
	}
	if n < udpLen {
		p.Stop = BadUDP
		return 0
	}
	dst = binary.BigEndian.Uint16(b[2:])
	p.Src = netip.AddrPortFrom(p.Src.Addr(), binary.BigEndian.Uint16(b))
	p.Dst = netip.AddrPortFrom(p.Dst.Addr(), dst)
	p.Payload, p.Wire = b[udpLen:min(len(b), n)], n-udpLen
	return dst
}

// tcp reads the header of a TCP segment. Options that the capture cut leave no
// data, but a segment. Ports are read even if the rest is cut: 8 bytes are what
// an ICMP error must quote.
func (p *Packet) tcp(b []byte, wire int) {
	if len(b) >= 4 {
		p.Src = netip.AddrPortFrom(p.Src.Addr(), binary.BigEndian.Uint16(b))
		p.Dst = netip.AddrPortFrom(p.Dst.Addr(), binary.BigEndian.Uint16(b[2:]))
	}
	if len(b) < tcpMinLen {
		p.Stop = endsIn(ShortTCP, BadTCP, wire, tcpMinLen)
		return
	}
	n := int(b[12]>>4) * 4
	if n < tcpMinLen || n > wire {
		p.Stop = BadTCP
		return
	}
	p.TCP = TCPHeader{
		Seq:    binary.BigEndian.Uint32(b[4:]),
		Ack:    binary.BigEndian.Uint32(b[8:]),
		Window: binary.BigEndian.Uint16(b[14:]),
		Flags:  b[13],
		Len:    uint8(n),
	}
	p.Payload, p.Wire, p.Stop = b[min(len(b), n):], wire-n, TCP
}
