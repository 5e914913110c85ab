package sketch

import (
	"math/rand/v2"
	"testing"

	"qsniff/internal/base/lru"
)

// tally is a Top beside the truth.
type tally struct {
	t    testing.TB
	top  *Top[uint64, int]
	true map[uint64]uint32
}

func newTally(t testing.TB, n int) *tally {
	return &tally{t, NewTop[uint64, int](n), map[uint64]uint32{}}
}

func (x *tally) add(key, h uint64) {
	x.true[key]++
	if v := x.top.Add(&key, h); v != nil {
		*v++
	}
}

// check compares with the truth: bounds hold for every key that is kept, no key is
// kept twice, what is kept of a key is as old as its lower bound, and the counts of
// all keys, with what was turned away, add up to all that came.
func (x *tally) check(hash func(uint64) uint64) {
	x.t.Helper()
	seen, sum, all := map[uint64]bool{}, uint64(0), uint64(0)
	x.top.Each(func(it *Item[uint64, int], low, high uint32) {
		want := x.true[it.Key]
		if low == 0 || low > want || want > high {
			x.t.Errorf("key %d: got  %d to %d\nwant bounds of %d", it.Key, low, high, want)
		}
		if it.Value != int(low) {
			x.t.Errorf("key %d: what is kept of it\ngot  %d\nwant %d, as often as it came since", it.Key, it.Value, low)
		}
		if seen[it.Key] {
			x.t.Errorf("key %d is kept twice", it.Key)
		}
		seen[it.Key] = true
		sum += uint64(high - x.top.sets[hash(it.Key)&x.top.mask].refusals)
		v, l, h := x.top.Find(it.Key, hash(it.Key))
		if v != &it.Value || l != low || h != high {
			x.t.Errorf("Find of key %d: got  %d to %d\nwant %d to %d, as Each says", it.Key, l, h, low, high)
		}
	})
	for i := range x.top.sets {
		sum += uint64(x.top.sets[i].refusals)
	}
	for key, n := range x.true {
		all += uint64(n)
		if v, low, high := x.top.Find(key, hash(key)); !seen[key] && (v != nil || low != 0 || high != 0) {
			x.t.Errorf("Find of key %d, which Each does not know: got  %d to %d\nwant nothing", key, low, high)
		}
	}
	if sum != all {
		x.t.Errorf("counts add up\ngot  %d\nwant %d", sum, all)
	}
}

func spread(k uint64) uint64 { return lru.Mix(lru.Mix(7, k), 0) }

// Each key is within its bounds, whatever the distribution.
func TestTopBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	zipf := rand.NewZipf(r, 1.2, 1, 1<<20)
	tests := []struct {
		name string
		next func(i int) uint64
	}{
		{"one", func(int) uint64 { return 5 }},
		{"fits", func(i int) uint64 { return uint64(i % 32) }},
		{"uniform", func(int) uint64 { return r.Uint64N(10_000) }},
		{"zipf", func(int) uint64 { return zipf.Uint64() }},
		{"all new", func(i int) uint64 { return uint64(i) }},
		{"rounds", func(i int) uint64 { return uint64(i % 1000) }},
		{"late", func(i int) uint64 { return uint64(i / 50_000 * i) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x := newTally(t, 64)
			for i := range 100_000 {
				k := tt.next(i)
				x.add(k, spread(k))
			}
			x.check(spread)
		})
	}
}

// Keys of a twentieth of a set's share are found among a million that come once,
// and their lower bound is worth something.
func TestTopHeavy(t *testing.T) {
	const heavy, each, noise = 20, 5000, 1_000_000
	top := NewTop[uint64, int](512)
	r := rand.New(rand.NewPCG(2, 2))
	left := make([]int, heavy)
	for i := range heavy * each {
		left[i%heavy]++
	}
	for n := noise + heavy*each; n > 0; n-- {
		key := uint64(1000 + n)
		if r.IntN(n) < total(left) {
			k := r.IntN(heavy)
			for left[k] == 0 {
				k = (k + 1) % heavy
			}
			left[k]--
			key = uint64(k)
		}
		top.Add(&key, spread(key))
	}
	for k := range uint64(heavy) {
		v, low, high := top.Find(k, spread(k))
		if v == nil || low > each || high < each || low < each/2 {
			t.Errorf("key %d of 0.45 %% of all: got  %d to %d, kept: %v\nwant %d to %d at least, around %d", k, low, high, v != nil, each/2, each, each)
		}
	}
}

func total(n []int) (sum int) {
	for _, x := range n {
		sum += x
	}
	return sum
}

// As long as all keys fit, counts are exact.
func TestTopExact(t *testing.T) {
	top := NewTop[uint64, int](8)
	for i := range uint64(8) {
		for range i + 1 {
			top.Add(&i, spread(i))
		}
	}
	for i := range uint64(8) {
		if _, low, high := top.Find(i, spread(i)); uint64(low) != i+1 || low != high {
			t.Errorf("key %d: got  %d to %d\nwant %d", i, low, high, i+1)
		}
	}
}

// A key that takes another one's place finds nothing of it.
func TestTopFresh(t *testing.T) {
	top := NewTop[uint64, int](8)
	for i := range uint64(9) {
		v := top.Add(&i, spread(i))
		for v == nil { // the set is full, and it has to come more than once
			v = top.Add(&i, spread(i))
		}
		if *v != 0 {
			t.Errorf("key %d begins with\ngot  %d\nwant 0", i, *v)
		}
		*v = 100 + int(i)
	}
	top.Reset()
	n := 0
	top.Each(func(*Item[uint64, int], uint32, uint32) { n++ })
	if n > 0 {
		t.Errorf("after Reset\ngot  %d keys\nwant 0", n)
	}
	eight := uint64(8)
	if v := top.Add(&eight, spread(8)); *v != 0 {
		t.Errorf("after Reset key 8 begins with\ngot  %d\nwant 0", *v)
	}
	if _, low, high := top.Find(8, spread(8)); low != 1 || high != 1 {
		t.Errorf("after Reset\ngot  %d to %d\nwant 1 to 1", low, high)
	}
}

// Keys with the same hash are still different keys.
func TestTopSameHash(t *testing.T) {
	same := func(uint64) uint64 { return 0x1234_5678_9abc_def0 }
	x := newTally(t, 64)
	for i := range uint64(200) {
		x.add(i*i%7, same(0))
	}
	x.check(same)
	if got := len(x.true); got != 4 {
		t.Fatalf("the test has\ngot  %d keys\nwant 4", got)
	}
}

// FuzzTop: the bounds hold whatever comes in whatever order, and however the hashes
// collide.
func FuzzTop(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 1}, uint8(63))
	f.Add([]byte("aaaaabbbbcccdde"), uint8(0))
	f.Fuzz(func(t *testing.T, in []byte, bits uint8) {
		hash := func(k uint64) uint64 { return spread(k) >> (bits % 64) } // fewer bits collide more
		x := newTally(t, 16)
		for i, b := range in {
			k := uint64(b)
			if b >= 0xf0 { // and some that come once
				k = uint64(i) << 8
			}
			x.add(k, hash(k))
		}
		x.check(hash)
	})
}

func BenchmarkTop(b *testing.B) {
	for _, bb := range []struct {
		name string
		keys int
	}{{"new", 1 << 40}, {"few", 300}} {
		b.Run(bb.name, func(b *testing.B) {
			top := NewTop[uint64, [6]uint64](512)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				k := uint64(n % bb.keys)
				top.Add(&k, spread(k))
			}
		})
	}
}

// EachOfTwo calls with each key of two Tops once, with what Find finds in both.
func TestTopEachOfTwo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	a, b := newTally(t, 64), newTally(t, 64)
	for range 3000 {
		k := r.Uint64N(150)
		a.add(k, spread(k))
		k = 50 + r.Uint64N(150)
		b.add(k, spread(k))
	}
	seen := map[uint64]bool{}
	EachOfTwo(a.top, b.top, func(x, y *Item[uint64, int], low, high uint32) {
		it := x
		if x == nil {
			it = y
		}
		if seen[it.Key] {
			t.Errorf("key %d comes twice", it.Key)
		}
		seen[it.Key] = true
		v, al, ah := a.top.Find(it.Key, spread(it.Key))
		w, bl, bh := b.top.Find(it.Key, spread(it.Key))
		if (x == nil) != (v == nil) || (y == nil) != (w == nil) || low != al+bl || high != ah+bh {
			t.Errorf("key %d\ngot  %v and %v, %d to %d\nwant %d to %d and %d to %d", it.Key, x, y, low, high, al, ah, bl, bh)
		}
	})
	for k := range uint64(200) {
		v, _, _ := a.top.Find(k, spread(k))
		w, _, _ := b.top.Find(k, spread(k))
		if seen[k] != (v != nil || w != nil) {
			t.Errorf("key %d comes: %t, and is kept: %t, %t", k, seen[k], v != nil, w != nil)
		}
	}
}
