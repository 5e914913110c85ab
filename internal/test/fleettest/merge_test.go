package fleettest

import (
	"math"
	"testing"
	"time"

	"qsniff/internal/fleet"
	"qsniff/internal/flood/sketch"
)

// TestMergedCounts: the sketches of all servers for a window, merged, count what came to the fleet in
// exactly that window.
func TestMergedCounts(t *testing.T) {
	t.Parallel()
	type merged struct{ sources, sites sketch.Distinct }
	windows := map[int64]*merged{}
	f := NewFleet(FleetOptions{World: Options{Hosts: 20, Seed: 2, Start: dawn.Add(3 * time.Second)}, Secret: Secret(), Put: func(x *Sensor, m fleet.Message) {
		s, isServer := m.(*fleet.Server)
		if !isServer {
			return
		}
		w := windows[s.Time]
		if w == nil {
			w = &merged{}
			windows[s.Time] = w
		}
		w.sources.Merge(&s.Sources.Distinct)
		w.sites.Merge(&s.Sites.Distinct)
	}})
	f.PlayDay(5 * time.Minute)
	f.Labelled(Carpets[0], 2*time.Minute)
	f.Pass(5*time.Minute, nil)
	sum, n := 0.0, 0
	for end, w := range windows {
		if end < dawn.Add(20*time.Second).UnixNano() {
			continue // a server counts as one of the host from its first answer on
		}
		hosts, sites := f.Truth.Sources(end)
		off := w.sources.Count()/float64(hosts) - 1
		if math.Abs(off) > 4*sketch.DistinctError {
			t.Errorf("%v: got  %.0f sources\nwant %d", time.Unix(0, end).UTC(), w.sources.Count(), hosts)
		}
		if off := w.sites.Count()/float64(sites) - 1; math.Abs(off) > 4*sketch.DistinctError {
			t.Errorf("%v: got  %.0f networks\nwant %d", time.Unix(0, end).UTC(), w.sites.Count(), sites)
		}
		sum += off * off
		n++
	}
	if n < 28 {
		t.Fatalf("got  %d windows\nwant 29 or so", n)
	}
	off := math.Sqrt(sum / float64(n))
	t.Logf("%d windows, sources off by %.2f %% (root mean square)", n, 100*off)
	if off > 1.3*sketch.DistinctError {
		t.Errorf("got  %.2f %%\nwant %.2f %% or so", 100*off, 100*sketch.DistinctError)
	}
}
