package sketch

import "testing"

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
