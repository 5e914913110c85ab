// Package synth is a source of packets that nobody captured: it puts IPv4 and UDP
// or TCP headers around payloads, so that they go the way of captured ones. It
// reads no payload and decides nothing; addresses, ports and times are the
// caller's, and say nothing about any network.
package synth

import (
	"encoding/binary"
	"io"
	"net/netip"

	"qsniff/capture"
	"qsniff/netlayer"
)

const (
	ipLen  = 20
	udpLen = 8
	tcpLen = 20
	ttl    = 64
	window = 0xffff

	// step is the packet time between two packets in nanoseconds: so short that 512
	// of them come within the time for which parts of a message wait.
	step = 5_000_000

	// firstSeq is the sequence number of both SYNs.
	firstSeq = 1000
)

// Source delivers packets in the order in which they were added. The zero value
// is ready to use.
type Source struct {
	packets []capture.Packet
	bytes   int64
	read    int
	conns   map[[2]netip.AddrPort]*sequence
}

// sequence is where a connection is: the next sequence number of either end.
type sequence struct{ client, server uint32 }

// Packet adds a packet of link type link as it is, wire bytes long in all, of which
// data was captured. no is its number.
func (s *Source) Packet(no uint64, link uint16, data []byte, wire int) {
	s.packets = append(s.packets, capture.Packet{No: no, Nanos: int64(len(s.packets)+1) * step,
		Data: data, Wire: uint32(max(wire, len(data))), Link: link})
	s.bytes += int64(len(data))
}

// Datagram adds a UDP datagram. Both ends have IPv4 addresses.
func (s *Source) Datagram(no uint64, src, dst netip.AddrPort, payload []byte) {
	b := appendIP(make([]byte, 0, ipLen+udpLen+len(payload)), netlayer.ProtoUDP, src, dst, udpLen+len(payload))
	b = appendPorts(b, src, dst)
	b = binary.BigEndian.AppendUint16(b, uint16(udpLen+len(payload)))
	b = binary.BigEndian.AppendUint16(b, 0) // no checksum
	s.Packet(no, netlayer.LinkRaw, append(b, payload...), 0)
}

// Segment adds what one end of a TCP connection says. The handshake, which client
// begins, goes in front of the first one, under the same number.
func (s *Source) Segment(no uint64, client, server netip.AddrPort, toServer bool, payload []byte) {
	if s.conns == nil {
		s.conns = map[[2]netip.AddrPort]*sequence{}
	}
	q := s.conns[[2]netip.AddrPort{client, server}]
	if q == nil {
		q = &sequence{firstSeq + 1, firstSeq + 1}
		s.conns[[2]netip.AddrPort{client, server}] = q
		s.tcp(no, client, server, firstSeq, 0, netlayer.FlagSYN, nil)
		s.tcp(no, server, client, firstSeq, q.client, netlayer.FlagSYN|netlayer.FlagACK, nil)
		s.tcp(no, client, server, q.client, q.server, netlayer.FlagACK, nil)
	}
	if toServer {
		s.tcp(no, client, server, q.client, q.server, netlayer.FlagPSH|netlayer.FlagACK, payload)
		q.client += uint32(len(payload))
		return
	}
	s.tcp(no, server, client, q.server, q.client, netlayer.FlagPSH|netlayer.FlagACK, payload)
	q.server += uint32(len(payload))
}

func (s *Source) tcp(no uint64, src, dst netip.AddrPort, seq, ack uint32, flags uint8, payload []byte) {
	b := appendIP(make([]byte, 0, ipLen+tcpLen+len(payload)), netlayer.ProtoTCP, src, dst, tcpLen+len(payload))
	b = appendPorts(b, src, dst)
	b = binary.BigEndian.AppendUint32(b, seq)
	b = binary.BigEndian.AppendUint32(b, ack)
	b = append(b, tcpLen/4<<4, flags)
	b = binary.BigEndian.AppendUint16(b, window)
	b = append(b, 0, 0, 0, 0) // no checksum, nothing urgent
	s.Packet(no, netlayer.LinkRaw, append(b, payload...), 0)
}

// appendIP appends an IPv4 header in front of n bytes. A length that its field
// cannot say is 0, as in packets that the network card is to cut up.
func appendIP(b []byte, proto uint8, src, dst netip.AddrPort, n int) []byte {
	total := ipLen + n
	if total > 0xffff {
		total = 0
	}
	b = append(b, 4<<4|ipLen/4, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(total))
	b = append(b, 0, 0, 0, 0, ttl, proto, 0, 0)
	from, to := src.Addr().As4(), dst.Addr().As4()
	return append(append(b, from[:]...), to[:]...)
}

func appendPorts(b []byte, src, dst netip.AddrPort) []byte {
	b = binary.BigEndian.AppendUint16(b, src.Port())
	return binary.BigEndian.AppendUint16(b, dst.Port())
}

// Read delivers packets. Their Data is the source's own and stays valid.
func (s *Source) Read(b *capture.Batch) error {
	b.Reset()
	n := min(len(s.packets)-s.read, capture.MaxPackets)
	b.Packets = append(b.Packets, s.packets[s.read:s.read+n]...)
	if s.read += n; s.read < len(s.packets) {
		return nil
	}
	return io.EOF
}

// Stats counts what was read.
func (s *Source) Stats() capture.Stats {
	return capture.Stats{Received: uint64(s.read), Bytes: s.bytes, Size: s.bytes}
}

// Close does nothing.
func (s *Source) Close() error { return nil }
