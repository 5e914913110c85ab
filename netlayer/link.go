package netlayer

import "encoding/binary"

// The link types that are decoded, by their LINKTYPE_ value
// (https://www.tcpdump.org/linktypes.html).
const (
	LinkNull       uint16 = 0   // BSD loopback, family in the byte order of the capturing host
	LinkEthernet   uint16 = 1   // Ethernet without preamble
	LinkRawDLT     uint16 = 12  // LinkRaw, written by programs that store the DLT_ value
	LinkRawOpenBSD uint16 = 14  // LinkRaw, the same on OpenBSD
	LinkRaw        uint16 = 101 // IPv4 or IPv6, told by the version field
	LinkLoop       uint16 = 108 // OpenBSD loopback, family in network byte order
	LinkLinuxSLL   uint16 = 113 // Linux "any" interface
	LinkIPv4       uint16 = 228 // IPv4 only
	LinkIPv6       uint16 = 229 // IPv6 only
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
	etherIPv4 = 0x0800
	etherIPv6 = 0x86dd
	etherTag  = 0x8100 // 802.1Q
	etherQinQ = 0x88a8 // 802.1ad
	etherOld  = 0x9100 // stacked tags before 802.1ad
	tagLen    = 4
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
// on the wire was wire bytes. Everything p held is overwritten; p.Payload
// points into b. A wire below len(b) is taken for len(b).
func (p *Packet) Decode(link uint16, b []byte, wire int) {
	*p = Packet{}
	wire = max(wire, len(b))
	switch link {
	case LinkEthernet:
		if len(b) < ethernetLen {
			p.Stop = ShortLink
			return
		}
		p.etherType(binary.BigEndian.Uint16(b[12:]), b[ethernetLen:], wire-ethernetLen)
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
		p.Stop = UnknownLink
	}
}

// etherType goes on after a header that ended with an EtherType.
func (p *Packet) etherType(typ uint16, b []byte, wire int) {
	for tags := 0; ; tags++ {
		switch typ {
		case etherIPv4:
			p.ipv4(b, wire)
			return
		case etherIPv6:
			p.ipv6(b, wire)
			return
		case etherTag, etherQinQ, etherOld:
		default:
			p.Stop = NotIP
			return
		}
		if tags == maxTags {
			p.Stop = TooDeep
			return
		}
		if len(b) < tagLen {
			p.Stop = ShortLink
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
