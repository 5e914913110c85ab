package packet

import (
	"encoding/binary"
	"net/netip"
)

const (
	ipv4MinLen = 20
	ipv6Len    = 40

	moreFragments  = 0x2000 // IPv4 flag MF
	fragmentOffset = 0x1fff // IPv4, in units of 8 bytes
)

// IP protocol numbers. The extension headers are those of IPv6.
const (
	ProtoICMP     = 1
	protoIPv4     = 4
	ProtoTCP      = 6
	ProtoUDP      = 17
	protoIPv6     = 41
	ProtoGRE      = 47
	ProtoESP      = 50
	ProtoICMPv6   = 58
	protoL2TP     = 115 // version 3
	ProtoUDPLite  = 136
	extHopByHop   = 0
	extRouting    = 43
	extFragment   = 44
	extAuth       = 51
	extDstOptions = 60
)

// decodeIPv4 reads an IPv4 packet (RFC 791). What follows the total length is padding
// of the link. A total length of 0 is that of a packet captured before the network
// card divided it (segmentation offload): the length of the frame is taken. A total
// length beyond the frame is believed: no network carries such a packet, but
// programs that cut captures write the captured length for the original one.
func (p *Packet) decodeIPv4(b []byte, wire int) {
	if len(b) < ipv4MinLen {
		p.Stop = cutOrBad(ShortIP, BadIP, wire, ipv4MinLen)
		return
	}
	whole := b
	header := int(b[0]&0x0f) * 4
	total := int(binary.BigEndian.Uint16(b[2:]))
	if total == 0 {
		total = wire
	}
	if b[0]>>4 != 4 || header < ipv4MinLen || total < header {
		p.Stop = BadIP
		return
	}
	p.IPID = binary.BigEndian.Uint16(b[4:])
	p.TTL = b[8]
	p.Proto = b[9]
	p.Src = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[12:16])), 0)
	p.Dst = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[16:20])), 0)
	if len(b) < header {
		p.Stop = ShortIP
		return
	}
	p.trace(HeaderIPv4, b[:min(len(b), total)])
	flags := binary.BigEndian.Uint16(b[6:])
	b, wire = b[header:min(len(b), total)], total-header
	if flags&(moreFragments|fragmentOffset) != 0 {
		p.Frag = Frag{
			Set:  true,
			More: flags&moreFragments != 0,
			Off:  uint32(flags&fragmentOffset) * 8,
			ID:   uint32(p.IPID),
		}
		p.Payload, p.Wire = b, wire
		return
	}
	p.decodeTransport(b, wire)
	if binary.BigEndian.Uint16(whole[2:]) == 0 { // the network card would have set both lengths
		p.Misfit = false
	}
}

// decodeIPv6 reads an IPv6 packet (RFC 8200). A payload length of 0 is a jumbogram or
// segmentation offload: the length of the frame is taken.
func (p *Packet) decodeIPv6(b []byte, wire int) {
	if len(b) < ipv6Len {
		p.Stop = cutOrBad(ShortIP, BadIP, wire, ipv6Len)
		return
	}
	if b[0]>>4 != 6 {
		p.Stop = BadIP
		return
	}
	p.Proto = b[6]
	p.TTL = b[7]
	p.Src = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), 0)
	p.Dst = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[24:40])), 0)
	length := int(binary.BigEndian.Uint16(b[4:]))
	if p.Trace != nil {
		end := len(b)
		if length != 0 {
			end = min(end, ipv6Len+length)
		}
		p.trace(HeaderIPv6, b[:end])
	}
	b, wire = b[ipv6Len:], wire-ipv6Len
	if length != 0 {
		wire = length
		b = b[:min(len(b), wire)]
	}
	p.decodeExtensions(b, wire)
}

// decodeExtensions walks the IPv6 extension headers at the start of b, of which
// p.Proto names the first, up to a fragment header or the transport.
func (p *Packet) decodeExtensions(b []byte, wire int) {
	for count := 0; ; count++ {
		if !isExtension(p.Proto) {
			p.decodeTransport(b, wire)
			return
		}
		if count == maxExtensions {
			p.Stop = TooDeep
			return
		}
		// No extension header is shorter than 8 bytes, and the first two of
		// every one are the next header and the length.
		n := 8
		if len(b) >= n {
			n = extensionLen(p.Proto, b[1])
		}
		if len(b) < n || wire < n {
			p.Stop = cutOrBad(ShortIP, BadIP, wire, n)
			return
		}
		fragment := p.Proto == extFragment
		p.Proto = b[0]
		if fragment {
			p.decodeFragment(b, wire)
			return
		}
		b, wire = b[n:], wire-n
	}
}

// decodeFragment reads the fragment header at the start of b (RFC 8200 section 4.5).
func (p *Packet) decodeFragment(b []byte, wire int) {
	field := binary.BigEndian.Uint16(b[2:])
	p.Frag = Frag{
		Set:  true,
		More: field&1 != 0,
		Off:  uint32(field &^ 7), // units of 8 bytes, in the upper 13 bits
		ID:   binary.BigEndian.Uint32(b[4:]),
	}
	p.Payload, p.Wire = b[8:], wire-8
}

// isExtension reports whether proto is an IPv6 extension header that can be read.
func isExtension(proto uint8) bool {
	switch proto {
	case extHopByHop, extRouting, extFragment, extAuth, extDstOptions:
		return true
	}
	return false
}

// extensionLen returns the length in bytes of an extension header whose second byte
// is n. That of the authentication header counts words (RFC 4302), a fragment
// header has a fixed length.
func extensionLen(proto, n uint8) int {
	switch proto {
	case extFragment:
		return 8
	case extAuth:
		return (int(n) + 2) * 4
	}
	return (int(n) + 1) * 8
}
