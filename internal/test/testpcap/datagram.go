package testpcap

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

const (
	ipv4HeaderLen     = 20
	ipv6HeaderLen     = 40
	udpHeaderLen      = 8
	fragmentHeaderLen = 8 // IPv6 extension header, RFC 8200 4.5
	fragmentUnit      = 8 // fragment offsets count 8 bytes
)

// Datagram is one UDP datagram to be sent. Both addresses are of one family.
type Datagram struct {
	Src, Dst netip.AddrPort
	TTL      uint8  // hop limit in IPv6
	ID       uint32 // identification of its fragments; IPv4 uses the low 16 bits, always
	Payload  []byte
}

// IP returns d as IP packets of at most mtu bytes: one, or its fragments in
// order. An mtu of 0 does not limit. Checksums are right. Errors are addresses
// of two families, a payload that no datagram holds, and an mtu too small.
func (d Datagram) IP(mtu int) ([][]byte, error) {
	v4 := d.Src.Addr().Is4()
	if v4 != d.Dst.Addr().Is4() {
		return nil, fmt.Errorf("%v to %v: addresses of two families", d.Src, d.Dst)
	}
	limit := maxUDPv6
	if v4 {
		limit = maxUDPv4
	}
	if len(d.Payload) > limit {
		return nil, fmt.Errorf("payload of %d bytes above the limit of %d", len(d.Payload), limit)
	}
	if mtu != 0 && mtu < minMTU {
		return nil, fmt.Errorf("mtu %d below the minimum of %d", mtu, minMTU)
	}
	segment, err := d.serializeUDP()
	if err != nil {
		return nil, err
	}
	if v4 {
		return d.fragments4(segment, mtu)
	}
	return d.fragments6(segment, mtu)
}

// Frame returns d as one unfragmented packet after link's header. It is the
// short form for tests with well-formed arguments and panics on others.
func (d Datagram) Frame(link Link) []byte {
	packets, err := d.IP(0)
	if err != nil {
		panic(err)
	}
	return link.Frame(packets[0], true)
}

// serializeUDP returns the UDP header and payload with the checksum over d's addresses.
func (d Datagram) serializeUDP() ([]byte, error) {
	header := &layers.UDP{SrcPort: layers.UDPPort(d.Src.Port()), DstPort: layers.UDPPort(d.Dst.Port())}
	var network gopacket.NetworkLayer = d.header6(layers.IPProtocolUDP)
	if d.Src.Addr().Is4() {
		network = d.header4()
	}
	if err := header.SetNetworkLayerForChecksum(network); err != nil {
		return nil, err
	}
	segment, err := serialize(header, gopacket.Payload(d.Payload))
	if err != nil {
		return nil, err
	}
	// A checksum that computes to 0 is sent as its other form, because 0 means
	// that there is none (RFC 768), which IPv6 forbids. gopacket leaves it at 0.
	if checksum := segment[6:udpHeaderLen]; checksum[0] == 0 && checksum[1] == 0 {
		checksum[0], checksum[1] = 0xff, 0xff
	}
	return segment, nil
}

// serializePacket returns one IP packet with d's addresses and with body, of protocol
// proto, in place of UDP.
func (d Datagram) serializePacket(proto layers.IPProtocol, body []byte) ([]byte, error) {
	if !d.Src.Addr().Is4() {
		return serialize(d.header6(proto), gopacket.Payload(body))
	}
	header := d.header4()
	header.Protocol = proto
	return serialize(header, gopacket.Payload(body))
}

func (d Datagram) header4() *layers.IPv4 {
	return &layers.IPv4{
		Version:  4,
		TTL:      d.TTL,
		Id:       uint16(d.ID),
		Protocol: layers.IPProtocolUDP,
		SrcIP:    d.Src.Addr().AsSlice(),
		DstIP:    d.Dst.Addr().AsSlice(),
	}
}

func (d Datagram) header6(next layers.IPProtocol) *layers.IPv6 {
	return &layers.IPv6{
		Version:    6,
		HopLimit:   d.TTL,
		NextHeader: next,
		SrcIP:      d.Src.Addr().AsSlice(),
		DstIP:      d.Dst.Addr().AsSlice(),
	}
}

func (d Datagram) fragments4(segment []byte, mtu int) ([][]byte, error) {
	var out [][]byte
	for _, piece := range cut(segment, mtu-ipv4HeaderLen) {
		header := d.header4()
		header.FragOffset = uint16(piece.off / fragmentUnit)
		if piece.more {
			header.Flags = layers.IPv4MoreFragments
		}
		packet, err := serialize(header, gopacket.Payload(piece.data))
		if err != nil {
			return nil, err
		}
		out = append(out, packet)
	}
	return out, nil
}

func (d Datagram) fragments6(segment []byte, mtu int) ([][]byte, error) {
	if mtu == 0 || ipv6HeaderLen+len(segment) <= mtu {
		packet, err := serialize(d.header6(layers.IPProtocolUDP), gopacket.Payload(segment))
		return [][]byte{packet}, err
	}
	var out [][]byte
	for _, piece := range cut(segment, mtu-ipv6HeaderLen-fragmentHeaderLen) {
		// gopacket has no serializer for this header.
		body := []byte{byte(layers.IPProtocolUDP), 0}
		field := uint16(piece.off)
		if piece.more {
			field |= 1
		}
		body = binary.BigEndian.AppendUint16(body, field)
		body = binary.BigEndian.AppendUint32(body, d.ID)
		body = append(body, piece.data...)
		packet, err := serialize(d.header6(layers.IPProtocolIPv6Fragment), gopacket.Payload(body))
		if err != nil {
			return nil, err
		}
		out = append(out, packet)
	}
	return out, nil
}

// piece is the part of an IP payload that one fragment holds.
type piece struct {
	off  int
	data []byte
	more bool
}

// cut divides b into pieces of at most room bytes, all but the last a multiple
// of fragmentUnit long. A negative room does not limit.
func cut(b []byte, room int) []piece {
	if room < 0 || len(b) <= room {
		return []piece{{data: b}}
	}
	size := room / fragmentUnit * fragmentUnit
	var out []piece
	for off := 0; off < len(b); off += size {
		end := min(off+size, len(b))
		out = append(out, piece{off: off, data: b[off:end], more: end < len(b)})
	}
	return out
}

func serialize(parts ...gopacket.SerializableLayer) ([]byte, error) {
	buf := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buf, options, parts...); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

const (
	// limit: maxUDPv4 and maxUDPv6 are the longest UDP payloads: 16-bit length fields
	// less the headers they count (RFC 791 3.1, RFC 768, RFC 8200 3).
	maxUDPv4 = 65_535 - ipv4HeaderLen - udpHeaderLen
	maxUDPv6 = 65_535 - udpHeaderLen

	// limit: minMTU leaves room for an IPv6 header, a fragment header and the 8 bytes
	// that a fragment holds at least.
	minMTU = ipv6HeaderLen + fragmentHeaderLen + fragmentUnit
)
