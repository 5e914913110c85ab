package packet

// The link types that are decoded, by their LINKTYPE_ value
// (https://www.tcpdump.org/linktypes.html).
const (
	LinkNull        uint16 = 0   // BSD loopback, family in the byte order of the capturing host
	LinkEthernet    uint16 = 1   // Ethernet without preamble, with or without check sequence
	LinkPPP         uint16 = 9   // PPP, with or without address and control
	LinkRawDLT      uint16 = 12  // LinkRaw, written by programs that store the DLT_ value
	LinkRawOpenBSD  uint16 = 14  // LinkRaw, the same on OpenBSD
	LinkPPPHDLC     uint16 = 50  // PPP with address and control, or Cisco HDLC
	LinkPPPoE       uint16 = 51  // PPPoE session packets without Ethernet
	LinkRaw         uint16 = 101 // IPv4 or IPv6, by the version field
	LinkCiscoHDLC   uint16 = 104 // Cisco HDLC
	LinkFrameRelay  uint16 = 107 // Frame Relay, RFC 2427 or Cisco's form
	LinkLoop        uint16 = 108 // OpenBSD loopback, family in network byte order
	LinkLinuxSLL    uint16 = 113 // Linux "any" interface
	LinkMPLS        uint16 = 219 // begins with an MPLS label stack
	LinkIPv4        uint16 = 228 // IPv4 only
	LinkIPv6        uint16 = 229 // IPv6 only
	LinkNFLOG       uint16 = 239 // Linux netfilter log
	LinkPKTAP       uint16 = 258 // macOS "any" interface: a link type of its own for each packet
	LinkLinuxSLL2   uint16 = 276 // Linux "any" interface, with its index
	LinkBroadcom    uint16 = 281 // Ethernet of a switch, with a Broadcom tag after the addresses
	LinkBroadcomPre uint16 = 282 // the same, with the tag before the frame
	LinkDSA         uint16 = 284 // Ethernet of a switch, with a DSA tag after the addresses
	LinkEDSA        uint16 = 285 // the same, with an EtherType before the tag
)

// Decode fills p from the frame b of the given LINKTYPE_ value, which was wire
// bytes long before the capture cut it. Everything p held but Outer and Trace is
// overwritten; p.Payload points into b. A wire below len(b) is taken for len(b).
func (p *Packet) Decode(link uint16, b []byte, wire int) {
	*p = Packet{Outer: p.Outer, Trace: p.Trace}
	if p.Trace != nil {
		p.Trace.n = 0
	}
	p.decodeLink(link, b, max(wire, len(b)))
}

// decodeLink reads a frame of the given link type.
func (p *Packet) decodeLink(link uint16, b []byte, wire int) {
	switch link {
	case LinkEthernet:
		p.decodeEthernet(b, wire)
	case LinkLinuxSLL:
		p.decodeCooked(b, wire, sllLen, sllProtocolOff)
	case LinkLinuxSLL2:
		p.decodeCooked(b, wire, sll2Len, sll2ProtocolOff)
	case LinkNull, LinkLoop:
		p.decodeLoopback(b, wire)
	case LinkRaw, LinkRawDLT, LinkRawOpenBSD:
		p.decodeIP(b, wire)
	case LinkIPv4:
		p.decodeIPv4(b, wire)
	case LinkIPv6:
		p.decodeIPv6(b, wire)
	default:
		p.decodeRareLink(link, b, wire)
	}
}

// decodeRareLink reads the link types that are seldom captured.
func (p *Packet) decodeRareLink(link uint16, b []byte, wire int) {
	switch link {
	case LinkPPP:
		p.decodePPP(b, wire)
	case LinkPPPHDLC:
		p.decodePPPHDLC(b, wire)
	case LinkPPPoE:
		p.decodePPPoE(b, wire)
	case LinkCiscoHDLC:
		p.decodeCiscoHDLC(b, wire)
	case LinkFrameRelay:
		p.decodeFrameRelay(b, wire)
	case LinkMPLS:
		p.decodeMPLS(b, wire)
	case LinkNFLOG:
		p.decodeNFLOG(b, wire)
	case LinkPKTAP:
		p.decodePKTAP(b, wire)
	case LinkDSA, LinkBroadcom:
		p.decodeSwitchTag(b, wire, switchTagLen)
	case LinkEDSA:
		p.decodeSwitchTag(b, wire, edsaLen)
	case LinkBroadcomPre:
		if len(b) < switchTagLen {
			p.Stop = ShortLink
			return
		}
		p.decodeEthernet(b[switchTagLen:], wire-switchTagLen)
	default:
		p.Stop = UnknownLink
	}
}

// decodeIP reads an IPv4 or IPv6 packet, whichever its version field names.
func (p *Packet) decodeIP(b []byte, wire int) {
	switch {
	case len(b) == 0:
		p.Stop = cutOrBad(ShortIP, BadIP, wire, 1)
	case b[0]>>4 == 4:
		p.decodeIPv4(b, wire)
	case b[0]>>4 == 6:
		p.decodeIPv6(b, wire)
	default:
		p.Stop = BadIP
	}
}

// cutOrBad returns the reason for a header of n bytes that is incomplete: short if
// the capture cut it, because it was on the wire, and bad if the sender did.
func cutOrBad(short, bad Stop, wire, n int) Stop {
	if wire < n {
		return bad
	}
	return short
}
