package top

import (
	"context"
	"net/netip"
	"testing"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/capture/recent"
	"qsniff/dissect"
	"qsniff/dissect/protocols"
)

// newDecoder returns a decoder of what a capture has of a server.
func newDecoder(t testing.TB, name, server string) (*Decoder, netip.AddrPort) {
	t.Helper()
	reg, err := dissect.NewRegistry(protocols.All()...)
	if err != nil {
		t.Fatal(err)
	}
	a := netip.MustParseAddrPort(server)
	d := &Decoder{Registry: reg, Store: recent.NewStore()}
	d.Store.Watch([]netip.AddrPort{a}, a)
	r, err := file.Open("../../pcapfiles/" + name)
	for b := new(capture.Batch); err == nil; {
		err = (&recent.Tap{Source: r, Store: d.Store}).Read(b)
	}
	return d, a
}

func TestDecode(t *testing.T) {
	d, a := newDecoder(t, "a2s/full-poll.pcap", "198.18.0.36:27015")
	x, err := d.decode(context.Background(), a, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range x.exchanges {
		ms, err := d.messagesOf(context.Background(), x.packets, &e)
		t.Logf("%+v %d %v", e, len(ms), err)
	}
	t.Logf("%+v %+v", x.clients, x.findings)
}

func BenchmarkDecode(b *testing.B) {
	d, a := newDecoder(b, "floods/spoofed.pcap", "198.18.7.1:27015")
	for b.Loop() {
		x, err := d.decode(context.Background(), a, "")
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(x.packets)), "packets")
	}
}
