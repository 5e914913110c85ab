package flood

import (
	"math"
	"net/netip"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// TestShareAligns: panes of a detector that shares turn at multiples of ten seconds in Unix time,
// whenever the first packet came and however the clock was set.
func TestShareAligns(t *testing.T) {
	for _, tc := range []struct {
		first time.Duration // since dawn, at which a pane begins
		steps []step
	}{
		{first: 0}, {first: 1}, {first: 999 * time.Millisecond}, {first: time.Second}, {first: 4300 * time.Millisecond}, {first: 10*time.Second - 1},
		{3 * time.Second, []step{{20 * time.Second, 3700 * time.Millisecond}}},
		{3 * time.Second, []step{{20 * time.Second, -3700 * time.Millisecond}, {50 * time.Second, 4 * time.Hour}}},
	} {
		w := newWorld(1)
		w.steps = tc.steps
		w.d.Share(1, func(netip.AddrPort) bool { return true })
		s := w.server("198.51.100.1", 27015)
		end := netip.AddrPortFrom(s.host.Addr(), s.port)
		turned, last := 0, int32(0)
		w.every(20, tc.first, 100*time.Second, func(i int) {
			was := w.d.book.Now
			s.take(request{from: w.ip(0xcb007101), port: 40000, asks: dissect.AskInfo}, nil)
			if w.d.book.Now < was {
				t.Fatalf("the seconds go back from %d to %d", was, w.d.book.Now)
			}
			x := w.d.Watched(end)
			if x == nil {
				t.Fatalf("after packet %d the server is not watched", i)
			}
			if start := x.PaneStart(); start != last {
				turned, last = turned+1, start
			}
			if unix := w.nanos() / int64(time.Second); unix%measure.PaneSeconds != int64(w.d.book.Now)%measure.PaneSeconds {
				t.Errorf("first packet at %v, packet %d: second %d of Unix time is number %d", tc.first, i, unix, w.d.book.Now)
			}
			endAge, paneEnd := w.d.Pane()
			if left := endAge - w.age(); left <= 0 || left > int64(10*time.Second) || paneEnd%int64(10*time.Second) != 0 || paneEnd-w.nanos() != left {
				t.Errorf("first packet at %v, packet %d: the pane ends in %v, at %d", tc.first, i, time.Duration(left), paneEnd)
			}
		})
		if at, _ := w.d.Pane(); at != math.MinInt64 {
			t.Errorf("before the first packet a pane ends at %d", at)
		}
		w.run(100 * time.Second)
		if turned < 10 || turned > 12 {
			t.Errorf("first packet at %v: %d panes in %v", tc.first, turned, 100*time.Second-tc.first)
		}
	}
}

// TestShareWatches: a detector that shares watches the servers of its host from the first request on,
// and other ones as it would: the busier one evicts the less busy one, and a server that is not busy
// evicts none that is asked.
func TestShareWatches(t *testing.T) {
	w := newWorld(1)
	own := w.parse("198.51.100.1")
	w.d.Share(1, func(a netip.AddrPort) bool { return track.HostOf(a) == own })
	ask := func(addr string, port uint16) (isWatched bool) {
		s := w.server(addr, port)
		s.take(request{from: w.ip(0xcb007101), port: 40000, asks: dissect.AskInfo}, nil)
		return w.d.Watched(netip.AddrPortFrom(s.host.Addr(), port)) != nil
	}
	for i := range uint16(heavyTargets) {
		w.now += time.Millisecond
		if !ask("198.51.100.1", 1000+i) {
			t.Errorf("server %d is not watched from its first request on", i)
		}
	}
	w.now += time.Second
	if ask("198.51.100.1", 2000) {
		t.Error("a server is watched although there is no room")
	}
	if ask("198.51.100.2", 1000) {
		t.Error("a server of another host is watched after one request")
	}
	for i := range 40 {
		if isWatched := ask("198.51.100.2", 1000); isWatched != (i+2 >= promoteSecond) {
			t.Errorf("a server of another host is watched: %t, after %d requests", isWatched, i+2)
		}
	}
	w.now += 30 * time.Second
	if ask("198.51.100.1", 2000) {
		t.Error("a server evicted one that was asked 30 s ago")
	}
	w.now += 60 * time.Second
	if !ask("198.51.100.1", 2000) {
		t.Error("a server is not watched although others were not asked for a minute")
	}
	w.run(w.now)
}

// TestMeasure: what a detector gives out in the midst of a second changes nothing.
func TestMeasure(t *testing.T) {
	run := func(measures bool) []*record {
		w := newWorld(1)
		w.d.Share(1, func(netip.AddrPort) bool { return true })
		s := w.server("198.51.100.1", 27015)
		end := netip.AddrPortFrom(s.host.Addr(), s.port)
		var f measure.Features
		w.every(400, 40*time.Second, 70*time.Second, func(i int) {
			s.take(request{from: w.anywhere(), port: uint16(i), asks: dissect.AskInfo, ttl: 117}, nil)
			if x := w.d.Watched(end); x != nil && measures && i%100 == 0 {
				w.d.Measure(&f, x)
				var shape measure.Shape
				w.d.MergeShape(&shape, x)
			}
		})
		w.every(2, 0, 80*time.Second, func(i int) {
			s.take(request{from: w.ip(0xcb007101), port: 40000, asks: dissect.AskInfo}, nil)
		})
		w.run(90 * time.Second)
		if measures && f[measure.Sources] < 4000 {
			t.Errorf("%.0f sources", f[measure.Sources])
		}
		return w.incidents
	}
	with, without := run(true), run(false)
	if len(with) != 1 || len(without) != 1 || with[0].Kind != FloodSpoofed || with[0].Peak != without[0].Peak ||
		with[0].Weight != without[0].Weight || with[0].Detected != without[0].Detected || with[0].End != without[0].End {
		t.Errorf("%+v\n%+v", with, without)
	}
}
