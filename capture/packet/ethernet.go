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
