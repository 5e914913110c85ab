package packet

import "encoding/binary"

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
