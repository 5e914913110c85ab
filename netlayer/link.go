package netlayer

import "encoding/binary"

// The link types that are decoded, by their LINKTYPE_ value
// (https://www.tcpdump.org/linktypes.html).
const (
	LinkNull       uint16 = 0   // BSD loopback, family in the byte order of the capturing host
	LinkEthernet   uint16 = 1   // Ethernet without preamble, with or without check sequence
	LinkPPP        uint16 = 9   // PPP, with or without address and control
	LinkRawDLT     uint16 = 12  // LinkRaw, written by programs that store the DLT_ value
	LinkRawOpenBSD uint16 = 14  // LinkRaw, the same on OpenBSD
	LinkPPPHDLC    uint16 = 50  // PPP with address and control, or Cisco HDLC
	LinkPPPoE      uint16 = 51  // PPPoE session packets without Ethernet
	LinkRaw        uint16 = 101 // IPv4 or IPv6, by the version field
	LinkCiscoHDLC  uint16 = 104 // Cisco HDLC
	LinkFrameRelay uint16 = 107 // Frame Relay, RFC 2427 or Cisco's form
	LinkLoop       uint16 = 108 // OpenBSD loopback, family in network byte order
	LinkLinuxSLL   uint16 = 113 // Linux "any" interface
	LinkMPLS       uint16 = 219 // begins with an MPLS label stack
	LinkIPv4       uint16 = 228 // IPv4 only
	LinkIPv6       uint16 = 229 // IPv6 only
	LinkNFLOG      uint16 = 239 // Linux netfilter log
	LinkLinuxSLL2  uint16 = 276 // Linux "any" interface, with its index
)

// Header lengths, and offsets of the protocol in the cooked headers, in bytes.
const (
	ethernetLen     = 14
	loopbackLen     = 4
	sllLen          = 16
	sllProtocolOff  = 14
	sll2Len         = 20
	sll2ProtocolOff = 0
)

// EtherTypes. Values up to 1500 are the length field of an 802.3 frame.
const (
	etherIPv4     = 0x0800
	etherIPv6     = 0x86dd
	etherTag      = 0x8100 // 802.1Q
	etherQinQ     = 0x88a8 // 802.1ad
	etherOld      = 0x9100 // stacked tags before 802.1ad
	etherMPLS     = 0x8847 // RFC 5332: downstream-assigned label
	etherMPLSUp   = 0x8848 // upstream-assigned label, once multicast
	etherPPPoE    = 0x8864 // session; discovery is 0x8863
	etherBridging = 0x6558 // transparent Ethernet bridging, a frame inside a tunnel
	tagLen        = 4
	tagVLAN       = 0x0fff // bits of a tag that are the VLAN identifier
)

// Address families in a loopback header. Systems gave IPv6 different numbers.
const (
	afInet         = 2
	afInet6Linux   = 10
	afInet6BSD     = 24 // NetBSD, OpenBSD
	afInet6FreeBSD = 28
	afInet6Darwin  = 30
)

// Decode fills p from the frame b of the given LINKTYPE_ value, which was wire
// bytes long before the capture cut it. Everything p held but Outer and Trace is
// overwritten; p.Payload points into b. A wire below len(b) is taken for len(b).
func (p *Packet) Decode(link uint16, b []byte, wire int) {
	*p = Packet{Outer: p.Outer, Trace: p.Trace}
	if p.Trace != nil {
		p.Trace.n = 0
	}
	wire = max(wire, len(b))
	switch link {
	case LinkEthernet:
		p.decodeEthernet(b, wire)
	case LinkLinuxSLL:
		p.decodeCooked(b, wire, sllLen, sllProtocolOff)
	case LinkLinuxSLL2:
		p.decodeCooked(b, wire, sll2Len, sll2ProtocolOff)
	case LinkNull, LinkLoop:
		p.decodeLoopback(b, wire)
	case LinkRaw, LinkRawDLT, LinkRawOpenBSD:
		p.decodeIP(b, wire)
	case LinkIPv4:
		p.decodeIPv4(b, wire)
	case LinkIPv6:
		p.decodeIPv6(b, wire)
	default:
		p.decodeRareLink(link, b, wire)
	}
}

// decodeRareLink reads the link types that are seldom captured.
func (p *Packet) decodeRareLink(link uint16, b []byte, wire int) {
	switch link {
	case LinkPPP:
		p.decodePPP(b, wire)
	case LinkPPPHDLC:
		p.decodePPPHDLC(b, wire)
	case LinkPPPoE:
		p.decodePPPoE(b, wire)
	case LinkCiscoHDLC:
		p.decodeCiscoHDLC(b, wire)
	case LinkFrameRelay:
		p.decodeFrameRelay(b, wire)
	case LinkMPLS:
		p.decodeMPLS(b, wire)
	case LinkNFLOG:
		p.decodeNFLOG(b, wire)
	default:
		p.Stop = UnknownLink
	}
}

// decodeEthernet reads an Ethernet header, on the wire or in a tunnel.
func (p *Packet) decodeEthernet(b []byte, wire int) {
	if len(b) < ethernetLen {
		p.Stop = ShortLink
		return
	}
	p.trace(HeaderEthernet, b)
	p.decodeEtherType(binary.BigEndian.Uint16(b[12:]), b[ethernetLen:], wire-ethernetLen)
}

// decodeEtherType reads what follows a header that ended with an EtherType: tags,
// then the packet.
func (p *Packet) decodeEtherType(typ uint16, b []byte, wire int) {
	for {
		if typ == etherIPv4 { // first, as most are: the switch would take four comparisons
			p.decodeIPv4(b, wire)
			return
		}
		switch typ {
		case etherIPv6:
			p.decodeIPv6(b, wire)
			return
		case etherTag, etherQinQ, etherOld:
		case etherMPLS, etherMPLSUp:
			p.decodeMPLS(b, wire)
			return
		case etherPPPoE:
			p.decodePPPoE(b, wire)
			return
		default:
			p.Stop = NotIP
			return
		}
		if len(b) < tagLen {
			p.Stop = ShortLink
			return
		}
		if !p.enter(WayVLAN, uint32(binary.BigEndian.Uint16(b)&tagVLAN)) {
			return
		}
		typ = binary.BigEndian.Uint16(b[2:])
		b, wire = b[tagLen:], wire-tagLen
	}
}

// decodeCooked reads a Linux cooked header of n bytes with its protocol at off. The
// protocol may be a VLAN tag: libpcap puts back the one that the kernel took off.
func (p *Packet) decodeCooked(b []byte, wire, n, off int) {
	if len(b) < n {
		p.Stop = ShortLink
		return
	}
	p.decodeEtherType(binary.BigEndian.Uint16(b[off:]), b[n:], wire-n)
}

// decodeLoopback reads the family of a loopback header in either byte order, for
// both link types: files are read on other hosts than they were written on. No
// family reaches 256, so the order is known by which half is zero.
func (p *Packet) decodeLoopback(b []byte, wire int) {
	if len(b) < loopbackLen {
		p.Stop = ShortLink
		return
	}
	family := binary.LittleEndian.Uint32(b)
	if family > 0xffff {
		family = binary.BigEndian.Uint32(b)
	}
	b, wire = b[loopbackLen:], wire-loopbackLen
	switch family {
	case afInet:
		p.decodeIPv4(b, wire)
	case afInet6Linux, afInet6BSD, afInet6FreeBSD, afInet6Darwin:
		p.decodeIPv6(b, wire)
	default:
		p.Stop = NotIP
	}
}

// decodeIP reads an IPv4 or IPv6 packet, whichever its version field names.
func (p *Packet) decodeIP(b []byte, wire int) {
	switch {
	case len(b) == 0:
		p.Stop = cutOrBad(ShortIP, BadIP, wire, 1)
	case b[0]>>4 == 4:
		p.decodeIPv4(b, wire)
	case b[0]>>4 == 6:
		p.decodeIPv6(b, wire)
	default:
		p.Stop = BadIP
	}
}

// cutOrBad returns the reason for a header of n bytes that is incomplete: short if
// the capture cut it, because it was on the wire, and bad if the sender did.
func cutOrBad(short, bad Stop, wire, n int) Stop {
	if wire < n {
		return bad
	}
	return short
}
