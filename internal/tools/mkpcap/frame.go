package main

import (
	"encoding/binary"

	"qsniff/internal/base/checksum"
)

// Offsets in an Ethernet frame with IPv4 without options.
const (
	offIP        = 14
	offTransport = offIP + 20
	minFrame     = 60 // received frames are padded to this
)

const (
	udpHeaderLen = 8
	tcpHeaderLen = 20 // without options
	mssLen       = 4  // the option of a SYN

	protoTCP = 6
	protoUDP = 17
)

// endpoint is an IPv4 address and a port.
type endpoint struct {
	addr uint32
	port uint16
}

// assembler builds frames in one buffer, by hand: gopacket's serializer would take longer
// than everything else here.
type assembler struct {
	buf []byte
	id  uint16 // IP identification, counts up
}

func newAssembler() *assembler {
	a := &assembler{buf: make([]byte, offTransport, 2048)}
	copy(a.buf, []byte{
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00, // both MACs, IPv4
		0x45, 0, 0, 0, 0, 0, 0x40, 0, // version and length, don't fragment
	})
	return a
}

// buildUDP returns the frame of a datagram, valid until the next call.
func (a *assembler) buildUDP(src, dst endpoint, ttl byte, payload []byte) []byte {
	b := append(a.buf[:offTransport], 0, 0, 0, 0, 0, 0, 0, 0)
	b = append(b, payload...)
	udp := b[offTransport:]
	binary.BigEndian.PutUint16(udp[4:], uint16(len(udp)))
	check := a.fillHeaders(b, src, dst, ttl, protoUDP)
	if check == 0 {
		check = 0xffff // 0 would mean that there is none (RFC 768)
	}
	binary.BigEndian.PutUint16(udp[6:], check)
	return pad(b)
}

// buildTCP returns the frame of a segment, valid until the next call. A SYN
// announces an MSS of segmentRoom.
func (a *assembler) buildTCP(src, dst endpoint, ttl byte, seq, ack uint32, flags byte, payload []byte) []byte {
	headerLen := tcpHeaderLen
	if flags&flagSYN != 0 {
		headerLen += mssLen
	}
	b := append(a.buf[:offTransport], 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, seq)
	b = binary.BigEndian.AppendUint32(b, ack)
	b = append(b, byte(headerLen/4)<<4, flags)
	b = binary.BigEndian.AppendUint16(b, window)
	b = append(b, 0, 0, 0, 0)
	if flags&flagSYN != 0 {
		b = append(b, 2, mssLen, segmentRoom>>8, segmentRoom&0xff)
	}
	b = append(b, payload...)
	check := a.fillHeaders(b, src, dst, ttl, protoTCP)
	binary.BigEndian.PutUint16(b[offTransport+16:], check)
	return pad(b)
}

// fillHeaders fills in the IP header and the ports of b and returns the checksum of
// what the IP packet carries, whose own field is 0.
func (a *assembler) fillHeaders(b []byte, src, dst endpoint, ttl, proto byte) uint16 {
	a.id++
	a.buf = b
	ip, body := b[offIP:offTransport], b[offTransport:]
	binary.BigEndian.PutUint16(ip[2:], uint16(len(b)-offIP))
	binary.BigEndian.PutUint16(ip[4:], a.id)
	ip[8], ip[9] = ttl, proto
	ip[10], ip[11] = 0, 0
	binary.BigEndian.PutUint32(ip[12:], src.addr)
	binary.BigEndian.PutUint32(ip[16:], dst.addr)
	binary.BigEndian.PutUint16(ip[10:], ^checksum.Fold(checksum.Add(0, ip)))
	binary.BigEndian.PutUint16(body, src.port)
	binary.BigEndian.PutUint16(body[2:], dst.port)
	pseudo := checksum.Add(uint64(proto)+uint64(len(body)), ip[12:20])
	return ^checksum.Fold(checksum.Add(pseudo, body))
}

func pad(b []byte) []byte {
	for len(b) < minFrame {
		b = append(b, 0)
	}
	return b
}
