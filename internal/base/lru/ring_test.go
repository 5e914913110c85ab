package lru_test

import (
	"math/rand/v2"
	"testing"

	"qsniff/internal/base/lru"
	"qsniff/internal/test/race"
)

// ringModel is a ring as a slice, oldest first.
type ringModel[K lru.Key] struct {
	numbers []uint32
	keys    []K
	vals    []int
}

func (m *ringModel[K]) find(k K) int {
	for i := len(m.keys) - 1; i >= 0; i-- {
		if m.keys[i] == k {
			return i
		}
	}
	return -1
}

// checkRing adds n keys and compares what is found of each with the model.
func checkRing[K lru.Key](t *testing.T, r *rand.Rand, capacity, universe, n int, mk func(int) K) {
	t.Helper()
	ring, m := lru.NewRing[K, int](capacity), &ringModel[K]{}
	for step := range n {
		k := mk(r.IntN(universe))
		hash := ring.Hash(&k)
		ring.Prefetch(hash) // at any time, and without an effect
		number, v := ring.Find(&k, hash)
		if i := m.find(k); i < 0 && v != nil || i >= 0 && (v == nil || *v != m.vals[i] || number != m.numbers[i] || &ring.At(number).Val != v) {
			t.Fatalf("step %d, room for %d: found %v, number %d, want place %d of %v", step, capacity, v, number, i, m)
		}
		if v != nil && r.IntN(2) == 0 {
			continue
		}
		if ring.IsFull() != (len(m.keys) == capacity) {
			t.Fatalf("full with %d of %d", len(m.keys), capacity)
		}
		if len(m.keys) == capacity {
			m.keys, m.vals, m.numbers = m.keys[1:], m.vals[1:], m.numbers[1:]
		}
		number, v = ring.Add(&k, hash, number)
		*v = step
		m.keys, m.vals, m.numbers = append(m.keys, k), append(m.vals, step), append(m.numbers, number)
		if ring.Len() != len(m.keys) || ring.First() != m.numbers[0] || ring.Next() != number+1 || ring.At(ring.First()).Key != m.keys[0] {
			t.Fatalf("%d entries from %d to %d, want %d from %d", ring.Len(), ring.First(), ring.Next(), len(m.keys), m.numbers[0])
		}
		if ring.At(ring.Next()) != nil || ring.At(ring.First()-1) != nil {
			t.Fatal("there is an entry that is not there")
		}
	}
}

func TestRing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, capacity := range []int{1, 2, 3, 7, 8, 50, 1000} {
		checkRing(t, r, capacity, 2*capacity, 5000, testKey)
		checkRing(t, r, min(capacity, 50), 2*capacity, 2000, func(n int) clash { return clash(n) })
	}
}

func TestRingAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	ring := lru.NewRing[key, int](100)
	n := 0
	if got := testing.AllocsPerRun(1000, func() {
		n++
		k := testKey(n)
		hash := ring.Hash(&k)
		number, _ := ring.Find(&k, hash)
		ring.Add(&k, hash, number)
	}); got != 0 {
		t.Errorf("got  %v allocations\nwant 0", got)
	}
}

// BenchmarkRingFlood finds and adds keys that are new.
func BenchmarkRingFlood(b *testing.B) {
	rings := make([]*lru.Ring[key, [2]uint64], 16)
	for i := range rings {
		rings[i] = lru.NewRing[key, [2]uint64](4096)
	}
	for n := 0; b.Loop(); n++ {
		ring, k := rings[n*7%16], testKey(n*0x9e3779b1)
		hash := ring.Hash(&k)
		if _, v := ring.Find(&k, hash); v == nil {
			ring.Add(&k, hash, 0)
		}
	}
}

// BenchmarkTableFlood is the same with a Table.
func BenchmarkTableFlood(b *testing.B) {
	tables := make([]*lru.Table[key, [2]uint64], 16)
	for i := range tables {
		tables[i] = lru.New[key, [2]uint64](4096)
	}
	for n := 0; b.Loop(); n++ {
		t, k := tables[n*7%16], testKey(n*0x9e3779b1)
		if t.Get(k) == nil {
			t.Put(k)
		}
	}
}
