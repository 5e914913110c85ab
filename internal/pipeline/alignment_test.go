package pipeline

import (
	"testing"
	"time"

	"qsniff/internal/test/forms"
	"qsniff/internal/test/testpcap"
	"qsniff/internal/track"
)

// TestAlignClocks: two files of one host, of what comes in and what goes out, whose clocks differ. The
// exchanges of the base have 10 ms from a request to its answer, and 20 ms until that is brought back.
func TestAlignClocks(t *testing.T) {
	const ms = int64(time.Millisecond)
	all := forms.Base(60, 0)
	for _, tt := range []struct {
		by    func(i int) int64 // what the clock of outgoing packets is wrong by
		fixed bool
		known bool
	}{
		{func(int) int64 { return 0 }, false, true},
		{func(int) int64 { return 5 * ms }, false, true}, // cannot be seen
		{func(int) int64 { return 500 * ms }, true, true},
		{func(int) int64 { return 3000 * ms }, true, true},
		{func(int) int64 { return -50 * ms }, true, true},
		{func(int) int64 { return -3000 * ms }, true, true},
		{func(i int) int64 { return int64(i) * 100 * ms }, false, false},
	} {
		var in, out []forms.Frame
		for i, f := range forms.Capture(all, testpcap.LinkEthernet, []forms.Hop{{}}, []forms.Hop{{Iface: 1}}, forms.Inside) {
			if f.Iface == 0 {
				in = append(in, f)
				continue
			}
			f.Iface, f.Nanos = 0, f.Nanos+tt.by(i)
			out = append(out, f)
		}
		l := &log{}
		f := form{name: "two clocks", files: [][]byte{forms.Pcapng(in, testpcap.LinkEthernet, 1), forms.Pcapng(out, testpcap.LinkEthernet, 1)}}
		run := runForm(t, &f, Config{Watchers: []track.Watcher{l}})
		if len(run.Skews) > 0 != (tt.fixed || !tt.known) {
			t.Errorf("%v: corrections %v", time.Duration(tt.by(1)), run.Skews)
			continue
		}
		if len(l.seen) != len(all) {
			t.Errorf("%d packets, want %d", len(l.seen), len(all))
		}
		if !tt.fixed {
			continue
		}
		if x := run.Skews[0]; x.Input != 1 || x.Other != 0 || x.Nanos+tt.by(0) < -11*ms || x.Nanos+tt.by(0) > 21*ms {
			t.Errorf("%v: corrected by %v", time.Duration(tt.by(0)), time.Duration(x.Nanos))
		}
		for i := range l.seen { // requests and replies take turns
			if isReply := l.seen[i].What != track.IsRequest; isReply != (i%2 == 1) {
				t.Fatalf("%v: packet %d is out of order", time.Duration(tt.by(0)), i)
			}
		}
	}
}
