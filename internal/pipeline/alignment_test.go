package pipeline

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/internal/test/forms"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/testpcap"
	"qsniff/internal/track"
)

// sized is a capture that is taken for a regular file.
type sized struct{ *file.Reader }

func (s sized) Stats() capture.Stats {
	n := s.Reader.Stats()
	n.Size = 1
	return n
}

// TestAlignClocks: two clocks that differ, of what comes in and what goes out: those of two files, and
// those of two interfaces of one file, whose packets are in the order in which they came, or in that of their stamps.
// The exchanges of the base have 10 ms from a request to its answer, and 20 ms until that is brought back.
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
		frames := forms.Capture(all, testpcap.LinkEthernet, []forms.Hop{{}}, []forms.Hop{{Iface: 1}}, forms.Inside)
		var in, out []forms.Frame
		for i, f := range frames {
			if f.Iface == 0 {
				in = append(in, f)
				continue
			}
			frames[i].Nanos += tt.by(i)
			f.Iface, f.Nanos = 0, f.Nanos+tt.by(i)
			out = append(out, f)
		}
		const link = testpcap.LinkEthernet
		sorted := slices.SortedStableFunc(slices.Values(frames), func(a, b forms.Frame) int { return cmp.Compare(a.Nanos, b.Nanos) })
		for _, x := range []struct {
			form
			clock, other string
		}{
			{form{name: "two files", files: [][]byte{forms.Pcapng(in, link, 1), forms.Pcapng(out, link, 1)}}, "file 2", "file 1"},
			{form{name: "two interfaces, as they came", files: [][]byte{forms.Pcapng(frames, link, 2)}}, "interface 1", "interface 0"},
			{form{name: "two interfaces, by stamps", files: [][]byte{forms.Pcapng(sorted, link, 2)}}, "interface 1", "interface 0"},
		} {
			l := &log{}
			run := runForm(t, &x.form, Config{Watchers: []track.Watcher{l}})
			if len(run.Skews) > 0 != (tt.fixed || !tt.known) {
				t.Errorf("%s, %v: corrections %v", x.name, time.Duration(tt.by(1)), run.Skews)
				continue
			}
			if len(l.seen) != len(all) {
				t.Errorf("%s: %d packets, want %d", x.name, len(l.seen), len(all))
			}
			if !tt.fixed {
				continue
			}
			if s := run.Skews[0]; s.Clock != x.clock || s.Other != x.other || s.Nanos+tt.by(0) < -11*ms || s.Nanos+tt.by(0) > 21*ms {
				t.Errorf("%s, %v: corrected by %v, %s against %s", x.name, time.Duration(tt.by(0)), time.Duration(s.Nanos), s.Clock, s.Other)
			}
			if run.Backwards > 0 {
				t.Errorf("%s: %d stamps go back", x.name, run.Backwards)
			}
			for i := range l.seen { // requests and replies take turns
				if isReply := l.seen[i].What != track.IsRequest; isReply != (i%2 == 1) {
					t.Fatalf("%s, %v: packet %d is out of order", x.name, time.Duration(tt.by(0)), i)
				}
			}
		}
	}
}

// TestWatchClocks: of an input that is read as it comes nothing is corrected, and by how much clocks differ is told.
func TestWatchClocks(t *testing.T) {
	const ms = int64(time.Millisecond)
	for _, by := range []int64{0, 3000 * ms} {
		frames := forms.Capture(forms.Base(60, 0), testpcap.LinkEthernet, []forms.Hop{{}}, []forms.Hop{{Iface: 1}}, forms.Inside)
		for i := range frames {
			frames[i].Nanos += by * int64(frames[i].Iface)
		}
		l := &log{}
		run, err := Run(t.Context(), Config{Source: open(t, forms.Pcapng(frames, testpcap.LinkEthernet, 2)), Registry: protos.Registry(t), Watchers: []track.Watcher{l}, Jobs: 1})
		if err != nil || len(l.seen) != len(frames) {
			t.Fatalf("%v, %d packets, want %d", err, len(l.seen), len(frames))
		}
		if by == 0 {
			if len(run.Skews) > 0 {
				t.Errorf("equal clocks: %v", run.Skews)
			}
			continue
		}
		if len(run.Skews) != 1 || !run.Skews[0].IsOnlyTold || run.Skews[0].Clock != "interface 1" || run.Skews[0].Nanos+by < -11*ms || run.Skews[0].Nanos+by > 21*ms {
			t.Errorf("clocks: %v", run.Skews)
		}
		if s := run.SkewSentence(); !strings.Contains(s, "is 3") || !strings.Contains(s, "fast") || !strings.Contains(s, "nothing is corrected") {
			t.Error(s)
		}
		if first := l.seen[1].Nanos - l.seen[0].Nanos; first < by {
			t.Errorf("the first reply comes after %v", time.Duration(first))
		}
	}
}

// TestAlignSeveral: of two files with two interfaces each, the clock of one interface differs from that of
// its host, and that of one host from that of the other one. Servers are asked, and answer, at either interface.
func TestAlignSeveral(t *testing.T) {
	const ms, link = int64(time.Millisecond), testpcap.LinkEthernet
	all := forms.Base(240, 0)
	wrong := [2][2]int64{{0, 400 * ms}, {-2000 * ms, -2000 * ms}}
	// Exchanges take turns: within the first file in either direction, and from the first file to the second.
	ways := [][2]clockID{{{0, 0}, {0, 1}}, {{0, 1}, {0, 0}}, {{0, 0}, {1, 0}}, {{1, 1}, {0, 0}}}
	var frames [2][]forms.Frame
	for i, p := range all {
		way := ways[i/4%len(ways)]
		at := way[0]
		if p.IsBack {
			at = way[1]
		}
		frames[at.file] = append(frames[at.file], forms.Frame{Nanos: p.Nanos + wrong[at.file][at.iface], Iface: uint32(at.iface),
			Data: p.Frame(testpcap.Link{Type: link})})
	}
	l := &log{}
	x := form{name: "several", files: [][]byte{forms.Pcapng(frames[0], link, 2), forms.Pcapng(frames[1], link, 2)}}
	run := runForm(t, &x, Config{Watchers: []track.Watcher{l}})
	if len(run.Skews) != 2 || run.Skews[0].Clock != "interface 1 of file 1" || run.Skews[1].Clock != "file 2" {
		t.Fatalf("corrections %v", run.Skews)
	}
	for i, s := range run.Skews {
		if want := []int64{-400 * ms, 2000 * ms}[i]; s.Nanos < want-21*ms || s.Nanos > want+21*ms {
			t.Errorf("%s is corrected by %v", s.Clock, time.Duration(s.Nanos))
		}
	}
	for i := range l.seen {
		if isReply := l.seen[i].What != track.IsRequest; isReply != (i%2 == 1) {
			t.Fatalf("packet %d is out of order", i)
		}
	}
}
