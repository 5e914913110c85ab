package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLatencyExact: as many times as there are cells give exact percentiles.
func TestLatencyExact(t *testing.T) {
	var l latency
	for _, ms := range []int64{20, 10, 40, 30} {
		l.add(ms * 1e6)
	}
	for _, tc := range []struct {
		share float64
		want  uint32
	}{{0.5, 20_000}, {0.75, 30_000}, {0.95, 40_000}, {0.01, 10_000}} {
		if got := l.percentile(tc.share); got != tc.want {
			t.Errorf("%v:\ngot  %d\nwant %d", tc.share, got, tc.want)
		}
	}
	if !l.isExact() || l.max != 40_000 {
		t.Errorf("exact %t, max %d", l.isExact(), l.max)
	}
}

// TestLatencyIsExactUntilFull: the first time beyond the cells makes counts of them.
func TestLatencyIsExactUntilFull(t *testing.T) {
	var l latency
	for i := range 65 {
		if want := i <= 64; l.isExact() != want {
			t.Errorf("after %d times:\ngot  exact %t\nwant %t", i, l.isExact(), want)
		}
		l.add(int64(i+1) * 1e6)
	}
	if l.isExact() {
		t.Error("65 times are exact")
	}
}

// TestLatencyAgainstExact: percentiles are as near to those of all times as they
// say, between the end of the first cell and the begin of the last.
func TestLatencyAgainstExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 30 {
		var l latency
		n := 1 + rng.IntN(3000)
		scale := math.Exp(rng.Float64()*6) * 300 // microseconds
		var all []uint32
		for range n {
			us := uint32(min(max(scale*math.Exp(rng.NormFloat64()), 64), 3e6))
			all = append(all, us)
			l.add(int64(us) * 1000)
		}
		slices.Sort(all)
		for _, share := range []float64{0.01, 0.5, 0.95, 0.99, 1} {
			want := all[nearestRank(share, uint64(n))-1]
			got := l.percentile(share)
			bound := latencyError * float64(want)
			if l.isExact() {
				bound = 0
			}
			if off := math.Abs(float64(got) - float64(want)); off > bound+1 {
				t.Errorf("round %d, %d times, %v:\ngot  %d\nwant %d", round, n, share, got, want)
			}
		}
		if l.max != all[n-1] || l.min != all[0] {
			t.Errorf("round %d:\ngot  %d to %d\nwant %d to %d", round, l.min, l.max, all[0], all[n-1])
		}
	}
}

// TestCells: cells rise with times, and the middle of each lies in it.
func TestCells(t *testing.T) {
	last := 0
	for us := uint32(0); us < 1<<24; us += 1 + us/64 {
		cell := cellOf(us)
		if cell < last || cell > last+1 {
			t.Fatalf("%d us is in cell %d, after cell %d", us, cell, last)
		}
		last = cell
	}
	if last != latencyCells-1 {
		t.Errorf("the last cell used is %d", last)
	}
	for cell := 1; cell < latencyCells; cell++ {
		if got := cellOf(cellMiddle(cell)); got != cell {
			t.Errorf("the middle of cell %d is in cell %d", cell, got)
		}
	}
}

// TestLatencyExtremes: times that no cell is for.
func TestLatencyExtremes(t *testing.T) {
	var l latency
	for range 100 {
		l.add(-5)
		l.add(math.MaxInt64)
	}
	if got := l.percentile(0.25); got != 32 { // the middle of the first cell
		t.Errorf("got  %d\nwant 32", got)
	}
	if got := l.percentile(1); got != math.MaxUint32 {
		t.Errorf("got  %d\nwant %d", got, uint32(math.MaxUint32))
	}
	if got := new(latency).percentile(0.5); got != 0 {
		t.Errorf("of nothing: %d", got)
	}
}
