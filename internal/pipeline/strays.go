package pipeline

import (
	"encoding/binary"
	"net/netip"

	"qsniff/capture/packet"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// Sightings of what no message can be made of: watchers count it, and nobody else.

// greHeaders is the least that a GRE tunnel puts around an IP packet: an IPv4 header and
// four bytes (RFC 2784).
const greHeaders = ipv4Headers + 4

// classifyStray fills in what a packet is that has no datagram or segment of its own.
func (w *sightMaker) classifyStray(s *track.Sighting, it *item) {
	b := it.Payload
	s.Detail = it.Proto
	s.Wire = s.Bytes + ipHeaderBytes(it.Src)
	switch {
	case it.Frag.Set:
		s.What, s.Key = track.IsFragment, it.Frag.ID
		if it.Frag.Off == 0 {
			s.Flags |= track.First
			readPorts(s, it)
		}
	case it.Stop == packet.ICMP:
		s.What, s.Detail = track.IsControl, 0
		if len(b) > 0 {
			s.Detail = b[0]
		}
		if len(b) >= icmpHeader {
			s.Key = binary.BigEndian.Uint32(b[4:])
		}
	default:
		s.What = track.IsCarried
	}
	w.addHashes(s, lru.MixBytes(uint64(it.Frag.Off)<<32|uint64(s.Bytes), b[:min(len(b), printedBytes)]))
}

// icmpHeader is the length of the header of an ICMP message (RFC 792, RFC 4443).
const icmpHeader = 8

// readPorts reads the ports at the start of the first fragment of a datagram or segment.
func readPorts(s *track.Sighting, it *item) {
	const ports = 4
	if it.Proto != packet.ProtoUDP && it.Proto != packet.ProtoTCP || len(it.Payload) < ports {
		return
	}
	s.SrcPort, s.DstPort = binary.BigEndian.Uint16(it.Payload), binary.BigEndian.Uint16(it.Payload[2:])
}

// addTunnel adds the outermost GRE tunnel around a packet that was shown: its receiver is
// another host, whom the packets inside may be sent to in order to flood it.
func (w *sightMaker) addTunnel(it *item) {
	for i := range it.ways {
		way := &it.ways[i]
		if way.Kind != packet.WayGRE {
			continue
		}
		seg := w.now.seg
		x := seg.sights[len(seg.sights)-1]
		x.list, x.post = 0, 0 // they are of the packet inside
		inner := x.Wire
		x.Sighting = track.Sighting{What: track.IsCarried, Detail: packet.ProtoGRE, Frame: x.Frame, Age: x.Age, Nanos: x.Nanos,
			Src: track.HostOf(netip.AddrPortFrom(way.Src.Addr(), 0)), Dst: track.HostOf(netip.AddrPortFrom(way.Dst.Addr(), 0)),
			Bytes: inner, Wire: inner + greHeaders, Weight: it.weight}
		x.FillHashes(w.now.seed)
		seg.sights = append(seg.sights, x)
		return
	}
}
