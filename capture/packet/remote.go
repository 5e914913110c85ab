package packet

import (
	"encoding/binary"

	"qsniff/internal/base/checksum"
)

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
