package packet

import "encoding/binary"

// Headers that no wire has: a capturing system makes them.

// Header lengths, and offsets of the protocol in the cooked headers, in bytes.
const (
	loopbackLen     = 4
	sllLen          = 16
	sllProtocolOff  = 14
	sll2Len         = 20
	sll2ProtocolOff = 0

	cookedLLC = 0x0004 // ETH_P_802_2, in place of an EtherType: LLC without its length
)

// Address families in a loopback header. Systems gave IPv6 different numbers.
const (
	afInet         = 2
	afInet6Linux   = 10
	afInet6BSD     = 24 // NetBSD, OpenBSD
	afInet6FreeBSD = 28
	afInet6Darwin  = 30
)

// The header of LINKTYPE_NFLOG: family, version and a number, then attributes
// of length, type and value, padded to 4 bytes (Linux nfnetlink_log.h).
const (
	nflogLen       = 4
	nflogAttribute = 4
	nflogPayload   = 9 // NFULA_PAYLOAD
)

// The header of LINKTYPE_PKTAP (XNU's bsd/net/pktap.h), of which only the start is fixed.
// Its numbers are in the byte order of the capturing host: all of Apple's are
// little-endian today.
const (
	pktapLen    = 12 // length of all of the header, kind of record, link type of what follows
	pktapPacket = 1
)

// decodeCooked reads a Linux cooked header of n bytes with its protocol at off. The
// protocol may be a VLAN tag: libpcap puts back the one that the kernel took off.
func (p *Packet) decodeCooked(b []byte, wire, n, off int) {
	if len(b) < n {
		p.Stop = ShortLink
		return
	}
	typ := binary.BigEndian.Uint16(b[off:])
	b, wire = b[n:], wire-n
	switch typ {
	case etherIPv4, etherIPv6:
		if off := innerTag(typ, b, wire); off >= 0 {
			typ, b, wire = etherTag, b[off:], wire-off
		}
	case cookedLLC:
		p.decodeLLC(b, wire)
		return
	}
	p.decodeEtherType(typ, b, wire)
}

// innerTag returns where the content of an 802.1Q tag begins in b, which should be IP and
// is not: after the EtherType of the tag, or at once. -1: no tag is there. Linux takes the
// outer tag of a packet off and names what follows the last one, so a second tag stays.
func innerTag(typ uint16, b []byte, wire int) int {
	version := byte(4)
	if typ == etherIPv6 {
		version = 6
	}
	if len(b) == 0 || b[0]>>4 == version && (len(b) < ipv4MinLen || isPlausibleIP(b, wire)) {
		return -1
	}
	for off := 0; off <= 2 && len(b) > off+tagLen; off += 2 {
		isTag := off == 0
		if !isTag {
			switch binary.BigEndian.Uint16(b) {
			case etherTag, etherQinQ, etherOld:
				isTag = true
			}
		}
		if isTag && binary.BigEndian.Uint16(b[off+2:]) == typ && b[off+tagLen]>>4 == version {
			return off
		}
	}
	return -1
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

// decodeNFLOG looks for the attribute that holds the packet, and reads that as the
// family of the header states. Attributes are in the byte order of the capturing
// host. All types are below 256, so the first one shows the order by which of its
// bytes is zero.
func (p *Packet) decodeNFLOG(b []byte, wire int) {
	if len(b) < nflogLen+nflogAttribute {
		p.Stop = ShortLink
		return
	}
	family := b[0]
	var order binary.ByteOrder = binary.LittleEndian
	if b[nflogLen+3] != 0 {
		order = binary.BigEndian
	}
	b, wire = b[nflogLen:], wire-nflogLen
	for range maxAttributes {
		if len(b) < nflogAttribute {
			p.Stop = ShortLink
			return
		}
		n := int(order.Uint16(b))
		if n < nflogAttribute || n > wire {
			p.Stop = BadLink
			return
		}
		if order.Uint16(b[2:]) == nflogPayload {
			p.decodeFamily(family, b[nflogAttribute:min(len(b), n)], n-nflogAttribute)
			return
		}
		n = min((n+3)&^3, wire)
		b, wire = b[min(len(b), n):], wire-n
	}
	p.Stop = TooDeep
}

// decodeFamily reads a packet of a Linux address family.
func (p *Packet) decodeFamily(f uint8, b []byte, wire int) {
	switch f {
	case afInet:
		p.decodeIPv4(b, wire)
	case afInet6Linux:
		p.decodeIPv6(b, wire)
	default:
		p.Stop = NotIP
	}
}

// decodePKTAP reads a header of Apple's PKTAP and the frame after it, whose link type it
// names by its DLT_ value. Those that are decoded have the same LINKTYPE_ value.
func (p *Packet) decodePKTAP(b []byte, wire int) {
	if len(b) < pktapLen {
		p.Stop = ShortLink
		return
	}
	var order binary.ByteOrder = binary.LittleEndian
	if b[0] == 0 && b[1] == 0 {
		order = binary.BigEndian
	}
	n, kind, link := int(order.Uint32(b)), order.Uint32(b[4:]), order.Uint32(b[8:])
	switch {
	case n < pktapLen || n > wire:
		p.Stop = BadLink
	case kind != pktapPacket:
		p.Stop, p.Unread = NotIP, UnreadPKTAP
	case link > 0xffff || uint16(link) == LinkPKTAP:
		p.Stop = UnknownLink
	case len(b) < n:
		p.Stop = ShortLink
	default:
		p.decodeLink(uint16(link), b[n:], wire-n)
	}
}
