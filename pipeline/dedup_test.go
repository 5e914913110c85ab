package pipeline

import (
	"bytes"
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"qsniff/internal/test/protos"
	"qsniff/internal/test/testpcap"
)

// copies writes a request twice, apart by gap, in the second packet with another
// number in the IP header, another payload or another link header if so told.
func copies(t *testing.T, link uint16, gap time.Duration, id uint32, change func(second *testpcap.Datagram, frame []byte) []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := testpcap.NewWriter(&out, testpcap.Format{Link: link, SnapLen: 1 << 16, Nano: true})
	if err != nil {
		t.Fatal(err)
	}
	d := testpcap.Datagram{Src: netip.MustParseAddrPort("10.64.0.1:40001"), Dst: netip.MustParseAddrPort("198.18.0.1:27015"), TTL: 64, ID: id, Payload: []byte("\xff\xff\xff\xffTSource Engine Query\x00")}
	second := d
	frame := change(&second, nil)
	if frame == nil {
		frame = second.Frame(testpcap.Link{Type: link})
	}
	if err := w.WritePacket(1e18, d.Frame(testpcap.Link{Type: link})); err != nil {
		t.Fatal(err)
	}
	if err := w.WritePacket(1e18+int64(gap), frame); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestDedup(t *testing.T) {
	nothing := func(*testpcap.Datagram, []byte) []byte { return nil }
	outgoing := func(d *testpcap.Datagram, _ []byte) []byte {
		b := d.Frame(testpcap.Link{Type: testpcap.LinkSLL})
		b[1] = 4 // sent by us
		return b
	}
	for _, tc := range []struct {
		name   string
		link   uint16
		mode   Dedup
		gap    time.Duration
		id     uint32
		change func(*testpcap.Datagram, []byte) []byte
		want   int
	}{
		{"mirror port, as told", testpcap.LinkEthernet, DedupOn, time.Millisecond, 7, nothing, 1},
		{"mirror port, not told: one interface", testpcap.LinkEthernet, DedupAuto, time.Millisecond, 7, nothing, 2},
		{"too late", testpcap.LinkEthernet, DedupOn, 6 * time.Millisecond, 7, nothing, 2},
		{"another hop", testpcap.LinkEthernet, DedupOn, 0, 7, func(d *testpcap.Datagram, _ []byte) []byte { d.TTL--; return nil }, 1},
		{"another number", testpcap.LinkEthernet, DedupOn, 0, 7, func(d *testpcap.Datagram, _ []byte) []byte { d.ID++; return nil }, 2},
		{"another payload", testpcap.LinkEthernet, DedupOn, 0, 7, func(d *testpcap.Datagram, _ []byte) []byte {
			d.Payload = append(bytes.Clone(d.Payload), 1, 2, 3, 4)
			return nil
		}, 2},
		{"without a number: an eager client", testpcap.LinkEthernet, DedupOn, time.Millisecond, 0, nothing, 2},
		{"any device", testpcap.LinkSLL, DedupAuto, time.Millisecond, 7, nothing, 1},
		{"any device, told not to", testpcap.LinkSLL, DedupOff, time.Millisecond, 7, nothing, 2},
		{"any device, without a number, other direction", testpcap.LinkSLL, DedupAuto, time.Millisecond, 0, outgoing, 1},
	} {
		data := copies(t, tc.link, tc.gap, tc.id, tc.change)
		if got := messageLines(t, data, Config{Jobs: 1, Dedup: tc.mode}); len(got) != tc.want {
			t.Errorf("%s\ngot  %d messages\nwant %d\n%s", tc.name, len(got), tc.want, strings.Join(got, "\n"))
		}
	}
}

// What is left out is said.
func TestDedupIsCounted(t *testing.T) {
	data := copies(t, testpcap.LinkEthernet, 0, 7, func(*testpcap.Datagram, []byte) []byte { return nil })
	run, err := Run(context.Background(), Config{Source: open(t, data), Registry: protos.Registry(t), Jobs: 1, Dedup: DedupOn})
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Skipped) != 1 || run.Skipped[0].Why != whyCopy || run.Skipped[0].Count != 1 {
		t.Errorf("left out: %v", run.Skipped)
	}
}
