package packet

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// outer puts a random IP header with protocol proto before body.
func (g generator) outer(proto uint8, body []byte) []byte {
	if g.IntN(2) == 0 {
		b := binary.BigEndian.AppendUint16([]byte{0x45, 0}, uint16(ipv4MinLen+len(body)))
		b = append(b, 0, 1, 0, 0, 63, proto, 0, 0)
		return append(append(b, g.bytes(8)...), body...)
	}
	b := binary.BigEndian.AppendUint16([]byte{0x60, 0, 0, 0}, uint16(len(body)))
	b = append(append(b, proto, 63), g.bytes(32)...)
	return append(b, body...)
}

// gre is a GRE header with random optional parts; the oracle reads them all.
func (g generator) gre(typ uint16) []byte {
	flags := uint16(g.IntN(8)) << 12 & (greKey | greSequence)
	if g.IntN(2) == 0 {
		flags |= greChecksum
	}
	b := binary.BigEndian.AppendUint16(nil, flags)
	b = binary.BigEndian.AppendUint16(b, typ)
	for _, part := range []uint16{greChecksum, greKey, greSequence} {
		if flags&part != 0 {
			b = append(b, g.bytes(greWord)...)
		}
	}
	return b
}

func (g generator) datagram(port uint16, header, body []byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{0xc3, 0x50}, port)
	b = binary.BigEndian.AppendUint16(b, uint16(udpLen+len(header)+len(body)))
	return append(append(append(b, 0, 0), header...), body...)
}

// wrap puts an IP packet into a random tunnel, which is an IP packet again, or
// after something that makes it the rest of an Ethernet frame.
func (g generator) wrap(ip []byte) []byte {
	typ, proto := uint16(etherIPv4), uint8(protoIPv4)
	if ip[0]>>4 == 6 {
		typ, proto = etherIPv6, protoIPv6
	}
	frame := append(binary.BigEndian.AppendUint16(unhex(macs), typ), ip...)
	id := append(g.bytes(3), 0)
	switch g.IntN(7) {
	case 0:
		return g.outer(proto, ip)
	case 1:
		return g.outer(ProtoGRE, append(g.gre(typ), ip...))
	case 2:
		return g.outer(ProtoGRE, append(g.gre(etherBridging), frame...))
	case 3:
		header := append(unhex("1000 88BE 00000001 1064"), g.bytes(2)...)
		header[9] &^= 4 // T: the oracle does not look for the inner length
		header = append(header, g.bytes(4)...)
		return g.outer(ProtoGRE, append(header, frame...))
	case 4:
		return g.outer(ProtoUDP, g.datagram(portVXLAN, append(unhex("08000000"), id...), frame))
	case 5:
		options := g.IntN(3)
		header := append([]byte{byte(options), 0, 0x65, 0x58}, id...)
		for range options {
			header = append(header, 1, 2, 3, 0) // class, type, no data
		}
		return g.outer(ProtoUDP, g.datagram(portGeneve, header, frame))
	}
	return g.outer(ProtoGRE, append(append(g.gre(etherMPLS), g.labels()...), ip...))
}

func (g generator) labels() []byte {
	var b []byte
	for range g.IntN(3) {
		b = binary.BigEndian.AppendUint32(b, g.Uint32()&^labelBottom|16<<labelShift)
	}
	return binary.BigEndian.AppendUint32(b, g.Uint32()|labelBottom|16<<labelShift)
}

// tunnelled is an Ethernet frame with up to three ways in around a packet.
func (g generator) tunnelled() []byte {
	ip := g.ipv4()
	if g.IntN(2) == 0 {
		ip = g.ipv6()
	}
	for range g.IntN(3) {
		ip = g.wrap(ip)
	}
	typ, ppp := uint16(etherIPv4), uint16(pppIPv4)
	if ip[0]>>4 == 6 {
		typ, ppp = etherIPv6, pppIPv6
	}
	b := unhex(macs)
	switch g.IntN(3) {
	case 0:
		b = append(binary.BigEndian.AppendUint16(b, etherMPLS), g.labels()...)
	case 1:
		b = append(binary.BigEndian.AppendUint16(b, etherPPPoE), pppoeVersion, pppoeSession, 1, 2)
		b = binary.BigEndian.AppendUint16(b, uint16(2+len(ip)))
		b = binary.BigEndian.AppendUint16(b, ppp)
	default:
		b = binary.BigEndian.AppendUint16(b, typ)
	}
	return append(b, ip...)
}

// expectedWays are the ways in that the oracle sees, and the innermost IP packet.
func expectedWays(frame []byte) (ways []Way, inner []byte) {
	var src, dst netip.AddrPort
	var before gopacket.LayerType
	end := func(ip []byte) netip.AddrPort {
		a, _ := netip.AddrFromSlice(ip)
		return netip.AddrPortFrom(a, 0)
	}
	over := func(k WayKind, id uint32) { ways = append(ways, Way{k, id, src, dst}) }
	ip := func(l gopacket.Layer, from, to []byte) {
		if before == layers.LayerTypeIPv4 || before == layers.LayerTypeIPv6 {
			over(WayIPinIP, 0)
		}
		src, dst = end(from), end(to)
		inner = append(append([]byte(nil), l.LayerContents()...), l.LayerPayload()...)
	}
	for _, l := range gopacket.NewPacket(frame, layers.LinkTypeEthernet, gopacket.NoCopy).Layers() {
		switch l := l.(type) {
		case *layers.IPv4:
			ip(l, l.SrcIP, l.DstIP)
		case *layers.IPv6:
			ip(l, l.SrcIP, l.DstIP)
		case *layers.UDP:
			src = netip.AddrPortFrom(src.Addr(), uint16(l.SrcPort))
			dst = netip.AddrPortFrom(dst.Addr(), uint16(l.DstPort))
		case *layers.PPPoE:
			ways = append(ways, Way{Kind: WayPPPoE, ID: uint32(l.SessionId)})
		case *layers.MPLS:
			if l.StackBottom {
				ways = append(ways, Way{Kind: WayMPLS, ID: l.Label})
			}
		case *layers.GRE:
			if l.Protocol != greERSPAN {
				over(WayGRE, l.Key)
			}
		case *layers.ERSPANII:
			over(WayERSPAN, uint32(l.SessionID))
		case *layers.VXLAN:
			over(WayVXLAN, l.VNI)
		case *layers.Geneve:
			over(WayGeneve, l.VNI)
		}
		before = l.LayerType()
	}
	return ways, inner
}

func TestTunnelsAgainstOracle(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(5, 6))}
	compared, kinds := 0, map[WayKind]int{}
	for range 20_000 {
		frame := g.tunnelled()
		full, ways := decodeWays(LinkEthernet, frame, len(frame))
		wantWays, inner := expectedWays(frame)
		if !slices.Equal(ways, wantWays) {
			t.Fatalf("frame %x:\ngot  ways %v\nwant ways %v", frame, ways, wantWays)
		}
		for _, w := range ways {
			kinds[w.Kind]++
		}
		if want, ok := expected(layers.LinkTypeRaw, inner); ok {
			compared++
			compare(t, full, deep(want, uint8(len(ways))))
		} else if full.Stop != OtherProto {
			t.Errorf("got  %v\nwant %v", full.Stop, OtherProto)
		}
		n := g.IntN(len(frame) + 1)
		cut, cutWays := decodeWays(LinkEthernet, frame[:n], len(frame))
		compareCut(t, cut, full, cutWays, ways)
		if t.Failed() {
			t.Fatalf("%d bytes captured of %x", n, frame)
		}
	}
	if compared < 15_000 || len(kinds) < 7 {
		t.Errorf("got  %d packets compared, ways %v\nwant most of what was generated", compared, kinds)
	}
}
