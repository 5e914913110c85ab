package sketch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"qsniff/internal/base/lru"
)

// hash is the n-th of a series of hashes. One round of Mix would be even rather
// than random over numbers in a row.
func hash(series, n int) uint64 { return lru.Mix(lru.Mix(uint64(series), uint64(n)), 0) }

// The error of one sketch is a matter of luck, so that of many is taken: the root
// of the mean square is what the standard error promises, and the mean tells
// whether the estimate leans to one side.
func TestDistinct(t *testing.T) {
	tests := []struct {
		n, runs         int
		deviation, bias float64 // shares of n
	}{
		{1, 100, 1e-3, 1e-3},
		{10, 100, 0.03, 0.01}, // two of ten in one register, now and then
		{100, 100, 0.025, 0.01},
		{1000, 50, 0.03, 0.01},
		{5000, 50, 0.04, 0.03}, // where linear counting hands over to the estimate
		{100_000, 30, 1.4 * DistinctError, 0.02},
		{1_000_000, 10, 1.6 * DistinctError, 0.03},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.n), func(t *testing.T) {
			sum, squares := 0.0, 0.0
			for run := range tt.runs {
				var d Distinct
				for i := range tt.n {
					d.Add(hash(run, i))
				}
				e := d.Count()/float64(tt.n) - 1
				sum += e
				squares += e * e
			}
			bias, deviation := sum/float64(tt.runs), math.Sqrt(squares/float64(tt.runs))
			if deviation > tt.deviation || math.Abs(bias) > tt.bias {
				t.Errorf("got  deviation %.4f, bias %+.4f\nwant at most %.4f and %.4f", deviation, bias, tt.deviation, tt.bias)
			}
		})
	}
}

func TestDistinctRepeats(t *testing.T) {
	var once, often Distinct
	for i := range 3000 {
		once.Add(hash(1, i))
	}
	for i := range 30_000 {
		often.Add(hash(1, i%3000))
	}
	if once != often {
		t.Errorf("hashes that come again change the sketch\ngot  %.1f\nwant %.1f", often.Count(), once.Count())
	}
}

func TestDistinctEmpty(t *testing.T) {
	var d Distinct
	if got := d.Count(); got != 0 {
		t.Errorf("got  %v\nwant 0", got)
	}
	for i := range 100 {
		d.Add(hash(1, i))
	}
	d.Reset()
	if got := d.Count(); got != 0 {
		t.Errorf("after Reset\ngot  %v\nwant 0", got)
	}
}

// Merging is the same as one sketch that was given everything, whatever both have
// in common.
func TestDistinctMerge(t *testing.T) {
	tests := []struct{ a, b, common int }{
		{0, 0, 0}, {100, 0, 0}, {0, 100, 0}, {50, 50, 10}, {5000, 3000, 0}, {5000, 5000, 5000}, {100_000, 10, 0},
	}
	for _, tt := range tests {
		var a, b, union Distinct
		add := func(d *Distinct, from, n int) {
			for i := from; i < from+n; i++ {
				d.Add(hash(2, i))
				union.Add(hash(2, i))
			}
		}
		add(&a, 0, tt.a)
		add(&b, tt.a-tt.common, tt.b)
		other := b
		if got, want := CountOfTwo(&a, &b), union.Count(); got != want {
			t.Errorf("%+v: CountOfTwo\ngot  %v\nwant %v", tt, got, want)
		}
		a.Merge(&b)
		if a != union {
			t.Errorf("%+v\ngot  %.1f\nwant %.1f", tt, a.Count(), union.Count())
		}
		if b != other {
			t.Errorf("%+v: Merge changed what it was given", tt)
		}
	}
}

func BenchmarkDistinctCount(b *testing.B) {
	var d, o Distinct
	for n := range 20_000 {
		d.Add(hash(1, n))
		o.Add(hash(2, n))
	}
	b.ReportAllocs()
	for b.Loop() {
		CountOfTwo(&d, &o)
	}
}

func BenchmarkDistinct(b *testing.B) {
	var d Distinct
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		d.Add(hash(1, n))
	}
}

func TestPacked(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var d, back Distinct
	for n := 0; n < 100_000; n++ {
		d.Add(rng.Uint64())
	}
	b := d.AppendPacked(nil)
	if len(b) != PackedSize {
		t.Errorf("%d bytes", len(b))
	}
	if err := back.Unpack(b); err != nil || back != d {
		t.Errorf("another sketch comes back: %v", err)
	}
	b[0] = 0xff
	if err := back.Unpack(b); err == nil || back != (Distinct{}) {
		t.Errorf("rank 63 is taken: %v", err)
	}
	if err := back.Unpack(b[1:]); err == nil {
		t.Error("a short one is taken")
	}
}
