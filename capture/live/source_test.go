package live

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture"
)

// scripted is a handle whose reads without packets would take time.
type scripted struct {
	waiting int           // packets
	step    time.Duration // from one to the next
	now     int64
	asked   int

	err       error // of reads
	bound     int   // index of the target of rebind
	bindError error
}

func (h *scripted) read(b *capture.Batch, iface uint16, most int) error {
	h.asked++
	for ; h.waiting > 0 && len(b.Packets) < most; h.waiting-- {
		h.now += int64(h.step)
		b.Packets = append(b.Packets, capture.Packet{Nanos: h.now, Iface: iface})
	}
	return h.err
}

func (h *scripted) waits() time.Duration { return 10 * time.Millisecond }
func (h *scripted) hasMore() bool        { return h.waiting > 0 }
func (h *scripted) drops(bool) uint64    { return 0 }
func (h *scripted) link() uint16         { return linkEthernet }
func (h *scripted) descriptor() int      { return -1 }
func (h *scripted) rebind(at target) error {
	h.bound = at.index
	return h.bindError
}
func (h *scripted) close() {}

// TestQuietInterface: one without packets takes no time from one with many, is asked all
// the same every quietSpan, and at once when the other has no more.
func TestQuietInterface(t *testing.T) {
	const n = 1_000_000
	busy, quiet := &scripted{waiting: n, step: time.Microsecond}, &scripted{}
	s := &Source{backend: Libpcap, inputs: []*input{{handle: busy, iface: 0}, {handle: quiet, iface: 1}}}
	var b capture.Batch
	for busy.waiting > 0 {
		if err := s.Read(&b); err != nil {
			t.Fatal(err)
		}
	}
	const most = n*time.Microsecond/quietSpan + 1
	if got := quiet.asked; got < 2 || got > int(most) {
		t.Errorf("asked in a second of packet time\ngot  %d times\nwant 2 to %d", got, most)
	}
	before := quiet.asked
	quiet.waiting, quiet.now = 3, busy.now
	for range 2 { // the first still finds the other busy
		if err := s.Read(&b); err != nil {
			t.Fatal(err)
		}
	}
	if quiet.waiting > 0 || quiet.asked == before {
		t.Errorf("%d packets are left, asked %d times more", quiet.waiting, quiet.asked-before)
	}
	if got := s.Stats().Received; got != n+3 {
		t.Errorf("packets\ngot  %d\nwant %d", got, n+3)
	}
}

func TestMerge(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   [][]int64 // times of each interface's packets
		want []int64
	}{
		{"one", [][]int64{{3, 1, 2}}, []int64{3, 1, 2}},
		{"two in turn", [][]int64{{1, 3, 5}, {2, 4, 6}}, []int64{1, 2, 3, 4, 5, 6}},
		{"one is empty", [][]int64{{}, {1, 2}, {0, 3}}, []int64{0, 1, 2, 3}},
		{"the clock was set back within one", [][]int64{{5, 1, 6}, {2, 7}}, []int64{2, 5, 1, 6, 7}},
		{"three", [][]int64{{9}, {8}, {7}}, []int64{7, 8, 9}},
	} {
		var m merger
		var b capture.Batch
		m.reset()
		for _, times := range tc.in {
			start := len(b.Packets)
			for _, n := range times {
				b.Packets = append(b.Packets, capture.Packet{Nanos: n})
			}
			m.addRun(start, len(b.Packets))
		}
		m.sortPackets(&b)
		var got []int64
		for _, p := range b.Packets {
			got = append(got, p.Nanos)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}
