package netlayer

import "encoding/binary"

// The ports of tunnels over UDP.
const (
	portGTPU      = 2152
	portVXLAN     = 4789
	portVXLANOld  = 8472 // Linux, from before there was a number
	portGeneve    = 6081
	vxlanLen      = 8
	geneveLen     = 8
	gtpuLen       = 8
	gtpuOptionLen = 4
)

// The bits of their headers.
const (
	vxlanNetwork = 0x08 // bit I: the network identifier is valid
	vxlanPolicy  = 0x80 // bit G (draft-smith-vxlan-group-policy)

	geneveVersion = 0xc0 // two bits, 0
	geneveOptions = 0x3f // length of the options in words
	geneveControl = 0x80 // bit O: not a frame of the network
	geneveUnused  = 0x3f

	gtpuVersion   = 0xf0 // version 1 and bit PT: not GTP'
	gtpuVersion1  = 0x30
	gtpuOptional  = 0x07 // any of E, S and PN: four more bytes
	gtpuExtension = 0x04 // bit E: the last of those is the type of a header
	gtpuData      = 0xff // message type of a packet of a user
)

// overlay tries the tunnel whose port the datagram with payload b was sent to,
// p being that datagram. Ports are free to use, so that the content decides: a
// datagram in which no packet is found, by the letter of each header, stays
// what it is. So do the few frames of a tunnel that are not IP, such as ARP.
func (p *Packet) overlay(b []byte, wire int) {
	outer := *p
	p.Payload, p.Wire = nil, 0
	var found bool
	switch p.Dst.Port() {
	case portVXLAN, portVXLANOld:
		found = p.vxlan(b, wire)
	case portGeneve:
		found = p.geneve(b, wire)
	case portGTPU:
		found = p.gtpu(b, wire)
	}
	if !found || !p.believable(len(b) < wire) {
		*p = outer
	}
}

// believable reports whether the walk found what a tunnel was said to hold. A
// header that is cut is no proof against it if the capture cut the datagram.
func (p *Packet) believable(cut bool) bool {
	switch p.Stop {
	case OK, TCP, ICMP, OtherProto, TooDeep:
		return true
	case ShortLink, ShortTunnel, ShortIP, ShortTCP, ShortUDP:
		return cut
	}
	return false
}

// vxlan reads a VXLAN header (RFC 7348 section 5), with a group policy or not.
// All other bits are reserved and zero.
func (p *Packet) vxlan(b []byte, wire int) bool {
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
		p.ethernet(b[vxlanLen:], wire-vxlanLen)
	}
	return true
}

// geneve reads a Geneve header (RFC 8926 section 3.4) and passes its options.
func (p *Packet) geneve(b []byte, wire int) bool {
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
		p.carried(typ, b[n:], wire-n)
	}
	return true
}

// gtpu reads a GTP-U header (3GPP TS 29.281 section 5) and passes its
// extension headers, whose first byte is their length in words and whose last
// is the type of the next.
func (p *Packet) gtpu(b []byte, wire int) bool {
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
		p.raw(b, wire)
	}
	return true
}
