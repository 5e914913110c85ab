// Package packet walks a captured frame from its link header through tags,
// labels and tunnels to the innermost UDP datagram or TCP segment. It keeps no
// state, allocates nothing and verifies no checksum; Stop names what it cannot
// read. Ports select nothing but tunnels over UDP, and those are followed
// only where the content agrees. Fragments of IP are delivered as such:
// reassembly/ipfrag joins them, reassembly/tcpstream puts TCP in order.
package packet

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// Packet is one flat result of Decode. Which members are valid depends on Stop
// and Frag:
//
//   - OK, Frag not set: Src, Dst, Payload and Wire are a UDP datagram's.
//   - OK, Frag set: Payload is a fragment of an IP payload and the ports are zero.
//     What the whole is shows after joining, so Proto is only a claim: in IPv6
//     it may be an extension header. A fragment that is the first and the last
//     at once (RFC 6946) is delivered in the same way.
//   - TCP: Src, Dst, Payload and Wire are a segment's, and TCP is its header.
//   - ICMP, OtherProto: Payload is the IP payload, the ports are zero. Quote
//     reads what an ICMP error is about.
//   - Otherwise there is no payload; addresses are valid if the walk got to them.
//
// Inside a tunnel all of this is the inner packet's; Outer has what lies around
// it. The length of Payload is what was captured and Wire what was sent: they
// differ where the snap length, or a mirror port that marks what it truncates,
// cut the frame. A header that the capture cut is a Short reason, one that the
// sender's own lengths cut is a Bad one.
type Packet struct {
	Src, Dst netip.AddrPort
	Payload  []byte // points into the frame, or into what DecodeJoined was given
	Wire     int    // length of the payload on the wire in bytes, at least len(Payload)
	Proto    uint8  // IP protocol, 0 if the walk ended before
	TTL      uint8  // or hop limit
	IPID     uint16 // IPv4 only
	Frag     Frag
	Stop     Stop
	Unread   Unread // with NotIP: what stands there instead, if it is known
	Misfit   bool   // the length in the UDP header does not fit the IP packet: Linux drops it
	Depth    uint8  // how many tags, label stacks, sessions and tunnels lie around the packet
	TCP      TCPHeader

	// Outer is where Decode writes the ways in, outermost first, if the caller
	// sets it; it is the caller's, and Decode keeps the pointer. The first
	// Depth of its elements are valid. They are not part of Packet because few
	// packets have any, each takes 72 bytes, and a Packet is copied often.
	Outer *Ways

	// Trace is where Decode writes the headers that it reads, if the caller sets it, for
	// those who change them. It is the caller's, and few set it.
	Trace *Trace
}

// Frag describes a fragment of an IP datagram.
type Frag struct {
	Set  bool   // the packet is a fragment
	More bool   // more fragments follow
	Off  uint32 // of Payload in the IP payload, bytes
	ID   uint32 // 16 bits in IPv4
}

// Stop is why the walk ended before a UDP payload. It is a closed list, so
// that every packet that is not decoded can be counted and named.
type Stop uint8

// The reasons.
const (
	OK          Stop = iota
	UnknownLink      // link type that is not decoded
	NotIP            // ARP, LLDP, PPP negotiation, and so on
	TCP              // a TCP segment: TCP has its header, Payload its data
	ICMP             // ICMP or ICMPv6
	OtherProto       // another protocol on top of IP, a tunnel that is not followed
	ShortLink        // frame ends in the link header, or in a tag or label after it
	ShortTunnel      // ends in the header of a tunnel
	ShortIP          // ends in the IP header or its extension headers
	ShortTCP         // ends in the TCP header, before its options
	ShortUDP         // ends in the UDP header
	BadLink          // link header contradicts its specification
	BadTunnel        // tunnel header does not fit into its packet, or contradicts its version
	BadIP            // version, header length or total length impossible
	BadTCP           // TCP header length below the minimum or beyond the segment
	BadUDP           // UDP length below its own header
	TooDeep          // more tags, labels, tunnels or headers of one kind than the limit
	NumStops         // number of reasons
)

var stopNames = [NumStops]string{
	OK:          "decoded",
	UnknownLink: "unknown link type",
	NotIP:       "not IP",
	TCP:         "TCP",
	ICMP:        "ICMP",
	OtherProto:  "other IP protocol",
	ShortLink:   "cut in the link header",
	ShortTunnel: "cut in a tunnel header",
	ShortIP:     "cut in the IP header",
	ShortTCP:    "cut in the TCP header",
	ShortUDP:    "cut in the UDP header",
	BadLink:     "impossible link header",
	BadTunnel:   "impossible tunnel header",
	BadIP:       "impossible IP header",
	BadTCP:      "impossible TCP header",
	BadUDP:      "impossible UDP length",
	TooDeep:     "nested too deep",
}

func (s Stop) String() string { return stopNames[s] }

// Three odd numbers without structure: the fractions of the golden ratio and of
// the square roots of 2 and 3, to 64 bits.
const (
	keyA = 0x9e3779b97f4a7c15
	keyB = 0x6a09e667f3bcc909
	keyC = 0xbb67ae8584caa73b
)

// Partition returns a number below Partitions that depends on the two addresses
// alone, not on their order and not on the ports: both directions of a pair get
// the same number, and so do its datagrams and its fragments, which have no
// ports. An ICMP error gets that of the packet that it quotes, whoever sent the
// error. The hash has no seed, since a file must give the same evictions and so
// the same output every time.
func (p *Packet) Partition() uint8 { return uint8(p.PairHash() % Partitions) }

// PairHash returns the hash of the two addresses by whose lowest bits Partition goes.
func (p *Packet) PairHash() uint64 {
	src, dst := p.Src.Addr(), p.Dst.Addr()
	if p.Stop == ICMP {
		if q := p.Quote(); q.Set {
			src, dst = q.Src.Addr(), q.Dst.Addr()
		}
	}
	sum := hashAddr(src) + hashAddr(dst)
	return foldProduct(sum^keyA, keyC)
}

// hashAddr hashes one address. It does without As16 for IPv4: putting the 16
// bytes together and reading them again takes longer than the rest of the hash.
func hashAddr(a netip.Addr) uint64 {
	if a.Is4() {
		b := a.As4()
		return foldProduct(uint64(binary.BigEndian.Uint32(b[:]))^keyA, keyB)
	}
	b := a.As16()
	return foldProduct(binary.BigEndian.Uint64(b[:8])^keyA, binary.BigEndian.Uint64(b[8:])^keyB)
}

// foldProduct multiplies to 128 bits and combines the halves by exclusive or, so
// that every bit of the result depends on every bit of both factors.
func foldProduct(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

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

// Trace lists the headers of a frame whose bytes can be changed in place: addresses and
// checksums. A header that Decode could not read is not in it.
type Trace struct {
	n       int
	headers [maxHeaders]Header
}

// Header is a header of a frame together with what follows it in its packet: B points into
// the frame that was decoded, and ends where the packet does, or where the capture cut it.
type Header struct {
	Kind HeaderKind
	B    []byte
}

// HeaderKind is what a Header is.
type HeaderKind uint8

// The kinds.
const (
	HeaderEthernet HeaderKind = iota
	HeaderIPv4
	HeaderIPv6
	HeaderUDP
	HeaderTCP
)

// Headers lists the headers, outermost first, until the next Decode.
func (t *Trace) Headers() []Header { return t.headers[:t.n] }

// trace adds a header to p.Trace, if the caller of Decode wants them. Of more than
// maxHeaders, which no walk has, the innermost are not added.
func (p *Packet) trace(k HeaderKind, b []byte) {
	if t := p.Trace; t != nil && t.n < len(t.headers) {
		t.headers[t.n] = Header{k, b}
		t.n++
	}
}

// A packet beyond a limit of this package ends the walk with TooDeep, which is counted
// like every other Stop.
const (
	// limit: maxWays is how many tags, label stacks, sessions and tunnels may lie
	// around one packet, in all. A mirrored frame (ERSPAN) of an overlay
	// network (VXLAN) is three frames; with the two tags of IEEE 802.1ad on
	// each, that is eight ways in.
	maxWays = 8

	// limit: maxHeaders is how many headers a Trace has: in each way in, and in the packet itself,
	// there are at most an Ethernet, an IP and a transport header.
	maxHeaders = 3 * (maxWays + 1)
)

// limit: Partitions is how many values Partition returns. It never depends on the
// machine, because which packets share a table decides what is evicted.
const Partitions = 16
