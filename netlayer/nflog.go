package netlayer

import "encoding/binary"

// The header of LINKTYPE_NFLOG: family, version and a number, then attributes
// of length, type and value, padded to 4 bytes (Linux nfnetlink_log.h).
const (
	nflogLen       = 4
	nflogAttribute = 4
	nflogPayload   = 9 // NFULA_PAYLOAD
)

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
