package live

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture"
)

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
