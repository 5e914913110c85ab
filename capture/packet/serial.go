package packet

import "encoding/binary"

// Headers of PPP and its relatives on serial lines and in PPPoE sessions.
const (
	pppoeLen       = 6
	pppoeVersion   = 0x11 // version 1, type 1 (RFC 2516 section 4)
	pppoeSession   = 0x00 // code of a packet that carries data
	hdlcAddress    = 0xff // all stations (RFC 1662 section 3.1)
	hdlcControl    = 0x03 // unnumbered information
	ciscoUnicast   = 0x0f
	ciscoMulticast = 0x8f
	ciscoHDLCLen   = 4
)

// PPP protocol numbers.
const (
	pppIPv4   = 0x0021
	pppIPv6   = 0x0057
	pppMPLS   = 0x0281
	pppMPLSUp = 0x0283
)

// Network layer protocol identifiers of Frame Relay (RFC 2427).
const (
	nlpidPad  = 0x00
	nlpidSNAP = 0x80
	nlpidIPv6 = 0x8e
	nlpidIPv4 = 0xcc

	// maxDLCI is the longest Frame Relay address in bytes (ITU-T Q.922).
	maxDLCI = 4
)

// decodePPPoE reads a PPPoE session header. Bytes after its length are padding of
// Ethernet.
func (p *Packet) decodePPPoE(b []byte, wire int) {
	if len(b) < pppoeLen {
		p.Stop = ShortLink
		return
	}
	if b[0] != pppoeVersion || b[1] != pppoeSession {
		p.Stop = BadLink
		return
	}
	if !p.enter(WayPPPoE, uint32(binary.BigEndian.Uint16(b[2:]))) {
		return
	}
	wire = min(wire-pppoeLen, int(binary.BigEndian.Uint16(b[4:])))
	b = b[pppoeLen:]
	p.decodePPP(b[:min(len(b), wire)], wire)
}

// decodePPP reads the address and control of a PPP frame, which both ends may have
// agreed to leave out, and its protocol, of which they may have agreed to leave
// out a leading zero byte (RFC 1661 section 6.5, RFC 1662 section 3.2).
func (p *Packet) decodePPP(b []byte, wire int) {
	if len(b) >= 2 && b[0] == hdlcAddress && b[1] == hdlcControl {
		b, wire = b[2:], wire-2
	}
	if len(b) < 2 { // a protocol of one byte would have nothing after it
		p.Stop = cutOrBad(ShortLink, BadLink, wire, 2)
		return
	}
	n, proto := 2, binary.BigEndian.Uint16(b)
	if b[0]&1 != 0 {
		n, proto = 1, uint16(b[0])
	}
	b, wire = b[n:], wire-n
	switch proto {
	case pppIPv4:
		p.decodeIPv4(b, wire)
	case pppIPv6:
		p.decodeIPv6(b, wire)
	case pppMPLS, pppMPLSUp:
		p.decodeMPLS(b, wire)
	default:
		p.Stop, p.Unread = NotIP, unreadPPP(proto)
	}
}

// decodePPPHDLC reads a frame of a serial line: PPP or Cisco HDLC, by its address.
func (p *Packet) decodePPPHDLC(b []byte, wire int) {
	if len(b) > 0 && (b[0] == ciscoUnicast || b[0] == ciscoMulticast) {
		p.decodeCiscoHDLC(b, wire)
		return
	}
	p.decodePPP(b, wire)
}

// decodeCiscoHDLC reads a frame of Cisco HDLC: address, control and EtherType.
func (p *Packet) decodeCiscoHDLC(b []byte, wire int) {
	if len(b) < ciscoHDLCLen {
		p.Stop = ShortLink
		return
	}
	if b[0] != ciscoUnicast && b[0] != ciscoMulticast {
		p.Stop = BadLink
		return
	}
	p.decodeEtherType(binary.BigEndian.Uint16(b[2:]), b[ciscoHDLCLen:], wire-ciscoHDLCLen)
}

// decodeFrameRelay reads a Frame Relay frame: the address, whose last byte is odd,
// then the control byte and identifier of RFC 2427, or the EtherType that Cisco
// puts there.
func (p *Packet) decodeFrameRelay(b []byte, wire int) {
	n := 0
	for n < len(b) && n < maxDLCI && b[n]&1 == 0 {
		n++
	}
	n++
	if n > maxDLCI {
		p.Stop = BadLink
		return
	}
	if len(b) < n+2 {
		p.Stop = ShortLink
		return
	}
	if b[n] != hdlcControl {
		p.decodeEtherType(binary.BigEndian.Uint16(b[n:]), b[n+2:], wire-n-2)
		return
	}
	p.decodeNLPID(b[n+1:], wire-n-1)
}

// decodeNLPID reads what follows the control byte of RFC 2427: an identifier, which
// a padding byte may precede, and the packet.
func (p *Packet) decodeNLPID(b []byte, wire int) {
	if b[0] == nlpidPad {
		b, wire = b[1:], wire-1
	}
	if len(b) == 0 {
		p.Stop = ShortLink
		return
	}
	switch b[0] {
	case nlpidIPv4:
		p.decodeIPv4(b[1:], wire-1)
	case nlpidIPv6:
		p.decodeIPv6(b[1:], wire-1)
	case nlpidSNAP:
		const snapLen = 6 // the identifier, an organisation, its type
		switch {
		case len(b) < snapLen:
			p.Stop = ShortLink
		case b[1]|b[2]|b[3] != 0: // not an EtherType: the code of an organisation
			p.Stop = NotIP
		default:
			p.decodeEtherType(binary.BigEndian.Uint16(b[4:]), b[snapLen:], wire-snapLen)
		}
	default:
		p.Stop = NotIP
	}
}
