package top

import (
	"context"
	"io"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/capture/recent"
	"qsniff/internal/render"
	"qsniff/internal/test/protos"
)

// newDecoder returns a decoder of what a capture without its first packets has of a server.
func newDecoder(t testing.TB, name, server string, without int) (*Decoder, netip.AddrPort) {
	t.Helper()
	reg := protos.Registry(t)
	a := netip.MustParseAddrPort(server)
	d := &Decoder{Registry: reg, Store: recent.NewStore()}
	d.Store.Watch([]netip.AddrPort{a}, a)
	r, err := file.Open("../../../pcapfiles/" + name)
	for b := new(capture.Batch); err == nil; {
		err = (&recent.Tap{Source: &lateSource{r, without}, Store: d.Store}).Read(b)
		without = 0
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	return d, a
}

// lateSource leaves out the first packets of its first batch.
type lateSource struct {
	capture.Source
	without int
}

func (s *lateSource) Read(b *capture.Batch) error {
	err := s.Source.Read(b)
	b.Packets = b.Packets[min(s.without, len(b.Packets)):]
	return err
}

// TestDecode: exchanges have their outcome and their messages; a reply whose request came before
// what is kept is no unsolicited one.
func TestDecode(t *testing.T) {
	type line struct {
		Type     string
		Outcome  render.Outcome
		IsCut    bool
		Messages int
	}
	players, rules := line{"A2S_PLAYER", render.Answered, false, 2}, line{"A2S_RULES", render.Answered, false, 2}
	for without, want := range map[int][]line{
		0: {{"A2S_INFO", render.Answered, false, 4}, players, rules},
		3: {{"S2A_INFO_SRC", render.Unsolicited, true, 1}, players, rules},
	} {
		d, a := newDecoder(t, "a2s/full-poll.pcap", "198.18.0.36:27015", without)
		x, err := d.decode(context.Background(), a, "")
		if err != nil {
			t.Fatal(err)
		}
		var got []line
		for _, e := range x.exchanges {
			list, err := d.messagesOf(context.Background(), x.packets, &e)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, line{e.Type.Name, e.Outcome, e.isCut, len(list)})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("without %d packets (-want +got):\n%s", without, diff)
		}
		if len(x.clients) != 1 || x.clients[0].addr != netip.MustParseAddr("10.64.0.36") || x.clients[0].replies != 4-uint64(without/2) {
			t.Errorf("without %d packets: clients %+v", without, x.clients)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	d, a := newDecoder(b, "floods/spoofed.pcap", "198.18.7.1:27015", 0)
	for b.Loop() {
		x, err := d.decode(context.Background(), a, "")
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(x.packets)), "packets")
	}
}
