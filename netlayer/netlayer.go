// Package netlayer walks a captured frame from its link header to UDP. It
// keeps no state, allocates nothing and follows no port table: what it cannot
// read it names in Stop. Fragments of IP are delivered as such; joining them is
// reassembly/ipfrag's work.
package netlayer

import "net/netip"

// Packet is one flat result of Decode. Which members are valid depends on Stop
// and Frag:
//
//   - OK, Frag not set: Src, Dst, Payload and Wire are a UDP datagram's.
//   - OK, Frag set: Payload is a piece of an IP payload and the ports are zero.
//     What the whole is shows after joining, so Proto is only a claim: in IPv6
//     it may be an extension header. A fragment that is the first and the last
//     at once (RFC 6946) is delivered in the same way.
//   - TCP, ICMP, OtherProto: Payload is the IP payload, the ports are zero.
//   - Otherwise there is no payload; addresses are there if the walk got to them.
//
// The length of Payload is what was captured and Wire what was sent: they differ where
// the snap length cut the frame. A header that the capture cut is a Short
// reason, one that the sender's own lengths cut is a Bad one.
type Packet struct {
	Src, Dst netip.AddrPort
	Payload  []byte // points into the frame, or into what DecodeJoined was given
	Wire     int    // length of the payload on the wire in bytes, at least len(Payload)
	Proto    uint8  // IP protocol, 0 if the walk ended before
	TTL      uint8  // or hop limit
	IPID     uint16 // IPv4 only
	Frag     Frag
	Stop     Stop
}

// Frag describes a fragment of an IP datagram.
type Frag struct {
	Set  bool   // the packet is a fragment
	More bool   // more fragments follow
	Off  uint32 // of Payload in the IP payload, bytes
	ID   uint32 // 16 bits in IPv4
}

// Stop says why the walk ended before a UDP payload. It is a closed list, so
// that every skipped packet can be counted and named.
type Stop uint8

// The reasons.
const (
	OK          Stop = iota
	UnknownLink      // link type that is not decoded
	NotIP            // ARP, LLDP, and so on
	TCP              // a TCP segment
	ICMP             // ICMP or ICMPv6
	OtherProto       // another protocol on top of IP
	ShortLink        // frame ends in the link header
	ShortIP          // ends in the IP header or its extension headers
	ShortUDP         // ends in the UDP header
	BadIP            // version, header length or total length impossible
	TooDeep          // more nested tags or extension headers than the limit
	BadUDP           // UDP length below its own header
	NumStops         // how many there are
)

var stopNames = [NumStops]string{
	"decoded", "unknown link type", "not IP", "TCP", "ICMP", "other IP protocol",
	"cut in the link header", "cut in the IP header", "cut in the UDP header",
	"impossible IP header", "nested too deep", "impossible UDP length",
}

func (s Stop) String() string { return stopNames[s] }
