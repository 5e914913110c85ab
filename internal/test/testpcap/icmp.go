package testpcap

import (
	"fmt"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// icmpError is a parsed @ icmp.
type icmpError struct{ typ, code uint8 }

// quoteLimit is how much of a packet an error quotes, in bytes: with the
// headers before the quote it fits the 576 bytes that every host must accept (RFC 1812
// section 4.3.2.3). ICMPv6 quotes more; the same serves both here.
const quoteLimit = 548

func parseICMP(args []string) (*icmpError, error) {
	if len(args) != 2 {
		return nil, fmt.Errorf("%d arguments, want 2: type and code", len(args))
	}
	typ, err := parseNumber(args[0], 0, 255)
	if err != nil {
		return nil, err
	}
	code, err := parseNumber(args[1], 0, 255)
	return &icmpError{uint8(typ), uint8(code)}, err
}

// answer returns the error that the destination of packet, one of d's, sends back.
func (e icmpError) answer(packet []byte, d Datagram) ([]byte, error) {
	d.Src, d.Dst = d.Dst, d.Src
	quote := gopacket.Payload(packet[:min(len(packet), quoteLimit)])
	if d.Src.Addr().Is4() {
		header := &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(e.typ, e.code)}
		body, err := serialize(header, quote)
		if err != nil {
			return nil, err
		}
		return d.serializePacket(layers.IPProtocolICMPv4, body)
	}
	header := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(e.typ, e.code)}
	if err := header.SetNetworkLayerForChecksum(d.header6(layers.IPProtocolICMPv6)); err != nil {
		return nil, err
	}
	// The second word of the header is not part of gopacket's layer.
	body, err := serialize(header, gopacket.Payload([]byte{0, 0, 0, 0}), quote)
	if err != nil {
		return nil, err
	}
	return d.serializePacket(layers.IPProtocolICMPv6, body)
}
