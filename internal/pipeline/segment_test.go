package pipeline

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"qsniff/capture"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/testpcap"
	"qsniff/internal/track"
)

// lists is a capture of n replies of master servers, each of which names servers.
func lists(t *testing.T, n, named int) []byte {
	t.Helper()
	var out bytes.Buffer
	link := testpcap.Link{Type: testpcap.LinkEthernet}
	w, err := testpcap.NewWriter(&out, testpcap.Format{Link: link.Type, SnapLen: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	payload := []byte("\xff\xff\xff\xfff\x0a")
	for i := range named {
		payload = binary.BigEndian.AppendUint32(payload, 198<<24|18<<16|uint32(i))
		payload = binary.BigEndian.AppendUint16(payload, 27015)
	}
	for i := range n {
		d := testpcap.Datagram{Src: netip.AddrPortFrom(netip.AddrFrom4([4]byte{172, 16, byte(i >> 8), byte(i)}), 27011),
			Dst: netip.MustParseAddrPort("10.64.0.1:30000"), TTL: 64, Payload: payload}
		if err := w.WritePacket(testpcap.Start+int64(i)*1000, d.Frame(link)); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// servers is a watcher that keeps which servers it saw, in their order.
type servers struct{ seen []uint64 }

func (s *servers) Sight(x *track.Sighting) {
	s.seen = append(s.seen, x.Frame<<32|uint64(x.What)<<24|uint64(x.Src[15])<<16|uint64(x.SrcPort))
}

// AddListed implements track.ListWatcher.
func (s *servers) AddListed(x *track.Sighting, listed []uint64) { s.seen = append(s.seen, listed...) }

func (s *servers) Tick(age, nanos int64) {}
func (s *servers) Lost(packets uint64)   {}
func (s *servers) End(age, nanos int64)  {}

// TestSegmentOfLists: a flood of server lists does not make the sightings of a batch
// grow, and none of them is missing or out of order.
func TestSegmentOfLists(t *testing.T) {
	const replies, named = capture.MaxPackets, 100
	data := lists(t, replies, named)
	var want []uint64
	for _, jobs := range []int{1, 2, 4} {
		w := &servers{}
		if _, err := Run(t.Context(), Config{Source: open(t, data), Registry: protos.Registry(t), Jobs: jobs, Watchers: []track.Watcher{w}}); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = w.seen
		}
		if len(w.seen) != replies*(named+1) || !slices.Equal(w.seen, want) {
			t.Errorf("%d jobs: %d sightings\nwant %d, the same with all jobs", jobs, len(w.seen), replies*(named+1))
		}
	}
	if most := heldListed(t, data); most > segmentListed+named {
		t.Errorf("listed servers in a segment\ngot  %d\nwant at most %d", most, segmentListed+named)
	}
}

// heldListed is the most listed servers that a segment has at a time.
func heldListed(t *testing.T, data []byte) (most int) {
	t.Helper()
	cfg := Config{Registry: protos.Registry(t), Watchers: []track.Watcher{&servers{}}}
	parts := make([]*partition, Partitions)
	for i := range parts {
		parts[i] = newPartition(i, &cfg, 1)
	}
	w := newWorker(0, 1, parts, segmentsPerWorker)
	done := make(chan bool)
	go func() {
		defer close(done)
		for s := range w.out {
			most = max(most, len(s.listed))
			w.free <- s
		}
	}()
	for _, b := range prepare(t, data) {
		w.processBatch(t.Context(), b, nil)
	}
	close(w.out)
	<-done
	return most
}
