package packet

import "net/netip"

// Way is one way into a packet: a tag, a label stack, a session or a tunnel.
type Way struct {
	Kind WayKind
	// ID is the VLAN identifier, the PPPoE session, the label at the bottom of
	// the MPLS stack, the GRE key (NVGRE: subnet in the upper 24 bits), the
	// ERSPAN session, the VXLAN or Geneve network, the GTP-U endpoint, the call
	// of PPTP, the session of L2TP, the tunnel of EoIP, the association number of
	// MACsec, the whole tag of a switch, the source
	// of an sFlow sample; 0 if there is none.
	ID uint32
	// Src and Dst are the ends of a tunnel over IP, with ports if it is over
	// UDP. They are not valid in the other kinds.
	Src, Dst netip.AddrPort
}

// Ways is room for all the ways into one packet.
type Ways [maxWays]Way

// WayKind is what a Way is.
type WayKind uint8

// The kinds.
const (
	WayVLAN     WayKind = iota // IEEE 802.1Q, 802.1ad
	WayPPPoE                   // RFC 2516
	WayMPLS                    // RFC 3032, one for the whole stack
	WayGRE                     // RFC 2784, RFC 2890, NVGRE (RFC 7637)
	WayERSPAN                  // types I, II and III
	WayVXLAN                   // RFC 7348
	WayGeneve                  // RFC 8926
	WayGTPU                    // 3GPP TS 29.281
	WayIPinIP                  // RFC 2003, RFC 4213, RFC 2473: either version in either
	WayTZSP                    // mirrors of Mikrotik and of access points
	WayPPTP                    // RFC 2637, GRE version 1
	WayL2TP                    // RFC 2661, RFC 3931
	WayEoIP                    // Mikrotik, over GRE
	WayGUE                     // draft-ietf-intarea-gue, and Linux's FOU, which has no header
	WayMACsec                  // IEEE 802.1AE, not encrypted
	WaySwitch                  // tags of switch chips: DSA, EDSA, Broadcom
	WaySFlow                   // version 5: a sample in a datagram to a collector
	WayProxy                   // a header before the payload, see ParseProxyHeader; the caller believes it
	NumWayKinds                // number of kinds
)

var wayNames = [NumWayKinds]string{
	"VLAN", "PPPoE", "MPLS", "GRE", "ERSPAN", "VXLAN", "Geneve", "GTP-U", "IP in IP",
	"TZSP", "PPTP", "L2TP", "EoIP", "GUE", "MACsec", "switch tag", "sFlow", "proxy",
}

func (k WayKind) String() string { return wayNames[k] }

// Ways are the ways into p, outermost first: none if p.Outer was not set before
// Decode. They are valid until what p.Outer points to is written again.
func (p *Packet) Ways() []Way {
	if p.Outer == nil {
		return nil
	}
	return p.Outer[:p.Depth]
}

// enter appends one more way in and clears the addresses, Proto, TTL and IPID,
// which from here on are the inner packet's. At maxWays it sets Stop to TooDeep
// and returns false. Every header that can contain another of its kind is
// entered through it, so that the walk ends.
func (p *Packet) enter(k WayKind, id uint32) bool {
	if p.Depth == maxWays {
		p.Stop = TooDeep
		return false
	}
	if p.Outer != nil {
		p.Outer[p.Depth] = Way{Kind: k, ID: id, Src: p.Src, Dst: p.Dst}
	}
	p.Depth++
	p.Src, p.Dst = netip.AddrPort{}, netip.AddrPort{}
	p.Proto, p.TTL, p.IPID = 0, 0, 0
	return true
}
