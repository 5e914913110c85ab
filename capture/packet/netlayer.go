// Package packet walks a captured frame from its link header through tags,
// labels and tunnels to the innermost UDP datagram or TCP segment. It keeps no
// state, allocates nothing and verifies no checksum; Stop names what it cannot
// read. Ports select nothing but tunnels over UDP, and those are followed
// only where the content agrees. Fragments of IP are delivered as such:
// reassembly/ipfrag joins them, reassembly/tcpstream puts TCP in order.
package packet

import "net/netip"

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
