package packet

import (
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
