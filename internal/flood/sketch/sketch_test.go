package sketch

import (
	"fmt"
	"math"
	"testing"

	"qsniff/internal/test/race"
)

// What was added in this period or the one before is always found.
func TestRecentNeverForgetsEarly(t *testing.T) {
	const each = 20_000
	r := NewRecent(64 << 10)
	for turn := range 5 {
		for i := range each {
			r.Add(hash(turn, i))
		}
		for _, back := range []int{0, 1} {
			if turn < back {
				continue
			}
			for i := range each {
				if !r.Has(hash(turn-back, i)) {
					t.Fatalf("turn %d: hash %d of turn %d is not known", turn, i, turn-back)
				}
			}
		}
		r.Rotate()
	}
}

// Behind two turns nothing is left, but what others set.
func TestRecentForgets(t *testing.T) {
	r := NewRecent(4 << 10)
	for i := range 1000 {
		r.Add(hash(1, i))
	}
	r.Rotate()
	r.Rotate()
	known := 0
	for i := range 1000 {
		if r.Has(hash(1, i)) {
			known++
		}
	}
	if known != 0 {
		t.Errorf("got  %d of 1,000 known\nwant 0", known)
	}
}

// Both bits of a hash lie in one word, so that some words fill before others: the
// rate is that of a Bloom filter with two bits, and a little more.
func TestRecentFalse(t *testing.T) {
	tests := []struct {
		load float64 // hashes for each bit of a filter
		most float64 // share of others that are known
	}{
		{0, 0}, {0.01, 0.002}, {0.05, 0.02}, {0.1, 0.05}, {0.25, 0.2},
	}
	const size = 64 << 10
	for _, tt := range tests {
		r := NewRecent(size)
		for i := range int(tt.load * size * 8) {
			r.Add(hash(1, i))
		}
		const others = 100_000
		known := 0
		for i := range others {
			if r.Has(hash(2, i)) {
				known++
			}
		}
		if got := float64(known) / others; got > tt.most {
			t.Errorf("load %.2f: got  %.4f known by mistake\nwant %.4f at most", tt.load, got, tt.most)
		}
	}
}

func TestLinear256(t *testing.T) {
	tests := []struct {
		n     int
		error float64 // of the mean of runs, as a share
	}{{0, 0}, {1, 0}, {10, 0.03}, {50, 0.03}, {100, 0.04}, {300, 0.06}}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.n), func(t *testing.T) {
			const runs = 50
			sum := 0
			for run := range runs {
				var l Linear256
				for i := range tt.n {
					l.Add(hash(run, i))
					l.Add(hash(run, i/2))
				}
				sum += l.Count()
			}
			if got := float64(sum) / runs; math.Abs(got-float64(tt.n)) > tt.error*float64(tt.n) {
				t.Errorf("got  %.1f\nwant %d, %.0f %% off at most", got, tt.n, 100*tt.error)
			}
		})
	}
}

func TestLinear1024(t *testing.T) {
	tests := []struct {
		n     int
		error float64
	}{{0, 0}, {1, 0}, {10, 0.02}, {100, 0.02}, {1000, 0.03}, {3000, 0.05}}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.n), func(t *testing.T) {
			const runs = 50
			sum := 0
			for run := range runs {
				var w Linear1024
				for i := range tt.n {
					w.Add(hash(run, i))
				}
				sum += w.Count()
			}
			if got := float64(sum) / runs; math.Abs(got-float64(tt.n)) > tt.error*float64(tt.n) {
				t.Errorf("got  %.1f\nwant %d, %.0f %% off at most", got, tt.n, 100*tt.error)
			}
		})
	}
}

// A sketch whose bits are all set says a number that is finite, and above what it
// was made for.
func TestFull(t *testing.T) {
	var l Linear256
	var w Linear1024
	for i := range 100_000 {
		l.Add(hash(1, i))
		w.Add(hash(1, i))
	}
	if got := l.Count(); got < 1000 || got > 2000 {
		t.Errorf("Linear256\ngot  %d\nwant 1,000 to 2,000", got)
	}
	if got := w.Count(); got < 7000 || got > 8000 {
		t.Errorf("Linear1024\ngot  %d\nwant 7,000 to 8,000", got)
	}
	if got := w.CountWithout(&w); got != 0 {
		t.Errorf("Without itself\ngot  %d\nwant 0", got)
	}
}

func TestMerge(t *testing.T) {
	var a, b, both Linear256
	var wa, wb, wboth Linear1024
	for i := range 60 {
		a.Add(hash(1, i))
		wa.Add(hash(1, i))
		b.Add(hash(1, i+40))
		wb.Add(hash(1, i+40))
	}
	for i := range 100 {
		both.Add(hash(1, i))
		wboth.Add(hash(1, i))
	}
	a.Merge(&b)
	wa.Merge(&wb)
	if a != both {
		t.Errorf("Linear256\ngot  %d\nwant %d", a.Count(), both.Count())
	}
	if wa != wboth {
		t.Errorf("Linear1024\ngot  %d\nwant %d", wa.Count(), wboth.Count())
	}
}

func TestCountWithout(t *testing.T) {
	tests := []struct{ all, answered, others, off int }{
		{0, 0, 0, 0}, {30, 0, 0, 2}, {30, 30, 0, 0}, {260, 5, 0, 12}, {1000, 850, 0, 25}, {1000, 850, 500, 60}, {30, 10, 300, 12},
	}
	for _, tt := range tests {
		const runs = 20
		sum := 0
		for run := range runs {
			var w, o Linear1024
			for i := range tt.all {
				w.Add(hash(run, i))
			}
			for i := range tt.answered {
				o.Add(hash(run, i))
			}
			for i := range tt.others {
				o.Add(hash(run+1000, i))
			}
			sum += w.CountWithout(&o)
		}
		if got, want := float64(sum)/runs, float64(tt.all-tt.answered); math.Abs(got-want) > float64(tt.off) {
			t.Errorf("%+v\ngot  %.1f\nwant %.0f, %d off at most", tt, got, want, tt.off)
		}
	}
}

// Nothing allocates once it is made.
func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	var d, e Distinct
	var few Dominant
	var l Linear256
	var w Linear1024
	top, recent := NewTop[uint64, [4]uint64](512), NewRecent(4<<10)
	n, sum := 0, 0.0
	tests := []struct {
		name string
		f    func()
	}{
		{"Distinct", func() { d.Add(hash(1, n)); e.Merge(&d); sum += e.Count() }},
		{"Top.Add", func() { k := uint64(n); top.Add(&k, hash(1, n)) }},
		{"Top.Find", func() { top.Find(uint64(n), hash(1, n)) }},
		{"Top.Each", func() { top.Each(func(_ *Item[uint64, [4]uint64], low, _ uint32) { sum += float64(low) }) }},
		{"Top.Reset", top.Reset},
		{"Recent", func() { recent.Add(hash(1, n)); recent.Has(hash(2, n)); recent.Rotate() }},
		{"Dominant", func() { few.Add(uint32(n)); few.Leader(); few.CountOf(3) }},
		{"Linear256", func() { l.Add(hash(1, n)); sum += float64(l.Count()) }},
		{"Linear1024", func() { w.Add(hash(1, n)); sum += float64(w.CountWithout(&w)) }},
	}
	for _, tt := range tests {
		if got := testing.AllocsPerRun(200, func() { n++; tt.f() }); got != 0 {
			t.Errorf("%s\ngot  %v allocations\nwant 0", tt.name, got)
		}
	}
}

// repeat is a value and how often it comes.
type repeat struct {
	value uint32
	n     int
}

func TestDominant(t *testing.T) {
	tests := []struct {
		name  string
		first []repeat // in this order
		noise int      // values that come once, after each value in turn
		want  uint32
	}{
		{"one", []repeat{{7, 1}}, 0, 7},
		{"zero", []repeat{{0, 5}}, 0, 0},
		{"half", []repeat{{7, 500}}, 500, 7},
		{"a seventh", []repeat{{7, 1000}}, 6000, 7},
		{"two", []repeat{{7, 300}, {8, 500}}, 500, 8},
		{"late", []repeat{{1, 20}, {2, 20}, {3, 20}, {4, 20}, {5, 20}, {6, 20}, {9, 20}, {10, 20}, {11, 20}, {7, 500}}, 300, 7},
	}
	for _, tt := range tests {
		for _, mixed := range []bool{true, false} {
			var f Dominant
			truth, all, noise := map[uint32]uint32{}, 0, 0
			add := func(v uint32) {
				f.Add(v)
				truth[v]++
				all++
			}
			values := 0
			for _, r := range tt.first {
				values += r.n
			}
			for _, r := range tt.first {
				for range r.n {
					add(r.value)
					for mixed && noise*values < tt.noise*all && noise < tt.noise {
						add(uint32(1000 + noise))
						noise++
					}
				}
			}
			for ; noise < tt.noise; noise++ {
				add(uint32(1000 + noise))
			}
			value, count, n := f.Leader()
			want := truth[tt.want]
			if value != tt.want || count > want || want-count > uint32(all/(dominantSlots+1)) || int(n) != all {
				t.Errorf("%s, mixed %v: got  %d, %d times of %d\nwant %d, %d times of %d, a ninth of all fewer at worst", tt.name, mixed, value, count, n, tt.want, want, all)
			}
			if got := f.CountOf(tt.want); got != count {
				t.Errorf("%s, mixed %v: CountOf(%d)\ngot  %d\nwant %d, as Leader returns", tt.name, mixed, tt.want, got, count)
			}
		}
	}
}

// A value that was driven out leaves its name in a slot without a count; another
// slot may have it again.
func TestDominantReset(t *testing.T) {
	var f Dominant
	for _, v := range []uint32{101, 102, 103, 5, 104, 105, 106, 107, 108} { // the last one takes one from all others
		f.Add(v)
	}
	for range 3 {
		f.Add(5)
	}
	if got := f.CountOf(5); got != 3 {
		t.Errorf("got  %d\nwant 3", got)
	}
	if value, count, _ := f.Leader(); value != 5 || count != 3 {
		t.Errorf("got  %d, %d times\nwant 5, 3 times", value, count)
	}
	f.Reset()
	if got := f.CountOf(5); got != 0 {
		t.Errorf("after Reset\ngot  %d\nwant 0", got)
	}
}

// Values above a ninth of all are never lost, and no count is too high.
func FuzzDominant(f *testing.F) {
	f.Add([]byte("abcdefghiaaaabbbb"))
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		var x Dominant
		truth := map[uint32]uint32{}
		for _, b := range in {
			x.Add(uint32(b))
			truth[uint32(b)]++
		}
		for v, n := range truth {
			if got := x.CountOf(v); got > n || n-got > uint32(len(in)/(dominantSlots+1)) {
				t.Errorf("value %d: got  %d\nwant %d, a ninth of %d fewer at worst", v, got, n, len(in))
			}
		}
	})
}
