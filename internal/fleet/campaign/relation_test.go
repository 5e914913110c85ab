package campaign

import (
	"testing"

	"qsniff/internal/fleet"
	"qsniff/internal/flood/sketch"
)

// attacked returns an incident of a minute with some sources: those from one number to another.
func attacked(sensor string, baseline float64, ranges ...[2]uint64) *incident {
	var d sketch.Distinct
	for _, r := range ranges {
		for i := r[0]; i < r[1]; i++ {
			h := (i + 1) * 0x9e3779b97f4a7c15
			h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
			d.Add(h ^ h>>32)
		}
	}
	return &incident{Key: incidentKey{Sensor: sensor, Run: "1", ID: 1}, Family: ofFloods, Category: "flood_distributed", Target: sensor,
		Start: dawn, End: dawn + 60e9, Updated: dawn + 60e9, Baseline: baseline, Distinct: d.Count(), Sources: d.AppendPacked(nil), Requests: 1000, TopOf: 1000}
}

// TestCommonSources: sources in common are found beyond what chance, the error of sketches and visitors of
// both servers make.
func TestCommonSources(t *testing.T) {
	top := func(x *incident, queries uint32, prefixes ...byte) *incident {
		for _, p := range prefixes {
			x.Top = append(x.Top, fleet.Network{Prefix: fleet.Sealed{p}, Queries: queries})
		}
		return x
	}
	const none, some = false, true
	for _, tc := range []struct {
		name string
		a, b *incident
		want bool
	}{
		{"the same bots", attacked("a", 1, [2]uint64{0, 500}), attacked("b", 1, [2]uint64{0, 500}), some},
		{"half of them", attacked("a", 1, [2]uint64{0, 500}), attacked("b", 1, [2]uint64{250, 750}), some},
		{"a tenth of them", attacked("a", 1, [2]uint64{0, 500}), attacked("b", 1, [2]uint64{450, 950}), none},
		{"others", attacked("a", 1, [2]uint64{0, 5000}), attacked("b", 1, [2]uint64{5000, 10_000}), none},
		{"other bots, the same visitors", attacked("a", 5, [2]uint64{0, 400}, [2]uint64{9000, 9300}), attacked("b", 5, [2]uint64{400, 800}, [2]uint64{9000, 9300}), none},
		{"the same bots, the same visitors", attacked("a", 5, [2]uint64{0, 400}, [2]uint64{9000, 9300}), attacked("b", 5, [2]uint64{0, 400}, [2]uint64{9000, 9300}), some},
		{"few among very many, within the error", attacked("a", 0, [2]uint64{0, 300}), attacked("b", 0, [2]uint64{0, 200_000}), none},
		{"fewer than sketches are compared of", attacked("a", 0, [2]uint64{0, 20}), attacked("b", 0, [2]uint64{0, 20}), none},
		{"one address sends most", top(attacked("a", 0, [2]uint64{0, 5}), 800, 1), top(attacked("b", 0, [2]uint64{0, 5}), 400, 2, 1), some},
		{"an address that many share", top(attacked("a", 0, [2]uint64{0, 5}), 100, 1, 2), top(attacked("b", 0, [2]uint64{0, 5}), 100, 1, 3), none},
		{"one host", attacked("a", 1, [2]uint64{0, 500}), attacked("a", 1, [2]uint64{0, 500}), none},
	} {
		e := New(Options{})
		if x, y := e.commonSources(tc.a, tc.b), e.commonSources(tc.b, tc.a); x != y || (x > 0) != tc.want || x > 1 {
			t.Errorf("%s: %f and %f in common", tc.name, x, y)
		}
	}
	// An hour apart it is another attack, and junk is none of queries.
	a, b := attacked("a", 1, [2]uint64{0, 500}), attacked("b", 1, [2]uint64{0, 500})
	b.Start, b.End = b.Start+3600e9, b.End+3600e9
	c := attacked("c", 1, [2]uint64{0, 500})
	c.Family = ofJunk
	if e := New(Options{}); e.commonSources(a, b) > 0 || e.commonSources(a, c) > 0 {
		t.Error("what is an hour apart, or of another family, is of one campaign")
	}
}

// TestStandouts: one server, or one sensor, makes no carpet of what happens at others.
func TestStandouts(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rates map[string][]float64
		want  int
	}{
		{"alike", map[string][]float64{"a": {10, 10}, "b": {10, 12}, "c": {9}}, 5},
		{"one sensor", map[string][]float64{"a": {10, 10, 10, 10}}, 0},
		{"two servers", map[string][]float64{"a": {10}, "b": {10}}, 0},
		{"one server with most", map[string][]float64{"a": {10, 10}, "b": {1000}, "c": {10, 10}}, 4},
		{"a sensor with most", map[string][]float64{"a": {90, 90, 90, 90, 90, 90}, "b": {10}, "c": {9, 8}, "d": {9, 9}}, 5},
		{"nothing is left", map[string][]float64{"a": {1e9, 1e9, 1e9, 1e9, 1e9}, "b": {5}}, 0},
		{"without rates", map[string][]float64{"a": {0, 0}, "b": {0, 0}}, 4},
	} {
		var list []raisedServer
		for _, sensor := range []string{"a", "b", "c", "d"} {
			for _, rate := range tc.rates[sensor] {
				list = append(list, raisedServer{key: entryKey{Sensor: sensor}, rate: rate})
			}
		}
		if got := dropStandouts(list); len(got) != tc.want {
			t.Errorf("%s: %d servers are left of %d, not %d", tc.name, len(got), len(list), tc.want)
		}
	}
}
