package packet

import "encoding/binary"

// EtherTypes.
const (
	etherIPv4     = 0x0800
	etherIPv6     = 0x86dd
	etherTag      = 0x8100 // 802.1Q
	etherQinQ     = 0x88a8 // 802.1ad
	etherOld      = 0x9100 // stacked tags before 802.1ad
	etherMPLS     = 0x8847 // RFC 5332: downstream-assigned label
	etherMPLSUp   = 0x8848 // upstream-assigned label, once multicast
	etherPPPoE    = 0x8864 // session; discovery is 0x8863
	etherMACsec   = 0x88e5 // IEEE 802.1AE
	etherEDSA     = 0xdada // before a DSA tag: what Linux sets in Marvell's switches
	etherBridging = 0x6558 // transparent Ethernet bridging, a frame inside a tunnel
	ethernetLen   = 14
	tagLen        = 4
	tagVLAN       = 0x0fff // bits of a tag that are the VLAN identifier
)

// IEEE 802.2 after a length field.
const (
	maxLLC      = 1500 // the largest length: what is larger is an EtherType, or reserved
	llcLen      = 3    // two addresses and the control byte of an unnumbered frame
	llcSNAP     = 0xaa
	llcIP       = 0x06     // RFC 1042 replaced it by SNAP
	llcControl  = 0x03     // unnumbered information
	snapLen     = 5        // an organisation and its type
	snapBridged = 0x0000f8 // RFC 1042 through bridges (IEEE 802.1H): an EtherType too
)

// Tags of switch chips: four bytes that the port which Linux sees has, and the wire has not.
const (
	switchTagLen = 4
	edsaLen      = 8 // EtherType, two reserved bytes, the tag
	addressesLen = 12
)

// The SecTAG of MACsec (IEEE 802.1AE-2018 clause 9).
const (
	secTagLen    = 6    // control, short length, packet number
	secSCILen    = 8    // the name of the sender, if bit SC is set
	secICVLen    = 16   // of the cipher suites of the standard, at the end of the frame
	secVersion   = 0x80 // bit V, 0
	secSCI       = 0x20 // bit SC
	secEncrypted = 0x0c // bits E and C: the content is not the plain one
	secAN        = 0x03 // number of the association
)

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
		case etherMACsec:
			p.decodeMACsec(b, wire)
			return
		case etherEDSA:
			if len(b) < edsaLen-2 {
				p.Stop = ShortLink
				return
			}
			p.decodeTagged(b, wire, edsaLen-2)
			return
		default:
			if typ <= maxLLC {
				p.decodeLength(int(typ), b, wire)
				return
			}
			p.Stop, p.Unread = NotIP, unreadEtherType(typ)
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

// decodeLength reads what follows the length field of an IEEE 802.3 frame: an LLC header
// (IEEE 802.2). Bytes after the length are padding.
func (p *Packet) decodeLength(n int, b []byte, wire int) {
	wire = min(wire, n)
	p.decodeLLC(b[:min(len(b), wire)], wire)
}

// decodeLLC reads an LLC header, and the SNAP header (RFC 1042) that may follow it.
func (p *Packet) decodeLLC(b []byte, wire int) {
	if len(b) < llcLen {
		p.Stop = cutOrBad(ShortLink, BadLink, wire, llcLen)
		return
	}
	address, isData := b[0], b[0] == b[1] && b[2] == llcControl
	b, wire = b[llcLen:], wire-llcLen
	switch {
	case isData && address == llcIP:
		p.decodeIPv4(b, wire)
	case !isData || address != llcSNAP:
		p.Stop, p.Unread = NotIP, UnreadLLC
	case len(b) < snapLen:
		p.Stop = cutOrBad(ShortLink, BadLink, wire, snapLen)
	default:
		p.decodeSNAP(b, wire)
	}
}

// decodeSNAP reads the organisation and type of a SNAP header, which are all there.
func (p *Packet) decodeSNAP(b []byte, wire int) {
	organisation, typ := binary.BigEndian.Uint32(b)>>8, binary.BigEndian.Uint16(b[3:])
	if organisation != 0 && organisation != snapBridged || typ <= maxLLC {
		p.Stop, p.Unread = NotIP, UnreadLLC
		return
	}
	p.decodeEtherType(typ, b[snapLen:], wire-snapLen)
}

// decodeSwitchTag reads an Ethernet frame with the tag of a switch, n bytes with its
// EtherType, after its addresses.
func (p *Packet) decodeSwitchTag(b []byte, wire, n int) {
	if len(b) < addressesLen+n {
		p.Stop = ShortLink
		return
	}
	p.trace(HeaderEthernet, b)
	p.decodeTagged(b[addressesLen:], wire-addressesLen, n)
}

// decodeTagged reads the n bytes of a tag, which are there, and what follows it: the
// EtherType of the frame. A tag stands for that of a VLAN where the frame had one, whose
// EtherType is not repeated.
func (p *Packet) decodeTagged(b []byte, wire, n int) {
	if len(b) < n+2 {
		p.Stop = ShortLink
		return
	}
	if p.enter(WaySwitch, binary.BigEndian.Uint32(b[n-switchTagLen:])) {
		p.decodeEtherType(binary.BigEndian.Uint16(b[n:]), b[n+2:], wire-n-2)
	}
}

// decodeMACsec reads a SecTAG and the frame after it, if it is not encrypted. A check value
// ends the frame; that its length is another one changes nothing, as IP has its own.
func (p *Packet) decodeMACsec(b []byte, wire int) {
	n := secTagLen
	if len(b) > 0 && b[0]&secSCI != 0 {
		n += secSCILen
	}
	if len(b) < n+2 {
		p.Stop = cutOrBad(ShortLink, BadLink, wire, n+2)
		return
	}
	switch control := b[0]; {
	case control&secVersion != 0:
		p.Stop = BadLink
	case control&secEncrypted != 0:
		p.Stop, p.Unread = NotIP, UnreadMACsec
	case p.enter(WayMACsec, uint32(control&secAN)):
		end := max(wire-secICVLen, n+2)
		b = b[:min(len(b), end)]
		p.decodeEtherType(binary.BigEndian.Uint16(b[n:]), b[n+2:], end-n-2)
	}
}

const (
	labelLen    = 4
	labelBottom = 0x100 // bit S: the last of the stack (RFC 3032 section 2.1)
	labelShift  = 12

	// A pseudowire may put a word before its frame that begins with four
	// zero bits, so that no router takes it for IP (RFC 4385).
	controlWordLen = 4
)

// decodeMPLS reads a label stack. Nothing in it names what follows: labels have a
// meaning for the routers alone. Like them, decodeUnlabelled looks at the first
// four bits (RFC 4928), and takes the rest for an Ethernet frame only where its
// EtherType and what follows agree.
func (p *Packet) decodeMPLS(b []byte, wire int) {
	var label uint32
	for n := 0; label&labelBottom == 0; n++ {
		if n == maxLabels {
			p.Stop = TooDeep
			return
		}
		if len(b) < labelLen {
			p.Stop = ShortLink
			return
		}
		label = binary.BigEndian.Uint32(b)
		b, wire = b[labelLen:], wire-labelLen
	}
	if !p.enter(WayMPLS, label>>labelShift) {
		return
	}
	p.decodeUnlabelled(b, wire)
}

// decodeUnlabelled reads what follows a label stack, identified by its content.
func (p *Packet) decodeUnlabelled(b []byte, wire int) {
	switch {
	case len(b) == 0:
		p.Stop = ShortLink
	case isPlausibleIP(b, wire):
		p.decodeIP(b, wire)
	case b[0]>>4 == 0 && len(b) > controlWordLen && looksLikeEthernet(b[controlWordLen:]):
		p.decodeEthernet(b[controlWordLen:], wire-controlWordLen)
	case looksLikeEthernet(b):
		p.decodeEthernet(b, wire)
	case b[0]>>4 == 4, b[0]>>4 == 6: // not plausible: sets the Stop that fits
		p.decodeIP(b, wire)
	default:
		p.Stop = NotIP
	}
}

// isPlausibleIP reports whether b begins with an IP header whose lengths fit into
// wire bytes. Hardware addresses may begin with a 4 or a 6 as well.
func isPlausibleIP(b []byte, wire int) bool {
	if len(b) >= ipv4MinLen && b[0]>>4 == 4 {
		header, total := int(b[0]&0x0f)*4, int(binary.BigEndian.Uint16(b[2:]))
		return header >= ipv4MinLen && header <= total && total <= wire
	}
	return len(b) >= ipv6Len && b[0]>>4 == 6 && ipv6Len+int(binary.BigEndian.Uint16(b[4:])) <= wire
}

// looksLikeEthernet reports whether b may be an Ethernet frame that carries IP,
// tagged or not: EtherType and IP version must agree.
func looksLikeEthernet(b []byte) bool {
	const last = ethernetLen - 2 + maxWays*tagLen
	for off := ethernetLen - 2; off <= last && off+2 < len(b); off += tagLen {
		switch binary.BigEndian.Uint16(b[off:]) {
		case etherIPv4:
			return b[off+2]>>4 == 4
		case etherIPv6:
			return b[off+2]>>4 == 6
		case etherTag, etherQinQ, etherOld:
		default:
			return false
		}
	}
	return false
}

// limit: maxLabels is how many MPLS labels one stack may have. Segment routing
// imposes the deepest stacks, about a dozen labels.
const maxLabels = 16
