package packet

import (
	"encoding/binary"

	"qsniff/internal/base/checksum"
)

// The ports of tunnels over UDP.
const (
	portL2TP      = 1701
	portGTPU      = 2152
	portVXLAN     = 4789
	portVXLANGPE  = 4790
	portFOU       = 5555 // of the examples for Linux's FOU, which has no port assigned
	portGUE       = 6080
	portGeneve    = 6081
	portVXLANOld  = 8472 // Linux, from before IANA assigned a port
	portTZSP      = 37008
	vxlanLen      = 8
	geneveLen     = 8
	gtpuLen       = 8
	gtpuOptionLen = 4
)

// The bits of their headers.
const (
	vxlanNetwork = 0x08 // bit I: the network identifier is valid
	vxlanPolicy  = 0x80 // bit G (draft-smith-vxlan-group-policy)

	gpeFlooded = 0x02 // bit B: the frame goes to all
	gpeNext    = 0x04 // bit P: the last byte before the network names what follows

	// Protocols that the header names.
	gpeIPv4     = 1
	gpeIPv6     = 2
	gpeEthernet = 3
	gpeNSH      = 4 // not read
	gpeMPLS     = 5

	geneveVersion = 0xc0 // two bits, 0
	geneveOptions = 0x3f // length of the options in words
	geneveControl = 0x80 // bit O: not a frame of the network
	geneveUnused  = 0x3f

	gtpuVersion   = 0xf0 // version 1 and bit PT: not GTP'
	gtpuVersion1  = 0x30
	gtpuOptional  = 0x07 // any of E, S and PN: four more bytes
	gtpuExtension = 0x04 // bit E: the last of those bytes is the type of an extension header
	gtpuData      = 0xff // message type of a packet of a user
)

// decodeOverlay reads the payload b of the datagram p as the tunnel to whose port
// it was sent. Anybody may use these ports, so the content decides: if a header
// departs from its specification or no packet follows, p stays the datagram that
// it was. So do the few frames of a tunnel that are not IP, such as ARP.
func (p *Packet) decodeOverlay(b []byte, wire int) {
	outer := *p
	p.Payload, p.Wire = nil, 0
	var found bool
	switch p.Dst.Port() {
	case portTZSP:
		found = p.decodeTZSP(b, wire)
	case portL2TP:
		found = p.decodeL2TP(b, wire)
	case portVXLANGPE:
		found = p.decodeVXLANGPE(b, wire)
	case portGUE, portFOU:
		found = p.decodeGUE(b, wire, p.Dst.Port() == portGUE)
	case portVXLAN, portVXLANOld:
		found = p.decodeVXLAN(b, wire)
	case portGeneve:
		found = p.decodeGeneve(b, wire)
	case portGTPU:
		found = p.decodeGTPU(b, wire)
	}
	if !found || !p.isBelievable(len(b) < wire) {
		*p = outer
	}
}

// isBelievable reports whether the walk found a packet inside the supposed tunnel.
// A header that is cut is accepted where the capture cut the datagram.
func (p *Packet) isBelievable(cut bool) bool {
	switch p.Stop {
	case OK, TCP, ICMP, OtherProto, TooDeep:
		return true
	case ShortLink, ShortTunnel, ShortIP, ShortTCP, ShortUDP:
		return cut
	}
	return false
}

// decodeVXLAN reads a VXLAN header (RFC 7348 section 5), with a group policy or not,
// and reports whether b begins with one. All other bits are reserved and zero.
func (p *Packet) decodeVXLAN(b []byte, wire int) bool {
	if len(b) < vxlanLen || b[7] != 0 {
		return false
	}
	switch b[0] {
	case vxlanNetwork:
		if b[1]|b[2]|b[3] != 0 {
			return false
		}
	case vxlanNetwork | vxlanPolicy:
	default:
		return false
	}
	if p.enter(WayVXLAN, binary.BigEndian.Uint32(b[4:])>>8) {
		p.decodeEthernet(b[vxlanLen:], wire-vxlanLen)
	}
	return true
}

// decodeVXLANGPE reads a VXLAN header that names what follows it (draft-ietf-nvo3-vxlan-gpe),
// and reports whether b begins with one whose content is read.
func (p *Packet) decodeVXLANGPE(b []byte, wire int) bool {
	if len(b) < vxlanLen || b[0]&^(vxlanNetwork|gpeNext|gpeFlooded) != 0 || b[0]&vxlanNetwork == 0 || b[1]|b[2]|b[7] != 0 {
		return false
	}
	next := b[3]
	if b[0]&gpeNext == 0 {
		if next != 0 {
			return false
		}
		next = gpeEthernet
	}
	typ, ok := gpeContent(next)
	if !ok {
		return false
	}
	if p.enter(WayVXLAN, binary.BigEndian.Uint32(b[4:])>>8) {
		p.decodeCarried(typ, b[vxlanLen:], wire-vxlanLen)
	}
	return true
}

// gpeContent returns the EtherType for a protocol that VXLAN-GPE names.
func gpeContent(next uint8) (typ uint16, ok bool) {
	switch next {
	case gpeIPv4:
		return etherIPv4, true
	case gpeIPv6:
		return etherIPv6, true
	case gpeEthernet:
		return etherBridging, true
	case gpeMPLS:
		return etherMPLS, true
	}
	return 0, false
}

// decodeGeneve reads a Geneve header (RFC 8926 section 3.4), steps over its options,
// and reports whether b begins with such a header.
func (p *Packet) decodeGeneve(b []byte, wire int) bool {
	if len(b) < geneveLen || b[0]&geneveVersion != 0 || b[1]&(geneveControl|geneveUnused) != 0 || b[7] != 0 {
		return false
	}
	typ := binary.BigEndian.Uint16(b[2:])
	if typ != etherBridging && typ != etherIPv4 && typ != etherIPv6 {
		return false
	}
	n := geneveLen + int(b[0]&geneveOptions)*4
	if len(b) < n {
		return false
	}
	if p.enter(WayGeneve, binary.BigEndian.Uint32(b[4:])>>8) {
		p.decodeCarried(typ, b[n:], wire-n)
	}
	return true
}

// decodeGTPU reads a GTP-U header (3GPP TS 29.281 section 5), steps over its
// extension headers, and reports whether b begins with such a header. The first
// byte of an extension header is its length in words, the last the type of the next.
func (p *Packet) decodeGTPU(b []byte, wire int) bool {
	if len(b) < gtpuLen || b[0]&gtpuVersion != gtpuVersion1 || b[1] != gtpuData {
		return false
	}
	flags, length, id := b[0], int(binary.BigEndian.Uint16(b[2:])), binary.BigEndian.Uint32(b[4:])
	if length != wire-gtpuLen {
		return false
	}
	b, wire = b[gtpuLen:], wire-gtpuLen
	if flags&gtpuOptional != 0 {
		if len(b) < gtpuOptionLen {
			return false
		}
		next := b[gtpuOptionLen-1]
		if flags&gtpuExtension == 0 {
			next = 0
		}
		b, wire = b[gtpuOptionLen:], wire-gtpuOptionLen
		for count := 0; next != 0; count++ {
			if len(b) == 0 || b[0] == 0 || len(b) < int(b[0])*4 || count == maxExtensions {
				return false
			}
			n := int(b[0]) * 4
			next = b[n-1]
			b, wire = b[n:], wire-n
		}
	}
	if p.enter(WayGTPU, id) {
		p.decodeIP(b, wire)
	}
	return true
}

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
	erspanTruncated = 0x0400 // bit T of type III

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

// Tunnels over UDP that carry what a host elsewhere saw or sends: mirrors of routers (TZSP),
// lines of subscribers (L2TP), and IP in UDP (GUE, FOU).

// The header of TZSP: version, type, what follows, then tags of a type, a length and so many
// bytes, up to the tag that ends them (Wireshark's packet-tzsp.c; no specification is public).
const (
	tzspLen      = 4
	tzspVersion  = 1
	tzspReceived = 0 // type of a frame that the mirror received
	tzspTransmit = 1 // of one that it is to send
	tzspPad      = 0 // this tag and the next have no length
	tzspEnd      = 1
	tzspOriginal = 41 // length of the frame before the mirror cut it

	// maxTZSPTags is how many tags precede a frame. About twelve are known; chosen: room for
	// each once, and padding.
	maxTZSPTags = 32
)

// TZSPFrame returns the frame in the payload b of a TZSP datagram, its link type, and its
// length on the wire where b was rest bytes longer when it was sent. ok is false if b is no
// TZSP, holds no frame, or one of a link type that is not decoded.
func TZSPFrame(b []byte, rest int) (link uint16, frame []byte, wire int, ok bool) {
	if len(b) < tzspLen || b[0] != tzspVersion || b[1] > tzspTransmit {
		return 0, nil, 0, false
	}
	if link, ok = tzspLink(binary.BigEndian.Uint16(b[2:])); !ok {
		return 0, nil, 0, false
	}
	b = b[tzspLen:]
	for range maxTZSPTags {
		if len(b) == 0 {
			return 0, nil, 0, false
		}
		tag := b[0]
		if b = b[1:]; tag == tzspEnd {
			return link, b, max(wire, len(b)+rest), len(b) > 0
		}
		if tag == tzspPad {
			continue
		}
		if len(b) == 0 || len(b) < 1+int(b[0]) {
			return 0, nil, 0, false
		}
		if n := int(b[0]); tag == tzspOriginal && n == 2 {
			wire = int(binary.BigEndian.Uint16(b[1:]))
		}
		b = b[1+int(b[0]):]
	}
	return 0, nil, 0, false
}

// tzspLink returns the link type for a protocol that TZSP names.
func tzspLink(protocol uint16) (link uint16, ok bool) {
	switch protocol {
	case 1:
		return LinkEthernet, true
	case 4:
		return LinkPPP, true
	case 7:
		return LinkRaw, true
	}
	return 0, false
}

// decodeTZSP reads a mirrored frame, and reports whether b holds one.
func (p *Packet) decodeTZSP(b []byte, wire int) bool {
	link, frame, length, ok := TZSPFrame(b, wire-len(b))
	if !ok {
		return false
	}
	if p.enter(WayTZSP, 0) {
		p.decodeLink(link, frame, length)
	}
	return true
}

// The header of L2TP version 2 (RFC 2661 section 3.1), and what differs in 3 (RFC 3931).
const (
	l2tpControl  = 0x8000
	l2tpLength   = 0x4000
	l2tpSequence = 0x0800
	l2tpOffset   = 0x0200
	l2tpReserved = 0x34f0
	l2tpVersion  = 0x000f
	l2tpIDs      = 4 // tunnel and session
	l2tp3OverUDP = 4 // flags and version, which are not there over IP
	l2tp3Session = 4
)

// decodeL2TP reads an L2TP data message over UDP, and reports whether b is one.
func (p *Packet) decodeL2TP(b []byte, wire int) bool {
	if len(b) < 2 {
		return false
	}
	flags := binary.BigEndian.Uint16(b)
	switch {
	case flags == 3 && len(b) >= l2tp3OverUDP:
		return p.decodeL2TPv3(b, wire, l2tp3OverUDP)
	case flags&(l2tpControl|l2tpReserved) != 0, flags&l2tpVersion != 2:
		return false
	}
	n, ids := 2, 2
	if flags&l2tpLength != 0 {
		n, ids = n+2, ids+2
	}
	n += l2tpIDs
	if flags&l2tpSequence != 0 {
		n += 4
	}
	if flags&l2tpOffset != 0 {
		if n += 2; len(b) < n {
			return false
		}
		n += int(binary.BigEndian.Uint16(b[n-2:]))
	}
	if len(b) < n {
		return false
	}
	if flags&l2tpLength != 0 {
		length := int(binary.BigEndian.Uint16(b[2:]))
		if length < n || length > wire {
			return false
		}
		b, wire = b[:min(len(b), length)], length
	}
	if p.enter(WayL2TP, uint32(binary.BigEndian.Uint16(b[ids+2:]))) {
		p.decodePPP(b[n:], wire-n)
	}
	return true
}

// decodeL2TPv3 reads an L2TPv3 data message, over IP or after the n bytes that precede the
// session over UDP, and reports whether b is one. The length of the cookie and of the
// sublayer after the session was agreed on when the tunnel was set up, and no packet repeats
// it: the frame begins where Ethernet with IP in it does. Over IP, what does not is OtherProto.
func (p *Packet) decodeL2TPv3(b []byte, wire, n int) bool {
	if len(b) >= n+l2tp3Session {
		session := binary.BigEndian.Uint32(b[n:])
		for _, between := range [...]int{4, 0, 8, 12} { // Linux: a sublayer of 4, cookies of 0, 4, 8
			off := n + l2tp3Session + between
			if session == 0 || len(b) <= off || !looksLikeEthernet(b[off:]) {
				continue
			}
			if p.enter(WayL2TP, session) {
				p.decodeEthernet(b[off:], wire-off)
			}
			return true
		}
	}
	switch {
	case n != 0:
	case len(b) < wire && len(b) <= l2tp3Session+12+ethernetLen: // the capture cut it
		p.Stop = ShortTunnel
	default:
		p.Payload, p.Wire, p.Stop = b, wire, OtherProto
	}
	return false
}

// The header of GUE (draft-ietf-intarea-gue-09 section 3). Variant 1 has none.
const (
	gueLen     = 4
	gueControl = 0x20
	gueWords   = 0x1f // length of what follows the first four bytes
)

// decodeGUE reads IP or GRE in UDP, after the header of GUE where hasHeader allows one and b
// begins with it, and reports whether b holds a packet. Without a header only the packet
// shows what it is, so all of it must be right: length, and the checksum of IPv4.
func (p *Packet) decodeGUE(b []byte, wire int, hasHeader bool) bool {
	if isWholeIP(b, wire) {
		if p.enter(WayGUE, 0) {
			p.decodeIP(b, wire)
		}
		return true
	}
	if !hasHeader { // Linux's FOU with GRE
		return len(b) > greWord && b[0]|b[1] == 0 && isWholeIP(b[greWord:], wire-greWord) && p.decodeGREInUDP(b, wire)
	}
	if len(b) < gueLen || b[0]&^gueWords != 0 || b[2]|b[3] != 0 {
		return false
	}
	n, proto := gueLen+int(b[0]&gueWords)*4, b[1]
	if len(b) < n {
		return false
	}
	switch b, wire = b[n:], wire-n; proto {
	case protoIPv4:
		if p.enter(WayGUE, 0) {
			p.decodeIPv4(b, wire)
		}
	case protoIPv6:
		if p.enter(WayGUE, 0) {
			p.decodeIPv6(b, wire)
		}
	case ProtoGRE:
		return p.decodeGREInUDP(b, wire)
	default:
		return false
	}
	return true
}

// decodeGREInUDP reads GRE in UDP, whose way in has the ports, and reports whether the walk
// follows what it carries.
func (p *Packet) decodeGREInUDP(b []byte, wire int) bool {
	if len(b) < greWord || binary.BigEndian.Uint16(b)&greOther != 0 || !isFollowedInGRE(binary.BigEndian.Uint16(b[2:])) {
		return false
	}
	p.decodeGRE(b, wire)
	return true
}

// isWholeIP reports whether b begins with the header of an IP packet that is exactly wire
// bytes long, and whose checksum is right where it has one.
func isWholeIP(b []byte, wire int) bool {
	if !isPlausibleIP(b, wire) {
		return false
	}
	if b[0]>>4 == 6 {
		return ipv6Len+int(binary.BigEndian.Uint16(b[4:])) == wire
	}
	n := int(b[0]&0x0f) * 4
	return int(binary.BigEndian.Uint16(b[2:])) == wire && len(b) >= n && checksum.Fold(checksum.Add(0, b[:n])) == 0xffff
}
