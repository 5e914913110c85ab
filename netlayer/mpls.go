package netlayer

import "encoding/binary"

const (
	labelLen    = 4
	labelBottom = 0x100 // bit S: the last of the stack (RFC 3032 section 2.1)
	labelShift  = 12

	// A pseudowire may put a word before its frame that begins with four
	// zero bits, so that no router takes it for IP (RFC 4385).
	controlWordLen = 4
)

// mpls reads a label stack. Nothing in it says what follows: the label means
// something to the routers alone. Like them, the walk looks at the first four
// bits (RFC 4928), and believes in an Ethernet frame only where its EtherType
// and what follows agree.
func (p *Packet) mpls(b []byte, wire int) {
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
	p.unlabelled(b, wire)
}

// unlabelled tells by its content what a label stack carries.
func (p *Packet) unlabelled(b []byte, wire int) {
	switch {
	case len(b) == 0:
		p.Stop = ShortLink
	case plausibleIP(b, wire):
		p.raw(b, wire)
	case b[0]>>4 == 0 && len(b) > controlWordLen && looksEthernet(b[controlWordLen:]):
		p.ethernet(b[controlWordLen:], wire-controlWordLen)
	case looksEthernet(b):
		p.ethernet(b, wire)
	case b[0]>>4 == 4, b[0]>>4 == 6: // let the IP header say what is wrong
		p.raw(b, wire)
	default:
		p.Stop = NotIP
	}
}

// plausibleIP reports whether b begins with an IP header whose lengths fit into
// wire bytes. Hardware addresses may begin with a 4 or a 6 as well.
func plausibleIP(b []byte, wire int) bool {
	if len(b) >= ipv4MinLen && b[0]>>4 == 4 {
		header, total := int(b[0]&0x0f)*4, int(binary.BigEndian.Uint16(b[2:]))
		return header >= ipv4MinLen && header <= total && total <= wire
	}
	return len(b) >= ipv6Len && b[0]>>4 == 6 && ipv6Len+int(binary.BigEndian.Uint16(b[4:])) <= wire
}

// looksEthernet reports whether b is an Ethernet frame that carries IP, tagged or
// not: EtherType and version must agree.
func looksEthernet(b []byte) bool {
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
