package packet

import (
	"encoding/binary"
	"net/netip"
)

const (
	udpLen    = 8
	tcpMinLen = 20

	// authMinLen is that of an authentication header without a check value.
	authMinLen = 12
)

// TCPHeader is the header of a TCP segment (RFC 9293) without its options.
type TCPHeader struct {
	Seq    uint32 // of the first byte of the data, or of the SYN before it
	Ack    uint32 // only with FlagACK
	Window uint16 // as sent, not scaled: only the SYN has the scale
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

// DecodeJoined continues Decode for a fragment p after its datagram was joined: b
// is the joined IP payload, or the start of it, and wire its whole length in
// bytes. It reads p.Proto and the addresses, clears Frag, and overwrites Proto,
// Payload, Wire, Stop, TCP and the ports, and the addresses if b holds a tunnel;
// ways in are added to those that p has. Payload points into b. Fragments inside
// fragments are TooDeep, in a tunnel as well: routers fragment packets before they
// put them into a tunnel, and the memory of what was joined is not that of a frame.
func (p *Packet) DecodeJoined(b []byte, wire int) {
	p.Payload, p.Wire, p.Frag, p.Stop, p.Misfit, p.TCP = nil, 0, Frag{}, OK, false, TCPHeader{}
	p.Src = netip.AddrPortFrom(p.Src.Addr(), 0)
	p.Dst = netip.AddrPortFrom(p.Dst.Addr(), 0)
	wire = max(wire, len(b))
	if p.Src.Addr().Is4() {
		p.decodeTransport(b, wire)
	} else {
		p.decodeExtensions(b, wire)
	}
	if p.Frag.Set {
		p.Payload, p.Wire, p.Frag, p.Stop = nil, 0, Frag{}, TooDeep
	}
}

// decodeTransport reads the header that p.Proto names.
func (p *Packet) decodeTransport(b []byte, wire int) {
	if p.Proto == ProtoUDP { // first, as most are: the switch would take four comparisons
		switch p.decodeUDP(b, wire) {
		case portL2TP, portGTPU, portVXLAN, portVXLANGPE, portFOU, portGUE, portGeneve, portVXLANOld, portTZSP:
			p.decodeOverlay(p.Payload, p.Wire)
		}
		return
	}
	switch p.Proto {
	case ProtoTCP:
		p.decodeTCP(b, wire)
	case ProtoICMP, ProtoICMPv6:
		p.Payload, p.Wire, p.Stop = b, wire, ICMP
	case protoIPv4:
		if p.enter(WayIPinIP, 0) {
			p.decodeIPv4(b, wire)
		}
	case protoIPv6:
		if p.enter(WayIPinIP, 0) {
			p.decodeIPv6(b, wire)
		}
	case ProtoGRE:
		p.decodeGRE(b, wire)
	case extAuth: // over IPv6 decodeExtensions has stepped over it
		p.decodeAuthenticated(b, wire)
	case protoL2TP:
		p.decodeL2TPv3(b, wire, 0)
	case ProtoUDPLite:
		p.decodeUDPLite(b, wire)
	default:
		p.Payload, p.Wire, p.Stop = b, wire, OtherProto
	}
}

// decodeUDP reads a UDP datagram (RFC 768) and returns the port it went to, or 0 if
// it set Stop. The shorter of the two lengths that UDP and IP claim is believed. A UDP length
// above that of IP, or of 0 over IPv4, is a Misfit (TestLiveKernel). Over IPv6 0 stands for the
// length of IP, as jumbograms have it (RFC 2675).
func (p *Packet) decodeUDP(b []byte, wire int) (dst uint16) {
	if len(b) < udpLen {
		p.Stop = cutOrBad(ShortUDP, BadUDP, wire, udpLen)
		return 0
	}
	n := int(binary.BigEndian.Uint16(b[4:]))
	if n == 0 || n > wire {
		p.Misfit = n > 0 || p.Src.Addr().Is4()
		n = wire
	}
	if n < udpLen {
		p.Stop, p.Misfit = BadUDP, false
		return 0
	}
	dst = binary.BigEndian.Uint16(b[2:])
	p.Src = netip.AddrPortFrom(p.Src.Addr(), binary.BigEndian.Uint16(b))
	p.Dst = netip.AddrPortFrom(p.Dst.Addr(), dst)
	p.Payload, p.Wire = b[udpLen:min(len(b), n)], n-udpLen
	p.trace(HeaderUDP, b[:min(len(b), n)])
	return dst
}

// decodeUDPLite reads a datagram of UDP-Lite (RFC 3828): UDP with the length that the
// checksum covers in place of its own.
func (p *Packet) decodeUDPLite(b []byte, wire int) {
	if len(b) < udpLen {
		p.Stop = cutOrBad(ShortUDP, BadUDP, wire, udpLen)
		return
	}
	covered := int(binary.BigEndian.Uint16(b[4:]))
	if covered == 0 {
		covered = wire
	}
	if covered < udpLen || covered > wire {
		p.Stop = BadUDP
		return
	}
	p.Src = netip.AddrPortFrom(p.Src.Addr(), binary.BigEndian.Uint16(b))
	p.Dst = netip.AddrPortFrom(p.Dst.Addr(), binary.BigEndian.Uint16(b[2:]))
	p.Payload, p.Wire = b[udpLen:], wire-udpLen
	p.trace(HeaderUDP, b[:min(len(b), covered)])
}

// decodeAuthenticated steps over authentication headers (RFC 4302) in IPv4, which name what
// follows them as IPv6 does.
func (p *Packet) decodeAuthenticated(b []byte, wire int) {
	for range maxExtensions {
		n := authMinLen
		if len(b) >= n {
			n = max(n, extensionLen(extAuth, b[1]))
		}
		if len(b) < n || wire < n {
			p.Stop = cutOrBad(ShortIP, BadIP, wire, n)
			return
		}
		p.Proto = b[0]
		b, wire = b[n:], wire-n
		if p.Proto != extAuth {
			p.decodeTransport(b, wire)
			return
		}
	}
	p.Stop = TooDeep
}

// decodeTCP reads the header of a TCP segment. One whose options the capture cut is
// a segment without data. Ports are read even if the rest is cut: an ICMP error
// must quote no more than 8 bytes.
func (p *Packet) decodeTCP(b []byte, wire int) {
	if len(b) >= 4 {
		p.Src = netip.AddrPortFrom(p.Src.Addr(), binary.BigEndian.Uint16(b))
		p.Dst = netip.AddrPortFrom(p.Dst.Addr(), binary.BigEndian.Uint16(b[2:]))
	}
	if len(b) < tcpMinLen {
		p.Stop = cutOrBad(ShortTCP, BadTCP, wire, tcpMinLen)
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
	p.trace(HeaderTCP, b)
}
