package packet

import (
	"strconv"
	"strings"
)

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
