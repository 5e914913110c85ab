package packet

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// generator builds random, correct frames by hand, so that the oracle has
// headers to read that it cannot write.
type generator struct{ *rand.Rand }

func (g generator) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return b
}

// transport is a UDP datagram or, sometimes, bytes of another protocol.
func (g generator) transport() (proto uint8, b []byte) {
	payload := g.bytes(g.IntN(1300))
	switch g.IntN(8) {
	case 0:
		return ProtoTCP, append(unhex("6987 6987 00000001 00000002 5010 0400 0000 0000"), payload...)
	case 1:
		return 132, payload // SCTP
	}
	// Ports for which the oracle has no decoder of its own.
	b = binary.BigEndian.AppendUint16(nil, 27005+uint16(g.IntN(20)))
	b = binary.BigEndian.AppendUint16(b, 27005+uint16(g.IntN(20)))
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(payload)))
	return ProtoUDP, append(append(b, 0, 0), payload...)
}

func (g generator) ipv4() []byte {
	proto, body := g.transport()
	options := bytes.Repeat([]byte{1}, 4*g.IntN(11)) // no-operation
	flags := uint16(0)
	if g.IntN(4) == 0 {
		flags = uint16(g.IntN(moreFragments << 1))
	}
	b := []byte{0x45 + byte(len(options)/4), byte(g.Uint32())}
	b = binary.BigEndian.AppendUint16(b, uint16(20+len(options)+len(body)))
	b = binary.BigEndian.AppendUint16(b, uint16(g.Uint32()))
	b = binary.BigEndian.AppendUint16(b, flags)
	b = append(b, byte(g.Uint32()), proto, 0, 0)
	b = append(b, g.bytes(8)...)
	return append(append(b, options...), body...)
}

func (g generator) ipv6() []byte {
	next, body := g.transport()
	for range g.IntN(4) {
		var ext []byte
		switch typ := []uint8{extRouting, extFragment, extAuth, extDstOptions}[g.IntN(4)]; typ {
		case extRouting: // of type 0, the only one that the oracle reads
			n := g.IntN(3)
			ext = append([]byte{next, byte(2 * n), 0, byte(n), 0, 0, 0, 0}, g.bytes(16*n)...)
			next = typ
		case extFragment:
			ext = append([]byte{next, 0}, g.bytes(6)...)
			ext[3] &^= 6 // reserved
			next = typ
		case extAuth:
			n := 4 * g.IntN(5)
			ext = append([]byte{next, byte(1 + n/4), 0, 0}, g.bytes(8+n)...)
			next = typ
		case extDstOptions:
			n := g.IntN(4)
			ext = append([]byte{next, byte(n), 1, byte(4 + 8*n)}, make([]byte, 4+8*n)...)
			next = typ
		}
		body = append(ext, body...)
	}
	b := []byte{0x60, 0, 0, 0}
	b = binary.BigEndian.AppendUint16(b, uint16(len(body)))
	b = append(b, next, byte(g.Uint32()))
	b = append(b, g.bytes(32)...)
	return append(b, body...)
}

// frame is a random frame of a random link type that the oracle knows.
func (g generator) frame() (link uint16, first gopacket.Decoder, b []byte) {
	ip, typ, family := g.ipv4(), uint16(etherIPv4), uint32(afInet)
	if g.IntN(2) == 0 {
		ip, typ, family = g.ipv6(), etherIPv6, 30
	}
	tags := func(b []byte) []byte {
		for range g.IntN(5) {
			b = binary.BigEndian.AppendUint16(b, []uint16{etherTag, etherQinQ}[g.IntN(2)])
			b = binary.BigEndian.AppendUint16(b, uint16(g.Uint32()))
		}
		return binary.BigEndian.AppendUint16(b, typ)
	}
	switch g.IntN(6) {
	case 0:
		return LinkRaw, layers.LinkTypeRaw, ip
	case 1:
		return LinkNull, layers.LinkTypeNull, append(binary.LittleEndian.AppendUint32(nil, family), ip...)
	case 2:
		return LinkLoop, layers.LinkTypeLoop, append(binary.BigEndian.AppendUint32(nil, family), ip...)
	case 3:
		return LinkLinuxSLL, layers.LinkTypeLinuxSLL, append(tags(unhex("0000 0001 0006 020000000001 0000")), ip...)
	}
	b = append(tags(unhex(macs)), ip...)
	if g.IntN(3) == 0 {
		b = append(b, g.bytes(g.IntN(30))...) // padding, frame check sequence
	}
	return LinkEthernet, layers.LinkTypeEthernet, b
}

// expected is what the oracle reads from the whole frame.
func expected(first gopacket.Decoder, b []byte) (p Packet, ok bool) {
	var proto uint8
	for _, l := range gopacket.NewPacket(b, first, gopacket.NoCopy).Layers() {
		switch l := l.(type) {
		case *layers.Dot1Q:
			p.Depth++
		case *layers.IPv4:
			src, _ := netip.AddrFromSlice(l.SrcIP)
			dst, _ := netip.AddrFromSlice(l.DstIP)
			p.Src, p.Dst = netip.AddrPortFrom(src, 0), netip.AddrPortFrom(dst, 0)
			p.TTL, p.IPID, proto = l.TTL, l.Id, uint8(l.Protocol)
			more := l.Flags&layers.IPv4MoreFragments != 0
			if more || l.FragOffset != 0 {
				p.Frag = Frag{Set: true, More: more, Off: uint32(l.FragOffset) * 8, ID: uint32(l.Id)}
				p.Payload, p.Wire, p.Proto = l.Payload, len(l.Payload), proto
				return p, true
			}
		case *layers.IPv6:
			src, _ := netip.AddrFromSlice(l.SrcIP)
			dst, _ := netip.AddrFromSlice(l.DstIP)
			p.Src, p.Dst = netip.AddrPortFrom(src, 0), netip.AddrPortFrom(dst, 0)
			p.TTL, proto = l.HopLimit, uint8(l.NextHeader)
		case *layers.IPv6Routing:
			proto = uint8(l.NextHeader)
		case *layers.IPv6Destination:
			proto = uint8(l.NextHeader)
		case *layers.IPSecAH:
			proto = uint8(l.NextHeader)
		case *layers.IPv6Fragment:
			p.Frag = Frag{Set: true, More: l.MoreFragments, Off: uint32(l.FragmentOffset) * 8, ID: l.Identification}
			p.Payload, p.Wire, p.Proto = l.Payload, len(l.Payload), uint8(l.NextHeader)
			return p, true
		case *layers.UDP:
			p.Src = netip.AddrPortFrom(p.Src.Addr(), uint16(l.SrcPort))
			p.Dst = netip.AddrPortFrom(p.Dst.Addr(), uint16(l.DstPort))
			p.Payload, p.Wire, p.Proto = l.Payload, len(l.Payload), proto
			return p, true
		case *layers.TCP:
			p.Src = netip.AddrPortFrom(p.Src.Addr(), uint16(l.SrcPort))
			p.Dst = netip.AddrPortFrom(p.Dst.Addr(), uint16(l.DstPort))
			p.TCP = TCPHeader{Seq: l.Seq, Ack: l.Ack, Window: l.Window, Flags: l.Contents[13], Len: uint8(len(l.Contents))}
			p.Payload, p.Wire, p.Proto, p.Stop = l.Payload, len(l.Payload), proto, TCP
			return p, true
		}
	}
	return p, false
}

func TestAgainstOracle(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(1, 2))}
	compared := map[Stop]int{}
	for range 20_000 {
		link, first, frame := g.frame()
		var full Packet
		full.Decode(link, frame, len(frame))
		want, ok := expected(first, frame)
		if !ok {
			if full.Stop != OtherProto {
				t.Fatalf("link %d, frame %x:\ngot  %v\nwant %v", link, frame, full.Stop, OtherProto)
			}
			continue
		}
		compared[full.Stop]++
		compare(t, full, want)

		cut := frame[:g.IntN(len(frame)+1)]
		_, ways := decodeWays(link, frame, len(frame))
		got, gotWays := decodeWays(link, cut, len(frame))
		compareCut(t, got, full, gotWays, ways)
		if t.Failed() {
			t.Fatalf("link %d, %d bytes captured of %x", link, len(cut), frame)
		}
	}
	if compared[OK] < 10_000 || compared[TCP] < 1_000 {
		t.Errorf("got  %d datagrams and %d segments compared\nwant most of what was generated", compared[OK], compared[TCP])
	}
}

// compareCut asks that a frame cut by the snap length decodes to the same with
// less payload, or to less of a walk along the same ways: it says that it was
// cut, or it stays the datagram around a tunnel whose header was cut. What turns
// out to be no tunnel may look like one as long as its content is cut.
func compareCut(t *testing.T, got, full Packet, gotWays, ways []Way) {
	t.Helper()
	common := gotWays
	if last := len(gotWays) - 1; len(gotWays) > len(ways) && got.Stop != OK && gotWays[last].Dst == full.Dst {
		common = gotWays[:last]
	}
	if len(common) > len(ways) || !slices.Equal(common, ways[:len(common)]) {
		t.Errorf("got  ways %v\nwant the first of %v", gotWays, ways)
	}
	switch got.Stop {
	case ShortLink, ShortTunnel, ShortIP, ShortTCP, ShortUDP:
		if got.Payload != nil || got.Wire != 0 {
			t.Errorf("got  payload %x, wire %d with %v\nwant none", got.Payload, got.Wire, got.Stop)
		}
		return
	case NotIP: // what a label stack carries is told by content, which is cut
		if len(gotWays) > 0 && gotWays[len(gotWays)-1].Kind == WayMPLS {
			return
		}
	}
	if len(gotWays) < len(ways) && ways[len(gotWays)].Dst == got.Dst && got.Stop == OK && got.Dst.Port() != 0 {
		return
	}
	if !bytes.HasPrefix(full.Payload, got.Payload) {
		t.Errorf("got  %x\nwant a prefix of %x", got.Payload, full.Payload)
	}
	full.Payload = got.Payload
	compare(t, got, full)
}
