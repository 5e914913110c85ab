package synth

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"testing"

	"qsniff/capture"
	"qsniff/netlayer"
)

var (
	client = netip.MustParseAddrPort("192.0.2.2:40000")
	server = netip.MustParseAddrPort("192.0.2.1:27015")
)

// read returns the packets of s, decoded.
func read(t *testing.T, s *Source) (packets []capture.Packet, decoded []netlayer.Packet) {
	t.Helper()
	for {
		var b capture.Batch
		err := s.Read(&b)
		for i := range b.Packets {
			p := &b.Packets[i]
			var d netlayer.Packet
			d.Decode(p.Link, p.Data, int(p.Wire))
			packets, decoded = append(packets, *p), append(decoded, d)
		}
		if errors.Is(err, io.EOF) {
			return packets, decoded
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestDatagram(t *testing.T) {
	for _, n := range []int{0, 1, 25, 65_507} {
		var s Source
		want := bytes.Repeat([]byte{0xff}, n)
		s.Datagram(7, client, server, want)
		packets, decoded := read(t, &s)
		if len(packets) != 1 || packets[0].No != 7 || packets[0].Nanos == 0 {
			t.Fatalf("%d bytes: got %+v", n, packets)
		}
		d := &decoded[0]
		if d.Stop != netlayer.OK || d.Src != client || d.Dst != server || !bytes.Equal(d.Payload, want) || d.Wire != n {
			t.Errorf("%d bytes: got %v %v > %v, %d of %d bytes", n, d.Stop, d.Src, d.Dst, len(d.Payload), d.Wire)
		}
	}
}

// TestSegment: the handshake comes first, and the numbers of both directions go on
// where the last segment ended.
func TestSegment(t *testing.T) {
	var s Source
	long := bytes.Repeat([]byte{1}, 65_507)
	s.Segment(1, client, server, true, []byte("ask"))
	s.Segment(2, client, server, false, long)
	s.Segment(3, client, server, true, []byte("more"))
	s.Segment(4, client, server, false, []byte("end"))
	type segment struct {
		no       uint64
		src      netip.AddrPort
		seq, ack uint32
		flags    uint8
		n        int
	}
	const syn, ack, psh = netlayer.FlagSYN, netlayer.FlagACK, netlayer.FlagPSH
	want := []segment{
		{1, client, 1000, 0, syn, 0},
		{1, server, 1000, 1001, syn | ack, 0},
		{1, client, 1001, 1001, ack, 0},
		{1, client, 1001, 1001, psh | ack, 3},
		{2, server, 1001, 1004, psh | ack, 65_507},
		{3, client, 1004, 66_508, psh | ack, 4},
		{4, server, 66_508, 1008, psh | ack, 3},
	}
	packets, decoded := read(t, &s)
	if len(packets) != len(want) {
		t.Fatalf("got %d packets, want %d", len(packets), len(want))
	}
	for i := range want {
		d := &decoded[i]
		got := segment{packets[i].No, d.Src, d.TCP.Seq, d.TCP.Ack, d.TCP.Flags, len(d.Payload)}
		if d.Stop != netlayer.TCP || got != want[i] {
			t.Errorf("packet %d: %v\n got %+v\nwant %+v", i, d.Stop, got, want[i])
		}
	}
}

// TestMany: more packets than a batch holds come in several.
func TestMany(t *testing.T) {
	var s Source
	const n = capture.MaxPackets + 1
	for i := range n {
		s.Datagram(uint64(i), client, server, []byte{1})
	}
	packets, _ := read(t, &s)
	if len(packets) != n || s.Stats().Received != n || packets[n-1].No != n-1 {
		t.Errorf("got %d packets, %+v", len(packets), s.Stats())
	}
	for i := 1; i < len(packets); i++ {
		if packets[i].Nanos <= packets[i-1].Nanos {
			t.Fatalf("packet %d is not later than the one before", i)
		}
	}
}
