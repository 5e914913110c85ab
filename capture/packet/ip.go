package packet

import (
	"encoding/binary"
	"net/netip"
)

const (
	ipv4MinLen = 20
	ipv6Len    = 40

	moreFragments  = 0x2000 // IPv4 flag MF
	fragmentOffset = 0x1fff // IPv4, in units of 8 bytes
)

// IP protocol numbers. The extension headers are those of IPv6.
const (
	ProtoICMP     = 1
	protoIPv4     = 4
	ProtoTCP      = 6
	ProtoUDP      = 17
	protoIPv6     = 41
	ProtoGRE      = 47
	ProtoESP      = 50
	ProtoICMPv6   = 58
	protoL2TP     = 115 // version 3
	ProtoUDPLite  = 136
	extHopByHop   = 0
	extRouting    = 43
	extFragment   = 44
	extAuth       = 51
	extDstOptions = 60
)

// decodeIPv4 reads an IPv4 packet (RFC 791). Bytes after the total length are padding
// of the link. A total length of 0 is that of a packet captured before the network
// card divided it (segmentation offload): the length of the frame is taken. A total
// length beyond the frame is believed: no network carries such a packet, but
// programs that cut captures write the captured length for the original one.
func (p *Packet) decodeIPv4(b []byte, wire int) {
	if len(b) < ipv4MinLen {
		p.Stop = cutOrBad(ShortIP, BadIP, wire, ipv4MinLen)
		return
	}
	whole := b
	header := int(b[0]&0x0f) * 4
	total := int(binary.BigEndian.Uint16(b[2:]))
	if total == 0 {
		total = wire
	}
	if b[0]>>4 != 4 || header < ipv4MinLen || total < header {
		p.Stop = BadIP
		return
	}
	p.IPID = binary.BigEndian.Uint16(b[4:])
	p.TTL = b[8]
	p.Proto = b[9]
	p.Src = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[12:16])), 0)
	p.Dst = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[16:20])), 0)
	if len(b) < header {
		p.Stop = ShortIP
		return
	}
	p.trace(HeaderIPv4, b[:min(len(b), total)])
	flags := binary.BigEndian.Uint16(b[6:])
	b, wire = b[header:min(len(b), total)], total-header
	if flags&(moreFragments|fragmentOffset) != 0 {
		p.Frag = Frag{
			Set:  true,
			More: flags&moreFragments != 0,
			Off:  uint32(flags&fragmentOffset) * 8,
			ID:   uint32(p.IPID),
		}
		p.Payload, p.Wire = b, wire
		return
	}
	p.decodeTransport(b, wire)
	if binary.BigEndian.Uint16(whole[2:]) == 0 { // the network card would have set both lengths
		p.Misfit = false
	}
}

// decodeIPv6 reads an IPv6 packet (RFC 8200). A payload length of 0 is a jumbogram or
// segmentation offload: the length of the frame is taken.
func (p *Packet) decodeIPv6(b []byte, wire int) {
	if len(b) < ipv6Len {
		p.Stop = cutOrBad(ShortIP, BadIP, wire, ipv6Len)
		return
	}
	if b[0]>>4 != 6 {
		p.Stop = BadIP
		return
	}
	p.Proto = b[6]
	p.TTL = b[7]
	p.Src = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), 0)
	p.Dst = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[24:40])), 0)
	length := int(binary.BigEndian.Uint16(b[4:]))
	if p.Trace != nil {
		end := len(b)
		if length != 0 {
			end = min(end, ipv6Len+length)
		}
		p.trace(HeaderIPv6, b[:end])
	}
	b, wire = b[ipv6Len:], wire-ipv6Len
	if length != 0 {
		wire = length
		b = b[:min(len(b), wire)]
	}
	p.decodeExtensions(b, wire)
}

// decodeExtensions walks the IPv6 extension headers at the start of b, of which
// p.Proto names the first, up to a fragment header or the transport.
func (p *Packet) decodeExtensions(b []byte, wire int) {
	for count := 0; ; count++ {
		if !isExtension(p.Proto) {
			p.decodeTransport(b, wire)
			return
		}
		if count == maxExtensions {
			p.Stop = TooDeep
			return
		}
		// No extension header is shorter than 8 bytes, and the first two of
		// every one are the next header and the length.
		n := 8
		if len(b) >= n {
			n = extensionLen(p.Proto, b[1])
		}
		if len(b) < n || wire < n {
			p.Stop = cutOrBad(ShortIP, BadIP, wire, n)
			return
		}
		fragment := p.Proto == extFragment
		p.Proto = b[0]
		if fragment {
			p.decodeFragment(b, wire)
			return
		}
		b, wire = b[n:], wire-n
	}
}

// decodeFragment reads the fragment header at the start of b (RFC 8200 section 4.5).
func (p *Packet) decodeFragment(b []byte, wire int) {
	field := binary.BigEndian.Uint16(b[2:])
	p.Frag = Frag{
		Set:  true,
		More: field&1 != 0,
		Off:  uint32(field &^ 7), // units of 8 bytes, in the upper 13 bits
		ID:   binary.BigEndian.Uint32(b[4:]),
	}
	p.Payload, p.Wire = b[8:], wire-8
}

// isExtension reports whether proto is an IPv6 extension header that can be read.
func isExtension(proto uint8) bool {
	switch proto {
	case extHopByHop, extRouting, extFragment, extAuth, extDstOptions:
		return true
	}
	return false
}

// extensionLen returns the length in bytes of an extension header whose second byte
// is n. That of the authentication header counts words (RFC 4302), a fragment
// header has a fixed length.
func extensionLen(proto, n uint8) int {
	switch proto {
	case extFragment:
		return 8
	case extAuth:
		return (int(n) + 2) * 4
	}
	return (int(n) + 1) * 8
}

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

// limit: maxExtensions is how many IPv6 extension headers one packet may carry.
// The order recommended by RFC 8200 section 4.1 has six that can be read,
// so more than eight are sent to make the walk long. The limit holds for the
// extension headers of GTP-U too.
const maxExtensions = 8
