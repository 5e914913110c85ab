package packet

import (
	"encoding/binary"
	"net/netip"
)

// Quote is an ICMP error and the packet that it is about: the one that Src sent to
// Dst and that was not delivered, or not as it was sent.
type Quote struct {
	Set        bool // the packet is an error and quotes an IP header at least
	Type, Code uint8
	Reason     Reason
	MTU        uint32         // of the link that TooBig is about, bytes; 0 if not stated
	Src, Dst   netip.AddrPort // the ports are 0 if they were not quoted
	Proto      uint8
	TTL        uint8  // left at the router, or hop limit
	IPID       uint16 // IPv4 only
	// Payload is the part of a UDP datagram's payload that is quoted and was
	// captured, Wire the length of the whole payload when it was sent, in bytes.
	// Payload points into the frame, as Packet.Payload does.
	Payload []byte
	Wire    int
}

// Reason is what an ICMP error of either version reports.
type Reason uint8

// The reasons. Each has one name for all types and codes that mean it.
const (
	OtherError        Reason = iota
	NetUnreachable           // no route, network unknown
	HostUnreachable          // or address unreachable, host unknown
	ProtoUnreachable         // or next header unrecognised
	PortUnreachable          // no program listens, or a firewall answers so
	TooBig                   // fragmentation needed; in IPv6 packet too big
	SourceRouteFailed        // a hop that the sender named cannot be reached
	Prohibited               // a firewall or policy
	TimeExceeded             // hops ran out
	NotReassembled           // fragments were missing
	BadHeader                // parameter problem
	SourceQuench             // slow down; obsolete (RFC 6633)
	Redirect                 // there is a better way; the packet was forwarded
	NumReasons               // number of reasons
)

var reasonNames = [NumReasons]string{
	OtherError:        "other error",
	NetUnreachable:    "network unreachable",
	HostUnreachable:   "host unreachable",
	ProtoUnreachable:  "protocol unreachable",
	PortUnreachable:   "port unreachable",
	TooBig:            "fragmentation needed",
	SourceRouteFailed: "source route failed",
	Prohibited:        "administratively prohibited",
	TimeExceeded:      "time exceeded",
	NotReassembled:    "reassembly time exceeded",
	BadHeader:         "parameter problem",
	SourceQuench:      "source quench",
	Redirect:          "redirect",
}

func (r Reason) String() string { return reasonNames[r] }

// Types of ICMP errors (RFC 792) and ICMPv6 errors (RFC 4443).
const (
	icmpUnreachable  = 3
	icmpSourceQuench = 4
	icmpRedirect     = 5
	icmpTimeExceeded = 11
	icmpBadHeader    = 12

	icmp6Unreachable  = 1
	icmp6TooBig       = 2
	icmp6TimeExceeded = 3
	icmp6BadHeader    = 4

	icmpLen = 8

	// quotedWire is given for the length on the wire of a quoted packet, of which
	// the error has only the start: it is so long that its IP header decides.
	quotedWire = 65_535 + ipv6Len
)

// Codes of ICMP type 3, RFC 792, RFC 1122 section 3.2.2.1 and RFC 1812 section
// 5.2.7.1, and of ICMPv6 type 1, RFC 4443 section 3.1.
var (
	unreachable4 = [...]Reason{
		NetUnreachable, HostUnreachable, ProtoUnreachable, PortUnreachable, TooBig, SourceRouteFailed,
		NetUnreachable, HostUnreachable, HostUnreachable, // unknown network, unknown host, isolated host
		Prohibited, Prohibited, // network, host
		NetUnreachable, HostUnreachable, // for this type of service
		Prohibited, Prohibited, Prohibited, // filter, precedence violated, precedence too low
	}
	unreachable6 = [...]Reason{
		NetUnreachable, Prohibited, NetUnreachable, HostUnreachable, PortUnreachable,
		Prohibited, Prohibited, SourceRouteFailed, // source address policy, reject route, source routing header
	}
)

// Quote reads the packet that an ICMP or ICMPv6 error quotes. Set is false if p
// is no error (Stop is not ICMP, or it is an echo or Neighbor Discovery) or if the
// quoted IP header is cut or impossible. Tunnels in the quote are not followed:
// rarely more than their header is quoted.
func (p *Packet) Quote() Quote {
	if p.Stop != ICMP || len(p.Payload) < icmpLen {
		return Quote{}
	}
	b := p.Payload
	q := Quote{Type: b[0], Code: b[1]}
	in := Packet{Depth: maxWays} // no more ways in
	if p.Proto == ProtoICMP {
		words, ok := q.readError4(b)
		if !ok {
			return Quote{}
		}
		in.decodeIPv4(quotedPacket(b, int(words)*4), quotedWire)
	} else {
		words, ok := q.readError6(b)
		if !ok {
			return Quote{}
		}
		in.decodeIPv6(quotedPacket(b, int(words)*8), quotedWire)
	}
	if !in.Src.IsValid() {
		return Quote{}
	}
	if in.Frag.Set && in.Frag.Off == 0 {
		in.decodeTransport(in.Payload, in.Wire)
	}
	q.Set, q.Src, q.Dst, q.Proto, q.TTL, q.IPID = true, in.Src, in.Dst, in.Proto, in.TTL, in.IPID
	if in.Proto == ProtoUDP && in.Stop == OK && in.Frag.Off == 0 {
		q.Payload, q.Wire = in.Payload, in.Wire
	}
	return q
}

// quotedPacket returns what follows the header of the ICMP error b, up to length
// bytes: there the extensions of RFC 4884 begin. A length of 0 is all of it.
func quotedPacket(b []byte, length int) []byte {
	b = b[icmpLen:]
	if length != 0 {
		b = b[:min(len(b), length)]
	}
	return b
}

// readError4 reads the header of an ICMP error: its reason, and the length of the
// quote in words of 4 bytes, 0 if it states none. ok is false if it is no error.
func (q *Quote) readError4(b []byte) (words uint8, ok bool) {
	switch q.Type {
	case icmpUnreachable:
		if int(q.Code) < len(unreachable4) {
			q.Reason = unreachable4[q.Code]
		}
		if q.Reason == TooBig {
			q.MTU = uint32(binary.BigEndian.Uint16(b[6:])) // RFC 1191
		}
		return b[5], true
	case icmpTimeExceeded:
		q.Reason = timeExceededReason(q.Code)
		return b[5], true
	case icmpBadHeader:
		q.Reason = BadHeader
		return b[5], true
	case icmpSourceQuench:
		q.Reason = SourceQuench
		return 0, true
	case icmpRedirect:
		q.Reason = Redirect
		return 0, true
	}
	return 0, false
}

// readError6 is readError4 for ICMPv6, with words of 8 bytes.
func (q *Quote) readError6(b []byte) (words uint8, ok bool) {
	switch q.Type {
	case icmp6Unreachable:
		if int(q.Code) < len(unreachable6) {
			q.Reason = unreachable6[q.Code]
		}
		return b[4], true
	case icmp6TooBig:
		q.Reason, q.MTU = TooBig, binary.BigEndian.Uint32(b[4:])
		return 0, true
	case icmp6TimeExceeded:
		q.Reason = timeExceededReason(q.Code)
		return b[4], true
	case icmp6BadHeader:
		q.Reason = BadHeader
		if q.Code == 1 { // unrecognised next header: all that RFC 4443 has for it
			q.Reason = ProtoUnreachable
		}
		return 0, true
	}
	return 0, false
}

// timeExceededReason returns the meaning of a code of "time exceeded", which is the
// same in both versions.
func timeExceededReason(code uint8) Reason {
	switch code {
	case 0:
		return TimeExceeded
	case 1:
		return NotReassembled
	}
	return OtherError
}
