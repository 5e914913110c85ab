package packet

import "encoding/binary"

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
