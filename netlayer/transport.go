package netlayer

import (
	"encoding/binary"
	"net/netip"
)

const udpLen = 8

// DecodeJoined goes on where a fragment ended: b is the IP payload that its
// fragments were joined to, or the start of it, and wire its whole length in
// bytes. It reads p.Proto and the addresses, clears Frag, and overwrites Proto,
// Payload, Wire, Stop and the ports. Payload points into b. Fragments inside
// fragments are too deep: nobody has a reason to send them.
func (p *Packet) DecodeJoined(b []byte, wire int) {
	p.Payload, p.Wire, p.Frag, p.Stop = nil, 0, Frag{}, OK
	p.Src = netip.AddrPortFrom(p.Src.Addr(), 0)
	p.Dst = netip.AddrPortFrom(p.Dst.Addr(), 0)
	wire = max(wire, len(b))
	if p.Src.Addr().Is4() {
		p.transport(b, wire)
		return
	}
	p.extensions(b, wire)
	if p.Frag.Set {
		p.Payload, p.Wire, p.Frag, p.Stop = nil, 0, Frag{}, TooDeep
	}
}

// transport reads the header that p.Proto names.
func (p *Packet) transport(b []byte, wire int) {
	switch p.Proto {
	case ProtoUDP:
		p.udp(b, wire)
		return
	case ProtoTCP:
		p.Stop = TCP
	case ProtoICMP, ProtoICMPv6:
		p.Stop = ICMP
	default:
		p.Stop = OtherProto
	}
	p.Payload, p.Wire = b, wire
}

// udp reads a UDP datagram (RFC 768). The shorter of the two lengths that UDP
// and IP claim is believed. A UDP length of 0 leaves it to IP: jumbograms (RFC
// 2675) and segmentation offload send it.
func (p *Packet) udp(b []byte, wire int) {
	if len(b) < udpLen {
		p.Stop = endsIn(ShortUDP, BadUDP, wire, udpLen)
		return
	}
	n := int(binary.BigEndian.Uint16(b[4:]))
	if n == 0 || n > wire {
		n = wire
	}
	if n < udpLen {
		p.Stop = BadUDP
		return
	}
	p.Src = netip.AddrPortFrom(p.Src.Addr(), binary.BigEndian.Uint16(b))
	p.Dst = netip.AddrPortFrom(p.Dst.Addr(), binary.BigEndian.Uint16(b[2:]))
	p.Payload, p.Wire = b[udpLen:min(len(b), n)], n-udpLen
}
