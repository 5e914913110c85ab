package stats

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/race"
)

func TestSeries(t *testing.T) {
	for _, tc := range []struct {
		name     string
		interval time.Duration
		at       []time.Duration // of requests
		want     []uint64
		each     time.Duration
	}{
		{"one", 0, []time.Duration{0}, []uint64{1}, time.Millisecond},
		{"asked for", time.Second, []time.Duration{0, 999 * time.Millisecond, time.Second, 3 * time.Second}, []uint64{2, 1, 0, 1}, time.Second},
		{"one a second for a minute", 0, seconds(60), ones(60), time.Second},
		{"one more", 0, seconds(61), append(twos(30), 1), 2 * time.Second},
		{"fives", 0, seconds(300), fives(60), 5 * time.Second},
		{"time went back", time.Second, []time.Duration{5 * time.Second, 0, 6 * time.Second}, []uint64{2, 1}, time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSeries(tc.interval.Nanoseconds(), maxPoints)
			for _, at := range tc.at {
				s.pointAt(start+at.Nanoseconds()).Requests++
			}
			if tc.interval == 0 {
				s.narrow()
			}
			var got []uint64
			for i := range s.points {
				got = append(got, s.points[i].Requests)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
			if time.Duration(s.interval) != tc.each {
				t.Errorf("interval:\ngot  %v\nwant %v", time.Duration(s.interval), tc.each)
			}
		})
	}
}

func seconds(n int) (at []time.Duration) {
	for i := range n {
		at = append(at, time.Duration(i)*time.Second)
	}
	return at
}

func ones(n int) []uint64  { return filled(n, 1) }
func twos(n int) []uint64  { return filled(n, 2) }
func fives(n int) []uint64 { return filled(n, 5) }

func filled(n int, v uint64) (vs []uint64) {
	for range n {
		vs = append(vs, v)
	}
	return vs
}

// TestSeriesBounds: no jump of time makes more points than there is room for, and
// nothing that was counted is lost.
func TestSeriesBounds(t *testing.T) {
	for _, interval := range []int64{0, 1e6, 1e9} {
		s := newSeries(interval, maxPoints)
		times := []int64{start, start + 1, start + 1e9, start + 86_400e9, start - 1e18, start + 86_400e9*365, math.MaxInt64, math.MinInt64}
		for _, at := range times {
			s.pointAt(at).Requests++
		}
		if len(s.points) > maxPoints {
			t.Errorf("interval %d: %d points", interval, len(s.points))
		}
		sum := uint64(0)
		for i := range s.points {
			sum += s.points[i].Requests
		}
		if sum != uint64(len(times)) {
			t.Errorf("interval %d:\ngot  %d\nwant %d", interval, sum, len(times))
		}
		s.narrow()
		if len(s.points) > autoPoints {
			t.Errorf("interval %d: %d points in the end", interval, len(s.points))
		}
	}
	s := newSeries(1e9, maxPoints)
	s.pointAt(math.MinInt64) // then everything there is of time
	s.pointAt(math.MaxInt64).Requests++
	if len(s.points) > maxPoints {
		t.Errorf("%d points", len(s.points))
	}
}

// TestSeriesAllocations: the series takes its memory once.
func TestSeriesAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	got := testing.AllocsPerRun(1, func() {
		s := newSeries(0, maxPoints)
		for i := range int64(2 * maxPoints) {
			s.pointAt(start+i*autoInterval).Requests++
		}
	})
	if got > 1 {
		t.Errorf("allocations for %d points\ngot  %v\nwant 1", 2*maxPoints, got)
	}
}
