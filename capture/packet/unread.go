package packet

// Unread names what the walk met and did not read: a tunnel that is not followed, or a
// protocol that is no IP. It is a closed list, so that each can be counted.
type Unread uint8

// Packets that are not read. Those up to lastTunnel may hold packets that would be decoded.
const (
	UnreadUnknown Unread = iota // no name for it
	UnreadEtherIP
	UnreadPBB
	UnreadNSH
	UnreadHSR
	UnreadTRILL
	UnreadTeredo
	UnreadGRE
	UnreadL2TP
	UnreadCAPWAP
	UnreadESP
	UnreadESPInUDP
	UnreadWireGuard
	UnreadMACsec
	UnreadMPPE
	UnreadPKTAP
	UnreadARP
	UnreadLLC
	UnreadLLDP
	UnreadLACP
	UnreadEAPOL
	UnreadPTP
	UnreadDiscovery
	UnreadPPP
	UnreadIGMP
	UnreadOSPF
	UnreadPIM
	UnreadVRRP
	UnreadSCTP
	NumUnread
	lastEncrypted  = UnreadMPPE
	firstEncrypted = UnreadESP
	lastTunnel     = UnreadMPPE
)

var unreadNames = [NumUnread]string{
	UnreadEtherIP:   "EtherIP",
	UnreadPBB:       "PBB (IEEE 802.1ah)",
	UnreadNSH:       "NSH",
	UnreadHSR:       "HSR",
	UnreadTRILL:     "TRILL",
	UnreadTeredo:    "Teredo",
	UnreadGRE:       "GRE of a form that is rare",
	UnreadL2TP:      "L2TP version 3",
	UnreadCAPWAP:    "CAPWAP",
	UnreadESP:       "ESP (IPsec)",
	UnreadESPInUDP:  "ESP (IPsec) in UDP",
	UnreadWireGuard: "WireGuard",
	UnreadMACsec:    "MACsec",
	UnreadMPPE:      "PPP, encrypted",
	UnreadPKTAP:     "PKTAP, a record that is no packet",
	UnreadARP:       "ARP",
	UnreadLLC:       "LLC",
	UnreadLLDP:      "LLDP",
	UnreadLACP:      "LACP",
	UnreadEAPOL:     "EAPOL",
	UnreadPTP:       "PTP",
	UnreadDiscovery: "PPPoE discovery",
	UnreadPPP:       "negotiation of PPP",
	UnreadIGMP:      "IGMP",
	UnreadOSPF:      "OSPF",
	UnreadPIM:       "PIM",
	UnreadVRRP:      "VRRP",
	UnreadSCTP:      "SCTP",
}

// String returns the name, "" of UnreadUnknown.
func (u Unread) String() string { return unreadNames[u] }

// IsTunnel reports whether packets may lie inside, and whether they are encrypted there.
func (u Unread) IsTunnel() (isTunnel, isEncrypted bool) {
	return u != UnreadUnknown && u <= lastTunnel, firstEncrypted <= u && u <= lastEncrypted
}

// unreadEtherType returns the name of a frame that is not IP.
func unreadEtherType(typ uint16) Unread {
	switch typ {
	case 0x0806:
		return UnreadARP
	case 0x8809:
		return UnreadLACP
	case 0x8863:
		return UnreadDiscovery
	case 0x888e:
		return UnreadEAPOL
	case 0x88cc:
		return UnreadLLDP
	case 0x88e7:
		return UnreadPBB
	case 0x88f7:
		return UnreadPTP
	case 0x892f:
		return UnreadHSR
	case 0x894f:
		return UnreadNSH
	case 0x22f3:
		return UnreadTRILL
	}
	return UnreadUnknown
}

// unreadPPP returns the name of a protocol of PPP.
func unreadPPP(proto uint16) Unread {
	const mppe = 0x00fd // also what is compressed
	switch {
	case proto == mppe:
		return UnreadMPPE
	case proto >= 0x8000: // of the links, and of the network protocols over them
		return UnreadPPP
	}
	return UnreadUnknown
}

// NotRead returns the name of what the walk met and did not read, where it ended with NotIP
// or OtherProto.
func (p *Packet) NotRead() Unread {
	if p.Stop != OtherProto {
		return p.Unread
	}
	switch p.Proto {
	case 2:
		return UnreadIGMP
	case ProtoGRE:
		return UnreadGRE
	case ProtoESP:
		return UnreadESP
	case 89:
		return UnreadOSPF
	case 97:
		return UnreadEtherIP
	case 103:
		return UnreadPIM
	case 112:
		return UnreadVRRP
	case protoL2TP:
		return UnreadL2TP
	case 132:
		return UnreadSCTP
	}
	return UnreadUnknown
}

// Ports of tunnels over UDP that are named where their first bytes agree.
const (
	portTeredo    = 3544
	portESP       = 4500
	portCAPWAP    = 5247
	portWireGuard = 51820
)

// UnreadOverUDP returns the name of a tunnel that is not read, by the ports of a datagram of
// no known protocol and the start of its payload b.
func UnreadOverUDP(src, dst uint16, b []byte) Unread {
	u := unreadPort(dst, b)
	if u == UnreadUnknown {
		u = unreadPort(src, b)
	}
	return u
}

func unreadPort(port uint16, b []byte) Unread {
	if len(b) < 8 {
		return UnreadUnknown
	}
	switch port {
	case portTeredo: // IPv6 (RFC 4380), after an authentication or an origin, or none
		if b[0]>>4 == 6 || b[0] == 0 && b[1] <= 1 {
			return UnreadTeredo
		}
	case portESP: // an index that is not zero: RFC 3948
		if b[0]|b[1]|b[2]|b[3] != 0 && [4]byte(b) != [4]byte{0xff, 0xff, 0xff, 0xff} {
			return UnreadESPInUDP
		}
	case portWireGuard:
		if 1 <= b[0] && b[0] <= 4 && b[1]|b[2]|b[3] == 0 {
			return UnreadWireGuard
		}
	case portCAPWAP: // version 0, a header without DTLS: RFC 5415
		if b[0] == 0 && b[1]>>3 >= 2 {
			return UnreadCAPWAP
		}
	case portVXLANGPE:
		if b[0]&(vxlanNetwork|gpeNext) == vxlanNetwork|gpeNext && b[3] == gpeNSH {
			return UnreadNSH
		}
	case portL2TP:
		if b[0] == 0 && b[1] == 3 {
			return UnreadL2TP
		}
	}
	return UnreadUnknown
}
