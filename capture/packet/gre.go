package packet

import "encoding/binary"

// The first 16 bits of a GRE header (RFC 2784, RFC 2890) and its length.
const (
	greChecksum = 0x8000
	greKey      = 0x2000
	greSequence = 0x1000
	greOther    = 0x4fff // routing, recursion, flags: RFC 1701, and not RFC 2784
	greVersion  = 0x0007
	greWord     = 4 // the header, and each optional part of it
)

// Version 1 of GRE, which only PPTP uses (RFC 2637 section 4.1), and the tunnel of Mikrotik's
// routers that looks like it.
const (
	grePPP    = 0x880b
	greEoIP   = 0x6400
	pptpLen   = 8 // with the length of the content and the call
	pptpAck   = 0x0080
	eoipFlags = 0x2001 // of version 1 with a key, as PPTP
	eoipLen   = 8      // with the length of the frame and the tunnel, in little-endian order
)

// Protocol types of ERSPAN (draft-foschiano-erspan-03) and its headers.
const (
	greERSPAN  = 0x88be // types I and II
	greERSPAN3 = 0x22eb // type III

	erspan2Len        = 8
	erspan3Len        = 12
	erspanPlatformLen = 8 // an optional part of type III

	erspan2Version = 1
	erspan3Version = 2

	erspanSession   = 0x03ff // in the second 16 bits of both headers
	erspanTruncated = 0x0400 // bit T, likewise

	erspan3Optional = 0x01 // bit O of the last byte of type III
	erspan3Type     = 0x7c // five bits of the last byte but one
	erspan3Frame    = 0x00
	erspan3IP       = 0x08

	// maxUncutLen is the longest that a frame which the mirror cut can have been:
	// the longest IP packet after the longest header of Ethernet.
	maxUncutLen = 65_535 + ethernetLen + maxWays*tagLen
)

// decodeGRE reads a GRE header, the payload of an IP packet. Content that is not followed
// is OtherProto.
func (p *Packet) decodeGRE(b []byte, wire int) {
	if len(b) < greWord {
		p.Stop = cutOrBad(ShortTunnel, BadTunnel, wire, greWord)
		return
	}
	flags, typ := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	if flags&greVersion == 1 && p.decodeGRE1(flags, typ, b, wire) {
		return
	}
	if flags&greOther != 0 || !isFollowedInGRE(typ) {
		p.Stop, p.Payload, p.Wire = OtherProto, b, wire
		return
	}
	n, keyOff := greWord, greWord
	if flags&greChecksum != 0 {
		n, keyOff = n+greWord, keyOff+greWord
	}
	if flags&greKey != 0 {
		n += greWord
	}
	if flags&greSequence != 0 {
		n += greWord
	}
	if len(b) < n {
		p.Stop = cutOrBad(ShortTunnel, BadTunnel, wire, n)
		return
	}
	var key uint32
	if flags&greKey != 0 {
		key = binary.BigEndian.Uint32(b[keyOff:])
	}
	b, wire = b[n:], wire-n
	switch {
	case typ == greERSPAN && flags&greSequence == 0: // type I has no header of its own
		if p.enter(WayERSPAN, 0) {
			p.decodeEthernet(b, wire)
		}
	case typ == greERSPAN:
		p.decodeERSPAN2(b, wire)
	case typ == greERSPAN3:
		p.decodeERSPAN3(b, wire)
	case p.enter(WayGRE, key):
		p.decodeCarried(typ, b, wire)
	}
}

// decodeGRE1 reads a packet of PPTP or EoIP, and reports whether b is one with content: PPTP
// also has packets that only acknowledge. Bytes after the length are padding.
func (p *Packet) decodeGRE1(flags, typ uint16, b []byte, wire int) bool {
	n, kind := pptpLen, WayPPTP
	switch {
	case typ == greEoIP && flags == eoipFlags:
		kind = WayEoIP
	case typ == grePPP && flags&^(greSequence|pptpAck) == greKey|1 && flags&greSequence != 0:
		n += greWord
		if flags&pptpAck != 0 {
			n += greWord
		}
	default:
		return false
	}
	if len(b) < n {
		p.Stop = cutOrBad(ShortTunnel, BadTunnel, wire, n)
		return true
	}
	id := uint32(binary.BigEndian.Uint16(b[6:]))
	if kind == WayEoIP {
		id = uint32(binary.LittleEndian.Uint16(b[6:]))
	}
	length := int(binary.BigEndian.Uint16(b[4:]))
	if length > wire-n {
		p.Stop = BadTunnel
		return true
	}
	if !p.enter(kind, id) {
		return true
	}
	b = b[n:min(len(b), n+length)]
	if kind == WayEoIP {
		p.decodeEthernet(b, length)
	} else {
		p.decodePPP(b, length)
	}
	return true
}

// isFollowedInGRE reports whether the walk goes on into GRE's protocol type typ.
func isFollowedInGRE(typ uint16) bool {
	switch typ {
	case etherIPv4, etherIPv6, etherMPLS, etherMPLSUp, etherBridging, greERSPAN, greERSPAN3:
		return true
	}
	return false
}

// decodeCarried reads what a tunnel carries that names its content by EtherType.
func (p *Packet) decodeCarried(typ uint16, b []byte, wire int) {
	if typ == etherBridging {
		p.decodeEthernet(b, wire)
		return
	}
	p.decodeEtherType(typ, b, wire)
}

// decodeERSPAN2 reads a type II header.
func (p *Packet) decodeERSPAN2(b []byte, wire int) {
	if !p.enterERSPAN(b, wire, erspan2Len, erspan2Version) {
		return
	}
	p.decodeMirrored(b, wire, erspan2Len, false)
}

// decodeERSPAN3 reads a type III header: that of type II, then time, frame type and
// an optional part that only its vendor can read, which is stepped over.
func (p *Packet) decodeERSPAN3(b []byte, wire int) {
	if !p.enterERSPAN(b, wire, erspan3Len, erspan3Version) {
		return
	}
	n := erspan3Len
	if b[erspan3Len-1]&erspan3Optional != 0 {
		n += erspanPlatformLen
	}
	typ := b[erspan3Len-2] & erspan3Type
	if typ != erspan3Frame && typ != erspan3IP {
		p.Stop = NotIP
		return
	}
	p.decodeMirrored(b, wire, n, typ == erspan3IP)
}

// enterERSPAN checks the length n and the version, which both types have at the
// same place, and enters the session. It returns false if it set Stop.
func (p *Packet) enterERSPAN(b []byte, wire, n int, version uint8) bool {
	if len(b) < n {
		p.Stop = cutOrBad(ShortTunnel, BadTunnel, wire, n)
		return false
	}
	if b[0]>>4 != version {
		p.Stop = BadTunnel
		return false
	}
	return p.enter(WayERSPAN, uint32(binary.BigEndian.Uint16(b[2:])&erspanSession))
}

// decodeMirrored reads the frame, or the IP packet, that follows the n bytes of an
// ERSPAN header. If the mirror marked the frame as cut, its length on the wire is
// taken from the IP header in it.
func (p *Packet) decodeMirrored(b []byte, wire, n int, ip bool) {
	if len(b) < n {
		p.Stop = cutOrBad(ShortTunnel, BadTunnel, wire, n)
		return
	}
	cut := binary.BigEndian.Uint16(b[2:])&erspanTruncated != 0
	b, wire = b[n:], wire-n
	if cut {
		wire = max(wire, maxUncutLen)
	}
	if ip {
		p.decodeIP(b, wire)
		return
	}
	p.decodeEthernet(b, wire)
}
