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
	LinkRaw        uint16 = 101 // IPv4 or IPv6, told by the version field
	LinkCiscoHDLC  uint16 = 104 // Cisco HDLC
	LinkFrameRelay uint16 = 107 // Frame Relay, RFC 2427 or Cisco's form
	LinkLoop       uint16 = 108 // OpenBSD loopback, family in network byte order
	LinkLinuxSLL   uint16 = 113 // Linux "any" interface
	LinkMPLS       uint16 = 219 // an MPLS label stack first
	LinkIPv4       uint16 = 228 // IPv4 only
	LinkIPv6       uint16 = 229 // IPv6 only
	LinkNFLOG      uint16 = 239 // Linux netfilter log
	LinkLinuxSLL2  uint16 = 276 // Linux "any" interface, with its index
)

// Header lengths and where the protocol is in the cooked ones, in bytes.
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
	tagVLAN       = 0x0fff // the identifier's bits of a tag
)

// Address families in a loopback header. IPv6 never got one number.
const (
	afInet         = 2
	afInet6Linux   = 10
	afInet6BSD     = 24 // NetBSD, OpenBSD
	afInet6FreeBSD = 28
	afInet6Darwin  = 30
)

// Decode fills p from the frame b of the given LINKTYPE_ value, whose length
// on the wire was wire bytes. Everything p held but Outer is overwritten;
// p.Payload points into b. A wire below len(b) is taken for len(b).
func (p *Packet) Decode(link uint16, b []byte, wire int) {
	*p = Packet{Outer: p.Outer}
	wire = max(wire, len(b))
	switch link {
	case LinkEthernet:
		p.ethernet(b, wire)
	case LinkLinuxSLL:
		p.cooked(b, wire, sllLen, sllProtocolOff)
	case LinkLinuxSLL2:
		p.cooked(b, wire, sll2Len, sll2ProtocolOff)
	case LinkNull, LinkLoop:
		p.loopback(b, wire)
	case LinkRaw, LinkRawDLT, LinkRawOpenBSD:
		p.raw(b, wire)
	case LinkIPv4:
		p.ipv4(b, wire)
	case LinkIPv6:
		p.ipv6(b, wire)
	default:
		p.rareLink(link, b, wire)
	}
}

// rareLink goes on for the link types that are seldom met.
func (p *Packet) rareLink(link uint16, b []byte, wire int) {
	switch link {
	case LinkPPP:
		p.ppp(b, wire)
	case LinkPPPHDLC:
		p.pppHDLC(b, wire)
	case LinkPPPoE:
		p.pppoe(b, wire)
	case LinkCiscoHDLC:
		p.ciscoHDLC(b, wire)
	case LinkFrameRelay:
		p.frameRelay(b, wire)
	case LinkMPLS:
		p.mpls(b, wire)
	case LinkNFLOG:
		p.nflog(b, wire)
	default:
		p.Stop = UnknownLink
	}
}

// ethernet reads an Ethernet header, on the wire or in a tunnel.
func (p *Packet) ethernet(b []byte, wire int) {
	if len(b) < ethernetLen {
		p.Stop = ShortLink
		return
	}
	p.etherType(binary.BigEndian.Uint16(b[12:]), b[ethernetLen:], wire-ethernetLen)
}

// etherType goes on after a header that ended with an EtherType.
func (p *Packet) etherType(typ uint16, b []byte, wire int) {
	for {
		if typ == etherIPv4 { // apart: a switch would find it after four comparisons
			p.ipv4(b, wire)
			return
		}
		switch typ {
		case etherIPv6:
			p.ipv6(b, wire)
			return
		case etherTag, etherQinQ, etherOld:
		case etherMPLS, etherMPLSUp:
			p.mpls(b, wire)
			return
		case etherPPPoE:
			p.pppoe(b, wire)
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

// cooked reads a Linux cooked header of n bytes with its protocol at off. The
// protocol may be a VLAN tag: libpcap puts back the one that the kernel took off.
func (p *Packet) cooked(b []byte, wire, n, off int) {
	if len(b) < n {
		p.Stop = ShortLink
		return
	}
	p.etherType(binary.BigEndian.Uint16(b[off:]), b[n:], wire-n)
}

// loopback accepts both byte orders for both link types: files are read on
// other hosts than they were written on, and no family reaches 256.
func (p *Packet) loopback(b []byte, wire int) {
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
		p.ipv4(b, wire)
	case afInet6Linux, afInet6BSD, afInet6FreeBSD, afInet6Darwin:
		p.ipv6(b, wire)
	default:
		p.Stop = NotIP
	}
}

// raw tells IPv4 from IPv6 by the version field.
func (p *Packet) raw(b []byte, wire int) {
	switch {
	case len(b) == 0:
		p.Stop = endsIn(ShortIP, BadIP, wire, 1)
	case b[0]>>4 == 4:
		p.ipv4(b, wire)
	case b[0]>>4 == 6:
		p.ipv6(b, wire)
	default:
		p.Stop = BadIP
	}
}

// endsIn says who is to blame for a header of n bytes that is not all there:
// the capture if the wire had it, the sender otherwise.
func endsIn(capture, sender Stop, wire, n int) Stop {
	if wire < n {
		return sender
	}
	return capture
}
