package pipeline

import (
	"io"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture"
	"qsniff/capture/packet"
)

// TestPayloadSource: payloads have the layers that packets of theirs would have, the handshake
// precedes what a connection says, the numbers of both directions go on where the last
// segment ended, and whole packets are decoded.
func TestPayloadSource(t *testing.T) {
	client, server := netip.MustParseAddrPort("192.0.2.2:40000"), netip.MustParseAddrPort("192.0.2.1:27015")
	var s PayloadSource
	s.AddDatagram(1, client, server, []byte("ask"))
	s.AddSegment(2, client, server, false, make([]byte, 65_507))
	s.AddSegment(3, client, server, true, []byte("more"))
	s.AddSegment(4, client, server, false, []byte("end"))
	s.AddPacket(5, packet.LinkRaw, []byte{0x45}, 40)
	type layers struct {
		no       uint64
		src      netip.AddrPort
		stop     packet.Stop
		seq, ack uint32
		flags    uint8
		n        int
	}
	const syn, ack = packet.FlagSYN, packet.FlagACK
	want := []layers{
		{1, client, packet.OK, 0, 0, 0, 3},
		{2, client, packet.TCP, 0, 0, syn, 0},
		{2, server, packet.TCP, 0, 1, syn | ack, 0},
		{2, server, packet.TCP, 1, 1, ack, 65_507},
		{3, client, packet.TCP, 1, 65_508, ack, 4},
		{4, server, packet.TCP, 65_508, 5, ack, 3},
		{5, netip.AddrPort{}, packet.ShortIP, 0, 0, 0, 0},
	}
	var b capture.Batch
	if err := s.Read(&b); err != io.EOF {
		t.Fatalf("got %v, want %v", err, io.EOF)
	}
	var got []layers
	var ways packet.Ways
	last := int64(0)
	for i := range b.Packets {
		raw := &b.Packets[i]
		p := packet.Packet{Outer: &ways, TTL: 9} // of the packet before
		s.Decode(&p, raw)
		got = append(got, layers{raw.No, p.Src, p.Stop, p.TCP.Seq, p.TCP.Ack, p.TCP.Flags, len(p.Payload)})
		if p.Wire != len(p.Payload) || p.Outer != &ways || p.TTL != 0 || raw.Nanos <= last {
			t.Errorf("packet %d: %d bytes on the wire, at %d: %+v", i, p.Wire, raw.Nanos, p)
		}
		last = raw.Nanos
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(layers{}), cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if n := s.Stats().Received; n != uint64(len(want)) {
		t.Errorf("counted %d packets", n)
	}
}
