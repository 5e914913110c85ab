package testpcap

import (
	"fmt"
	"net/netip"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// Flags are the control bits of a TCP header (RFC 9293 section 3.1).
type Flags uint8

// The control bits that connections here use.
const (
	FIN Flags = 1 << iota
	SYN
	RST
	PSH
	ACK
)

const tcpHeaderLen = 20 // without options

// Segment is one TCP segment to be sent. Both addresses are of one family.
type Segment struct {
	Src, Dst netip.AddrPort
	TTL      uint8  // hop limit in IPv6
	ID       uint32 // identification in IPv4, which uses the low 16 bits
	Seq, Ack uint32
	Flags    Flags
	MSS      uint16 // option of a SYN: the longest payload that the sender accepts; 0 leaves it out
	Payload  []byte
}

// IP returns s as one IP packet, never fragmented. Checksums are right. Errors
// are addresses of two families and a payload that no packet holds.
func (s Segment) IP() ([]byte, error) {
	d := Datagram{Src: s.Src, Dst: s.Dst, TTL: s.TTL, ID: s.ID}
	v4 := s.Src.Addr().Is4()
	if v4 != s.Dst.Addr().Is4() {
		return nil, fmt.Errorf("%v to %v: addresses of two families", s.Src, s.Dst)
	}
	if len(s.Payload) > maxSegment {
		return nil, fmt.Errorf("segment of %d bytes above the limit of %d", len(s.Payload), maxSegment)
	}
	header := s.header()
	var network gopacket.NetworkLayer = d.header6(layers.IPProtocolTCP)
	if v4 {
		network = d.header4()
	}
	if err := header.SetNetworkLayerForChecksum(network); err != nil {
		return nil, err
	}
	body, err := serialize(header, gopacket.Payload(s.Payload))
	if err != nil {
		return nil, err
	}
	return d.serializePacket(layers.IPProtocolTCP, body)
}

func (s Segment) header() *layers.TCP {
	header := &layers.TCP{
		SrcPort: layers.TCPPort(s.Src.Port()),
		DstPort: layers.TCPPort(s.Dst.Port()),
		Seq:     s.Seq,
		Ack:     s.Ack,
		Window:  window,
		FIN:     s.Flags&FIN != 0,
		SYN:     s.Flags&SYN != 0,
		RST:     s.Flags&RST != 0,
		PSH:     s.Flags&PSH != 0,
		ACK:     s.Flags&ACK != 0,
	}
	if s.MSS != 0 {
		header.Options = []layers.TCPOption{{
			OptionType:   layers.TCPOptionKindMSS,
			OptionLength: 4,
			OptionData:   []byte{byte(s.MSS >> 8), byte(s.MSS)},
		}}
	}
	return header
}

// limit: maxSegment is the longest TCP payload, over IPv4; over IPv6 the MTU, which
// has 16 bits here, leaves less.
const maxSegment = 65_535 - ipv4HeaderLen - tcpHeaderLen

// limit: window is what every segment offers: 44 segments of 1,460 bytes, as Linux
// does at first.
const window = 64_240
