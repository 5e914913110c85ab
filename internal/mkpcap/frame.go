package main

import "encoding/binary"

// Offsets in an Ethernet frame with IPv4 without options and UDP.
const (
	offIP      = 14
	offUDP     = offIP + 20
	offPayload = offUDP + 8
	minFrame   = 60 // received frames are padded to this
)

// endpoint is an IPv4 address and a port.
type endpoint struct {
	addr uint32
	port uint16
}

// assembler builds frames by hand in one buffer: a serializer of general layers
// costs more than everything else here.
type assembler struct {
	buf []byte
	id  uint16 // IP identification, counts up
}

func newAssembler() *assembler {
	a := &assembler{buf: make([]byte, offPayload, 2048)}
	copy(a.buf, []byte{
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00, // both MACs, IPv4
		0x45, 0, 0, 0, 0, 0, 0x40, 0, 0, 17, // version and length, don't fragment, UDP
	})
	return a
}

// udp returns the frame of a datagram, valid until the next call.
func (a *assembler) udp(src, dst endpoint, ttl byte, payload []byte) []byte {
	a.id++
	b := append(a.buf[:offPayload], payload...)
	a.buf = b
	ip, udp := b[offIP:offUDP], b[offUDP:]
	binary.BigEndian.PutUint16(ip[2:], uint16(len(b)-offIP))
	binary.BigEndian.PutUint16(ip[4:], a.id)
	ip[8] = ttl
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint32(ip[12:], src.addr)
	binary.BigEndian.PutUint32(ip[16:], dst.addr)
	binary.BigEndian.PutUint16(ip[10:], ^fold(sum(ip)))

	binary.BigEndian.PutUint16(udp, src.port)
	binary.BigEndian.PutUint16(udp[2:], dst.port)
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	udp[6], udp[7] = 0, 0
	pseudo := uint64(17) + uint64(len(udp)) + sum(ip[12:20])
	check := ^fold(pseudo + sum(udp))
	if check == 0 {
		check = 0xffff // 0 would say that there is none (RFC 768)
	}
	binary.BigEndian.PutUint16(udp[6:], check)
	for len(b) < minFrame {
		b = append(b, 0)
	}
	return b
}

// sum adds b as big-endian 16-bit words, 32 bits at a time: the one's
// complement sum does not care (RFC 1071).
func sum(b []byte) uint64 {
	var s uint64
	for ; len(b) >= 4; b = b[4:] {
		s += uint64(binary.BigEndian.Uint32(b))
	}
	if len(b) >= 2 {
		s += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		s += uint64(b[0]) << 8
	}
	return s
}

func fold(s uint64) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}
