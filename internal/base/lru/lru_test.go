package lru_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"qsniff/internal/base/lru"
	"qsniff/internal/test/race"
)

type key struct {
	addr [16]byte
	port uint16
}

func (k key) Hash(seed uint64) uint64 {
	return lru.Mix(lru.MixBytes(seed, k.addr[:]), uint64(k.port))
}

// clash is a key whose hashes fall into few values, as after a lucky attack.
type clash uint32

func (c clash) Hash(uint64) uint64 { return uint64(c) % 3 }

func testKey(n int) key {
	var k key
	binary.BigEndian.PutUint32(k.addr[12:], uint32(n))
	k.port = uint16(n)
	return k
}

// model is the table as a map and a slice, oldest first.
type model[K lru.Key] struct {
	vals  map[K]int
	order []K
	cap   int
}

func (m *model[K]) drop(k K) bool {
	if _, ok := m.vals[k]; !ok {
		return false
	}
	delete(m.vals, k)
	for i := range m.order {
		if m.order[i] == k {
			m.order = append(m.order[:i], m.order[i+1:]...)
			break
		}
	}
	return true
}

func (m *model[K]) use(k K, v int) {
	m.drop(k)
	m.vals[k] = v
	m.order = append(m.order, k)
}

func check[K lru.Key](t *testing.T, tab *lru.Table[K, int], m *model[K]) {
	t.Helper()
	if tab.Len() != len(m.vals) {
		t.Fatalf("Len\n got %d\nwant %d", tab.Len(), len(m.vals))
	}
	k, v, ok := tab.Oldest()
	if ok != (len(m.order) > 0) {
		t.Fatalf("Oldest ok\n got %v\nwant %v", ok, len(m.order) > 0)
	}
	if ok && (k != m.order[0] || *v != m.vals[k]) {
		t.Fatalf("Oldest\n got %v = %d\nwant %v = %d", k, *v, m.order[0], m.vals[m.order[0]])
	}
}

func runModel[K lru.Key](t *testing.T, r *rand.Rand, capacity, keys, steps int, mk func(int) K) {
	tab := lru.New[K, int](capacity)
	m := &model[K]{vals: map[K]int{}, cap: capacity}
	for step := range steps {
		k := mk(r.IntN(keys))
		want, had := m.vals[k]
		switch r.IntN(5) {
		case 0, 1:
			v, gone := tab.Put(k)
			if *v != want {
				t.Fatalf("step %d: Put(%v)\n got %d\nwant %d", step, k, *v, want)
			}
			full := !had && len(m.vals) == capacity
			if (gone != nil) != full {
				t.Fatalf("step %d: evicted\n got %v\nwant %v", step, gone != nil, full)
			}
			if full {
				if old := m.order[0]; gone.Key != old || gone.Val != m.vals[old] {
					t.Fatalf("step %d: evicted\n got %v = %d\nwant %v = %d", step, gone.Key, gone.Val, old, m.vals[old])
				}
				m.drop(m.order[0])
			}
			*v = step + 1
			m.use(k, step+1)
		case 2:
			if got := tab.Delete(k); got != had {
				t.Fatalf("step %d: Delete(%v)\n got %v\nwant %v", step, k, got, had)
			}
			m.drop(k)
		case 3:
			v := tab.Get(k)
			if (v != nil) != had || had && *v != want {
				t.Fatalf("step %d: Get(%v)\n got %v\nwant %d, %v", step, k, v, want, had)
			}
			if had {
				m.use(k, want)
			}
		case 4:
			v := tab.Peek(k)
			if (v != nil) != had || had && *v != want {
				t.Fatalf("step %d: Peek(%v)\n got %v\nwant %d, %v", step, k, v, want, had)
			}
		}
		check(t, tab, m)
	}
	for len(m.order) > 0 {
		tab.Delete(m.order[0])
		m.drop(m.order[0])
		check(t, tab, m)
	}
}

func TestAgainstMap(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		capacity := 1 + r.IntN(40)
		runModel(t, r, capacity, 1+r.IntN(3*capacity), 4000, testKey)
		runModel(t, r, capacity, 1+r.IntN(3*capacity), 4000, func(n int) clash { return clash(n) })
	}
}

func TestCapacityBounds(t *testing.T) {
	tab := lru.New[key, int](-5)
	if tab.Cap() != 1 {
		t.Errorf("Cap\n got %d\nwant 1", tab.Cap())
	}
	tab.Put(testKey(1))
	if _, gone := tab.Put(testKey(2)); gone == nil || gone.Key != testKey(1) {
		t.Errorf("evicted\n got %v\nwant %v", gone, testKey(1))
	}
}

func TestSeedMovesKeys(t *testing.T) {
	same := 0
	for n := range 1000 {
		if testKey(n).Hash(1)&1023 == testKey(n).Hash(2)&1023 {
			same++
		}
	}
	if same > 20 { // one in 1,024 is expected
		t.Errorf("keys in the same slot under two seeds\n got %d\nwant about 1", same)
	}
}

func TestHashSpreads(t *testing.T) {
	const slots, keys = 1024, 4096
	for _, seed := range []uint64{0, 1, ^uint64(0)} {
		var count [slots]int
		for n := range keys {
			count[testKey(n).Hash(seed)%slots]++
		}
		worst := 0
		for _, c := range count {
			worst = max(worst, c)
		}
		if worst > 20 { // mean 4; a random function stays below 16
			t.Errorf("seed %d: fullest of %d slots\n got %d\nwant at most 20", seed, slots, worst)
		}
	}
}

func TestMixBytesInPieces(t *testing.T) {
	b := make([]byte, 61)
	for i := range b {
		b[i] = byte(i * 7)
	}
	whole := lru.MixBytes(5, b)
	if got := lru.MixBytes(lru.MixBytes(5, b[:24]), b[24:]); got != whole {
		t.Errorf("in two pieces\n got %x\nwant %x", got, whole)
	}
	b[60]++
	if lru.MixBytes(5, b) == whole {
		t.Error("the last byte does not count")
	}
}

func TestNoAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	tab := lru.New[key, [3]uint64](64)
	n := 0
	allocs := testing.AllocsPerRun(2000, func() {
		n++
		v, _ := tab.Put(testKey(n))
		v[0]++
		tab.Get(testKey(n - 3))
		tab.Peek(testKey(n - 5))
		if n%4 == 0 {
			tab.Delete(testKey(n - 1))
		}
	})
	if allocs != 0 {
		t.Errorf("allocations\n got %v\nwant 0", allocs)
	}
}

func BenchmarkPutGet(b *testing.B) {
	tab := lru.New[key, [3]uint64](65536)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		tab.Put(testKey(n & 0x1ffff))
		tab.Get(testKey((n - 40000) & 0x1ffff))
	}
}
