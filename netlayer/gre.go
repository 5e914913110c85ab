package netlayer

import "encoding/binary"

// The first 16 bits of a GRE header (RFC 2784, RFC 2890) and its length.
const (
	greChecksum = 0x8000
	greKey      = 0x2000
	greSequence = 0x1000
	greOther    = 0x4fff // routing, recursion, flags: RFC 1701, and not RFC 2784
	greWord     = 4      // the header, and each optional part of it
)

// Protocol types of ERSPAN (draft-foschiano-erspan-03) and its headers.
const (
	greERSPAN  = 0x88be // types I and II
	greERSPAN3 = 0x22eb // type III

	erspan2Len     = 8
	erspan3Len     = 12
	erspanPlatform = 8 // an optional part of type III

	erspan2Version = 1
	erspan3Version = 2

	erspanSession   = 0x03ff // in the second 16 bits of both headers
	erspanTruncated = 0x0400 // bit T, likewise

	erspan3Optional = 0x01 // bit O of the last byte of type III
	erspan3Type     = 0x7c // five bits of the last byte but one
	erspan3Frame    = 0x00
	erspan3IP       = 0x08

	// uncutLen is the most that a mirrored frame can have been: the longest
	// IP packet after the longest header of Ethernet.
	uncutLen = 65_535 + ethernetLen + maxWays*tagLen
)

// gre reads a GRE header, the payload of an IP packet. Version 1 (PPTP) and
// what else is not followed stays another protocol on top of IP.
func (p *Packet) gre(b []byte, wire int) {
	if len(b) < greWord {
		p.Stop = endsIn(ShortTunnel, BadTunnel, wire, greWord)
		return
	}
	flags, typ := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	if flags&greOther != 0 || !greCarries(typ) {
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
		p.Stop = endsIn(ShortTunnel, BadTunnel, wire, n)
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
			p.ethernet(b, wire)
		}
	case typ == greERSPAN:
		p.erspan2(b, wire)
	case typ == greERSPAN3:
		p.erspan3(b, wire)
	case p.enter(WayGRE, key):
		p.carried(typ, b, wire)
	}
}

// greCarries reports whether what a GRE header announces is followed.
func greCarries(typ uint16) bool {
	switch typ {
	case etherIPv4, etherIPv6, etherMPLS, etherMPLSUp, etherBridging, greERSPAN, greERSPAN3:
		return true
	}
	return false
}

// carried goes on inside a tunnel that names its content by EtherType.
func (p *Packet) carried(typ uint16, b []byte, wire int) {
	if typ == etherBridging {
		p.ethernet(b, wire)
		return
	}
	p.etherType(typ, b, wire)
}

// erspan2 reads a type II header.
func (p *Packet) erspan2(b []byte, wire int) {
	if !p.erspan(b, wire, erspan2Len, erspan2Version) {
		return
	}
	p.mirrored(b, wire, erspan2Len, false)
}

// erspan3 reads a type III header: like type II, and time, frame type and an
// optional part that nobody but its vendor can read.
func (p *Packet) erspan3(b []byte, wire int) {
	if !p.erspan(b, wire, erspan3Len, erspan3Version) {
		return
	}
	n := erspan3Len
	if b[erspan3Len-1]&erspan3Optional != 0 {
		n += erspanPlatform
	}
	typ := b[erspan3Len-2] & erspan3Type
	if typ != erspan3Frame && typ != erspan3IP {
		p.Stop = NotIP
		return
	}
	p.mirrored(b, wire, n, typ == erspan3IP)
}

// erspan checks what both headers have in common and enters.
func (p *Packet) erspan(b []byte, wire, n int, version uint8) bool {
	if len(b) < n {
		p.Stop = endsIn(ShortTunnel, BadTunnel, wire, n)
		return false
	}
	if b[0]>>4 != version {
		p.Stop = BadTunnel
		return false
	}
	return p.enter(WayERSPAN, uint32(binary.BigEndian.Uint16(b[2:])&erspanSession))
}

// mirrored goes on after the n bytes of an ERSPAN header. If the mirror says
// that it cut the frame, the IP header in it knows how long it was.
func (p *Packet) mirrored(b []byte, wire, n int, ip bool) {
	if len(b) < n {
		p.Stop = endsIn(ShortTunnel, BadTunnel, wire, n)
		return
	}
	cut := binary.BigEndian.Uint16(b[2:])&erspanTruncated != 0
	b, wire = b[n:], wire-n
	if cut {
		wire = max(wire, uncutLen)
	}
	if ip {
		p.raw(b, wire)
		return
	}
	p.ethernet(b, wire)
}
