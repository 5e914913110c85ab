package pipeline

import (
	"io"
	"net/netip"

	"qsniff/capture"
	"qsniff/capture/packet"
)

// PayloadSource is a capture.Source of payloads that were not captured: of datagrams and
// of TCP connections, whose ends the caller chooses, and whole packets among them. Its
// time stamps have no meaning. The zero value is ready to use.
type PayloadSource struct {
	packets []capture.Packet
	layers  []packet.Packet // of each packet; those of a whole packet are empty: it has to be decoded
	decoded int             // number of packets that were decoded
	conns   map[[2]netip.AddrPort]*sequence
}

// sequence is the next sequence number of either end of a connection.
type sequence struct{ client, server uint32 }

// payloadStep is the packet time between two payloads in nanoseconds. Chosen: so short
// that 512 of them come within the time for which parts of a message wait.
const payloadStep = 5_000_000

// decoder is implemented by sources that have the network layers of their packets.
type decoder interface {
	Decode(p *packet.Packet, raw *capture.Packet)
}

// AddPacket adds a whole packet of link type link, wire bytes long, of which data was
// captured. no is its frame number.
func (s *PayloadSource) AddPacket(no uint64, link uint16, data []byte, wire int) {
	s.packets = append(s.packets, capture.Packet{No: no, Nanos: int64(len(s.packets)+1) * payloadStep,
		Data: data, Wire: uint32(max(wire, len(data))), Link: link})
	s.layers = append(s.layers, packet.Packet{})
}

// AddDatagram adds the payload of a UDP datagram.
func (s *PayloadSource) AddDatagram(no uint64, src, dst netip.AddrPort, payload []byte) {
	s.add(no, &packet.Packet{Src: src, Dst: dst, Proto: packet.ProtoUDP}, payload)
}

// AddSegment adds bytes that one end of a TCP connection sends. Before the first ones it
// adds the SYNs of both ends, with the same frame number.
func (s *PayloadSource) AddSegment(no uint64, client, server netip.AddrPort, toServer bool, payload []byte) {
	if s.conns == nil {
		s.conns = map[[2]netip.AddrPort]*sequence{}
	}
	q := s.conns[[2]netip.AddrPort{client, server}]
	if q == nil {
		q = &sequence{client: 1, server: 1} // after both SYNs, which are 0
		s.conns[[2]netip.AddrPort{client, server}] = q
		s.addSegment(no, client, server, packet.TCPHeader{Flags: packet.FlagSYN}, nil)
		s.addSegment(no, server, client, packet.TCPHeader{Ack: q.client, Flags: packet.FlagSYN | packet.FlagACK}, nil)
	}
	if toServer {
		s.addSegment(no, client, server, packet.TCPHeader{Seq: q.client, Ack: q.server, Flags: packet.FlagACK}, payload)
		q.client += uint32(len(payload))
		return
	}
	s.addSegment(no, server, client, packet.TCPHeader{Seq: q.server, Ack: q.client, Flags: packet.FlagACK}, payload)
	q.server += uint32(len(payload))
}

func (s *PayloadSource) addSegment(no uint64, src, dst netip.AddrPort, header packet.TCPHeader, payload []byte) {
	s.add(no, &packet.Packet{Src: src, Dst: dst, Proto: packet.ProtoTCP, Stop: packet.TCP, TCP: header}, payload)
}

// add adds a payload with the layers that a packet would have around it.
func (s *PayloadSource) add(no uint64, layers *packet.Packet, payload []byte) {
	s.AddPacket(no, 0, payload, 0)
	layers.Payload, layers.Wire = payload, len(payload)
	s.layers[len(s.layers)-1] = *layers
}

// Decode decodes the next packet, which is raw, into p. It keeps p.Outer.
func (s *PayloadSource) Decode(p *packet.Packet, raw *capture.Packet) {
	layers := &s.layers[s.decoded]
	if s.decoded++; layers.Proto == 0 {
		p.Decode(raw.Link, raw.Data, int(raw.Wire))
		return
	}
	outer := p.Outer
	*p = *layers
	p.Outer = outer
}

// Read returns all packets at once. Their Data is that of the calls that added them.
func (s *PayloadSource) Read(b *capture.Batch) error {
	b.Reset()
	b.Packets = append(b.Packets, s.packets...)
	return io.EOF
}

// Stats returns the number of packets.
func (s *PayloadSource) Stats() capture.Stats { return capture.Stats{Received: uint64(len(s.packets))} }

// Close does nothing.
func (s *PayloadSource) Close() error { return nil }
