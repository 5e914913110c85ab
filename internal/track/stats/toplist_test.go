package stats

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

func host(n uint64) hostKey {
	var k hostKey
	binary.BigEndian.PutUint64(k[8:], n)
	return k
}

// TestTopListExact: as long as there is room the counts are exact.
func TestTopListExact(t *testing.T) {
	top := newTopList(4)
	for _, n := range []uint64{1, 2, 2, 3, 3, 3, 1, 2, 2} {
		k := host(n)
		top.add(&k, n)
	}
	top.reserve(host(4))
	top.reserve(host(1))
	want := []counter{{key: host(2), count: 4}, {key: host(3), count: 3}, {key: host(1), count: 2}, {key: host(4)}}
	for i, w := range want {
		got := top.entries[top.order[i]]
		if got.key != w.key || got.count != w.count || got.maxError != 0 {
			t.Errorf("place %d:\ngot  %+v\nwant %+v", i, got, w)
		}
	}
	if top.hasOverflowed {
		t.Error("says that an address had no counter")
	}
	top.reserve(host(5))
	if !top.hasOverflowed {
		t.Error("does not say that an address had no counter")
	}
}

// TestTopListAgainstExact: counts are too low by what the doorkeeper turned away at most, too
// high by what they say at most, and whoever came more often than one in size times, and was
// not turned away, has a counter. The order holds after every step.
func TestTopListAgainstExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 40 {
		size := 1 + rng.IntN(40)
		top := newTopList(size)
		exact := map[hostKey]uint64{}
		universe := 1 + rng.IntN(300)
		skew := rng.Float64() * 3
		const n = 5000
		for range n {
			k := host(uint64(float64(universe) * pow(rng.Float64(), 1+skew)))
			exact[k]++
			top.add(&k, k.Hash(uint64(round)))
		}
		checkOrder(t, top)
		low := top.door.rounds
		held := map[hostKey]bool{}
		for _, e := range top.entries {
			held[e.key] = true
			if want := exact[e.key]; e.count+low < want || e.count-e.maxError > want {
				t.Errorf("round %d: %v\ngot  %d, at most %d too high\nwant %d", round, e.key, e.count, e.maxError, want)
			}
			if e.maxError > n/uint64(size) {
				t.Errorf("round %d: error %d above %d", round, e.maxError, n/size)
			}
		}
		for k, c := range exact {
			if c > n/uint64(size)+low && !held[k] {
				t.Errorf("round %d: %v came %d times of %d and has none of %d counters", round, k, c, n, size)
			}
		}
	}
}

func pow(x, y float64) float64 {
	r := 1.0
	for ; y >= 1; y-- {
		r *= x
	}
	return r
}

// checkOrder compares order, positions, runs and index with each other.
func checkOrder(t *testing.T, top *topList) {
	t.Helper()
	sorted := slices.IsSortedFunc(top.order, func(a, b uint32) int {
		return int(top.entries[b].count) - int(top.entries[a].count)
	})
	if !sorted {
		t.Fatal("the order is not by count")
	}
	used := map[uint32]uint64{}
	for pos, i := range top.order {
		e := &top.entries[i]
		if int(e.pos) != pos {
			t.Fatalf("entry %d is at %d and says %d", i, pos, e.pos)
		}
		if p := top.index.Peek(e.key); p == nil || *p != i {
			t.Fatalf("entry %d is not found by its key", i)
		}
		first := top.entries[top.order[top.runs[e.run]]]
		if first.count != e.count || first.run != e.run || top.runs[e.run] > e.pos {
			t.Fatalf("entry %d is in the run of %d", e.count, first.count)
		}
		if before, ok := used[e.run]; ok && before != e.count {
			t.Fatalf("run %d has the counts %d and %d", e.run, before, e.count)
		}
		used[e.run] = e.count
	}
	if len(used)+len(top.free) != len(top.runs) {
		t.Fatalf("%d runs are used and %d free, of %d", len(used), len(top.free), len(top.runs))
	}
}

// FuzzTopList: whatever comes, the parts of the list agree with each other.
func FuzzTopList(f *testing.F) {
	f.Add([]byte{1, 2, 2, 3, 3, 3, 200, 1, 201}, uint8(3))
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		top := newTopList(int(size % 16))
		total, seen := uint64(0), uint64(0)
		for _, b := range in {
			if b >= 200 {
				top.reserve(host(uint64(b % 16)))
			} else {
				k := host(uint64(b % 16))
				top.add(&k, k.Hash(1))
				total++
			}
			checkOrder(t, top)
		}
		for _, e := range top.entries {
			seen += e.count
		}
		seen += uint64(top.door.turned)
		if seen != total {
			t.Fatalf("counters add up to %d of %d", seen, total)
		}
	})
}

// TestDoorkeeper: a key is turned away once in each round, and the rounds are as many as the
// keys that were turned away fill.
func TestDoorkeeper(t *testing.T) {
	var d doorkeeper
	rng := rand.New(rand.NewPCG(3, 4))
	turned, again := 0, 0
	const n = 10 * doorFill
	for range n {
		h := rng.Uint64()
		if d.admits(h) {
			continue
		}
		turned++
		if !d.admits(h) {
			again++
		}
	}
	if want := uint64(turned-1)/doorFill + 1; again > 0 || d.rounds != want {
		t.Errorf("%d keys were turned away, %d of them twice\ngot  %d rounds\nwant %d", turned, again, d.rounds, want)
	}
	if turned < n*97/100 {
		t.Errorf("%d of %d keys that came once were turned away", turned, n)
	}
}
