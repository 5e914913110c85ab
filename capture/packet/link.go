package packet

import (
	"encoding/binary"
	"strconv"
	"strings"
)

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

// LinkName returns the name of a LINKTYPE_ value with its number, for messages:
// "IEEE 802.11 (105)". A value without a name is "link type 999".
func LinkName(link uint16) string {
	number := strconv.Itoa(int(link))
	if firstPrivate <= link && link <= lastPrivate {
		return "private link type " + number
	}
	if name, ok := linkNames[link]; ok {
		return name + " (" + number + ")"
	}
	return "link type " + number
}

// LinkHint returns how packets of a link type that is not decoded can be read all the same.
func LinkHint(link uint16) string {
	switch {
	case link == linkExported:
		return "save packets in Wireshark, not payloads: Export Specified Packets"
	case isJuniper(link):
		return "capture at a host, or remove the header before Ethernet: editcap -C BYTES -T ether IN OUT"
	case link == 105 || link == 119 || link == 127 || link == 163:
		return "capture on the wire, or at a host: its own traffic is Ethernet there"
	}
	return "capture at a host, as Ethernet, with qsniff live or tcpdump"
}

const linkExported = 252

func isJuniper(link uint16) bool { return strings.HasPrefix(linkNames[link], "Juniper ") }

// The range that everybody may use as they like: the DLT_USER values.
const (
	firstPrivate = 147
	lastPrivate  = 162
)

// linkNames has the link types that are decoded, and those that a capture of
// another kind of network is likely to have (https://www.tcpdump.org/linktypes.html).
var linkNames = map[uint16]string{
	LinkNull:        "BSD loopback",
	LinkEthernet:    "Ethernet",
	3:               "AX.25",
	6:               "IEEE 802.5 Token Ring",
	7:               "ARCNET",
	8:               "SLIP",
	LinkPPP:         "PPP",
	10:              "FDDI",
	LinkRawDLT:      "raw IP",
	LinkRawOpenBSD:  "raw IP",
	LinkPPPHDLC:     "PPP in HDLC framing",
	LinkPPPoE:       "PPPoE",
	99:              "Symantec firewall",
	100:             "ATM RFC 1483",
	LinkRaw:         "raw IP",
	LinkCiscoHDLC:   "Cisco HDLC",
	105:             "IEEE 802.11",
	LinkFrameRelay:  "Frame Relay",
	LinkLoop:        "OpenBSD loopback",
	LinkLinuxSLL:    "Linux cooked",
	114:             "LocalTalk",
	117:             "OpenBSD pf log",
	119:             "IEEE 802.11 with Prism header",
	122:             "IP over Fibre Channel",
	123:             "SunATM",
	127:             "IEEE 802.11 with radiotap header",
	129:             "Linux ARCNET",
	130:             "Juniper MLPPP",
	131:             "Juniper MLFR",
	132:             "Juniper encryption services",
	133:             "Juniper GGSN",
	134:             "Juniper MFR",
	135:             "Juniper ATM2",
	136:             "Juniper services",
	137:             "Juniper ATM1",
	138:             "IP over IEEE 1394",
	143:             "DOCSIS",
	144:             "Linux IrDA",
	163:             "IEEE 802.11 with AVS header",
	166:             "PPP with direction, pppd",
	169:             "GPRS LLC",
	177:             "Linux LAPD",
	178:             "Juniper Ethernet",
	179:             "Juniper PPP",
	180:             "Juniper Frame Relay",
	181:             "Juniper CHDLC",
	187:             "Bluetooth HCI H4",
	189:             "Linux USB",
	192:             "PPI",
	194:             "Juniper VoIP",
	195:             "IEEE 802.15.4 with check sequence",
	197:             "Endace ERF",
	200:             "Juniper virtual services",
	201:             "Bluetooth HCI H4 with direction",
	204:             "PPP with direction",
	205:             "Cisco HDLC with direction",
	206:             "Frame Relay with direction",
	215:             "IEEE 802.15.4, non-ASK",
	LinkMPLS:        "MPLS",
	220:             "Linux USB, memory-mapped",
	224:             "Fibre Channel FC-2",
	226:             "Solaris IPNET",
	227:             "CAN",
	LinkIPv4:        "IPv4",
	LinkIPv6:        "IPv6",
	230:             "IEEE 802.15.4",
	231:             "D-Bus",
	LinkNFLOG:       "Linux NFLOG",
	240:             "netANALYZER",
	242:             "IP over InfiniBand",
	243:             "MPEG-2 transport stream",
	247:             "InfiniBand",
	248:             "SCTP",
	249:             "USBPcap",
	251:             "Bluetooth Low Energy",
	linkExported:    "payloads exported by Wireshark, without packets",
	253:             "Linux netlink",
	254:             "Bluetooth monitor",
	256:             "Bluetooth Low Energy with PHY header",
	LinkPKTAP:       "Apple PKTAP",
	259:             "Ethernet passive optical network",
	266:             "macOS USB",
	272:             "nRF sniffer",
	274:             "Ethernet mPackets",
	LinkLinuxSLL2:   "Linux cooked v2",
	LinkBroadcom:    "Ethernet with Broadcom tag",
	LinkBroadcomPre: "Ethernet after Broadcom tag",
	283:             "IEEE 802.15.4 with TAP header",
	LinkDSA:         "Ethernet with DSA tag",
	LinkEDSA:        "Ethernet with EDSA tag",
	288:             "USB 2.0",
}

// Headers that no wire has: a capturing system makes them.

// Header lengths, and offsets of the protocol in the cooked headers, in bytes.
const (
	loopbackLen     = 4
	sllLen          = 16
	sllProtocolOff  = 14
	sll2Len         = 20
	sll2ProtocolOff = 0

	cookedLLC = 0x0004 // ETH_P_802_2, in place of an EtherType: LLC without its length
)

// Address families in a loopback header. Systems gave IPv6 different numbers.
const (
	afInet         = 2
	afInet6Linux   = 10
	afInet6BSD     = 24 // NetBSD, OpenBSD
	afInet6FreeBSD = 28
	afInet6Darwin  = 30
)

// The header of LINKTYPE_NFLOG: family, version and a number, then attributes
// of length, type and value, padded to 4 bytes (Linux nfnetlink_log.h).
const (
	nflogLen       = 4
	nflogAttribute = 4
	nflogPayload   = 9 // NFULA_PAYLOAD
)

// The header of LINKTYPE_PKTAP (XNU's bsd/net/pktap.h), of which only the start is fixed.
// Its numbers are in the byte order of the capturing host: all of Apple's are
// little-endian today.
const (
	pktapLen    = 12 // length of all of the header, kind of record, link type of what follows
	pktapPacket = 1
)

// decodeCooked reads a Linux cooked header of n bytes with its protocol at off. The
// protocol may be a VLAN tag: libpcap puts back the one that the kernel took off.
func (p *Packet) decodeCooked(b []byte, wire, n, off int) {
	if len(b) < n {
		p.Stop = ShortLink
		return
	}
	typ := binary.BigEndian.Uint16(b[off:])
	b, wire = b[n:], wire-n
	switch typ {
	case etherIPv4, etherIPv6:
		if off := innerTag(typ, b, wire); off >= 0 {
			typ, b, wire = etherTag, b[off:], wire-off
		}
	case cookedLLC:
		p.decodeLLC(b, wire)
		return
	}
	p.decodeEtherType(typ, b, wire)
}

// innerTag returns where the content of an 802.1Q tag begins in b, which should be IP and
// is not: after the EtherType of the tag, or at once. -1: no tag is there. Linux takes the
// outer tag of a packet off and names what follows the last one, so a second tag stays.
func innerTag(typ uint16, b []byte, wire int) int {
	version := byte(4)
	if typ == etherIPv6 {
		version = 6
	}
	if len(b) == 0 || b[0]>>4 == version && (len(b) < ipv4MinLen || isPlausibleIP(b, wire)) {
		return -1
	}
	for off := 0; off <= 2 && len(b) > off+tagLen; off += 2 {
		isTag := off == 0
		if !isTag {
			switch binary.BigEndian.Uint16(b) {
			case etherTag, etherQinQ, etherOld:
				isTag = true
			}
		}
		if isTag && binary.BigEndian.Uint16(b[off+2:]) == typ && b[off+tagLen]>>4 == version {
			return off
		}
	}
	return -1
}

// decodeLoopback reads the family of a loopback header in either byte order, for
// both link types: files are read on other hosts than they were written on. No
// family reaches 256, so the order is known by which half is zero.
func (p *Packet) decodeLoopback(b []byte, wire int) {
	if len(b) < loopbackLen {
		p.Stop = ShortLink
		return
	}
	family := binary.LittleEndian.Uint32(b)
	if family > 0xffff {
		family = binary.BigEndian.Uint32(b)
	}
	b, wire = b[loopbackLen:], wire-loopbackLen
	switch family {
	case afInet:
		p.decodeIPv4(b, wire)
	case afInet6Linux, afInet6BSD, afInet6FreeBSD, afInet6Darwin:
		p.decodeIPv6(b, wire)
	default:
		p.Stop = NotIP
	}
}

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

// decodePKTAP reads a header of Apple's PKTAP and the frame after it, whose link type it
// names by its DLT_ value. Those that are decoded have the same LINKTYPE_ value.
func (p *Packet) decodePKTAP(b []byte, wire int) {
	if len(b) < pktapLen {
		p.Stop = ShortLink
		return
	}
	var order binary.ByteOrder = binary.LittleEndian
	if b[0] == 0 && b[1] == 0 {
		order = binary.BigEndian
	}
	n, kind, link := int(order.Uint32(b)), order.Uint32(b[4:]), order.Uint32(b[8:])
	switch {
	case n < pktapLen || n > wire:
		p.Stop = BadLink
	case kind != pktapPacket:
		p.Stop, p.Unread = NotIP, UnreadPKTAP
	case link > 0xffff || uint16(link) == LinkPKTAP:
		p.Stop = UnknownLink
	case len(b) < n:
		p.Stop = ShortLink
	default:
		p.decodeLink(uint16(link), b[n:], wire-n)
	}
}

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

// limit: maxAttributes is how many attributes the header of one NFLOG packet may
// have. Linux defines about twenty; chosen: three times as many, for later ones.
const maxAttributes = 64
