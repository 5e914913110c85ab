package lru

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// host is a key like most: two words.
type host [2]uint64

func (h host) Hash(seed uint64) uint64 { return Mix(Mix(seed, h[0]), h[1]) }

const (
	room    = 4096
	repeats = 8
)

// collide looks for keys that begin in eight slots of tab, as who knows its seed can.
func collide(tab *Table[host, int], seed uint64, n int) []host {
	if tab.slots == nil {
		tab.allocate()
	}
	r := rand.New(rand.NewPCG(1, 2))
	ks := make([]host, 0, n)
	for len(ks) < n {
		k := host{0xffff << 32, r.Uint64()}
		if Spread(k.Hash(seed))&uint32(len(tab.slots)-1) < 8 {
			ks = append(ks, k)
		}
	}
	return ks
}

func others(n int) []host {
	r := rand.New(rand.NewPCG(3, 4))
	ks := make([]host, n)
	for i := range ks {
		ks[i] = host{0xffff << 32, r.Uint64()}
	}
	return ks
}

// run is how many slots a search for k looks at.
func (t *Table[K, V]) run(k K) int {
	if t.slots == nil {
		return 0
	}
	mask := uint32(len(t.slots) - 1)
	n := 1
	for at := Spread(k.Hash(t.seed)) & mask; t.slots[at].entry != 0 && t.items[t.slots[at].entry-1].Key != k; n++ {
		at = (at + 1) & mask
	}
	return n
}

// work is how many slots it takes to put in the keys again and again, with those that
// changes of the seed touch.
func work(tab *Table[host, int], ks []host) int {
	n := 0
	for range repeats {
		for _, k := range ks {
			n += tab.run(k)
			tab.Put(k)
		}
	}
	return n + tab.rekeys*(len(tab.slots)+len(tab.items))
}

// TestSeedsAreSecret: a table that is made now has another seed than the one before,
// and keys chosen for that one are as good as any.
func TestSeedsAreSecret(t *testing.T) {
	ks := others(2 * room)
	random := work(New[host, int](room), ks)
	old := New[host, int](room)
	tab := New[host, int](room)
	if got := work(tab, collide(old, old.seed, 2*room)); got > 2*random || tab.rekeys > 0 {
		t.Errorf("keys chosen for another table\ngot  %d steps, %d seeds after the first\nwant at most %d, 0", got, tab.rekeys, 2*random)
	}
}

// TestSeedFoundOut: who knows the seed of a table makes it change once, which costs no
// more than the table costs anyway.
func TestSeedFoundOut(t *testing.T) {
	random := work(New[host, int](room), others(2*room))
	tab, before := New[host, int](room), Rekeyed()
	ks := collide(tab, tab.seed, 2*room)
	if got := work(tab, ks); got > 2*random {
		t.Errorf("keys chosen for this table\ngot  %d steps\nwant at most %d, twice those of random keys", got, 2*random)
	}
	if tab.rekeys != 1 || Rekeyed()-before != 1 {
		t.Errorf("changes of the seed\ngot  %d, %d counted\nwant 1", tab.rekeys, Rekeyed()-before)
	}
	at := room // all is there in its order, under the new seed
	for k := range tab.All() {
		if tab.Peek(k) == nil || k != ks[at] {
			t.Fatalf("entry %d is %v\nwant %v", at, k, ks[at])
		}
		at++
	}
}

// TestSearchesPay: searches that find what lies far off cost credit too, and so do
// deletions: an attacker would use what is free.
func TestSearchesPay(t *testing.T) {
	for name, use := range map[string]func(tab *Table[host, int], last, absent host){
		"found":   func(tab *Table[host, int], last, absent host) { tab.Get(last) },
		"absent":  func(tab *Table[host, int], last, absent host) { tab.Peek(absent) },
		"deleted": func(tab *Table[host, int], last, absent host) { tab.Delete(tab.items[tab.oldest].Key); tab.Put(absent) },
	} {
		tab := New[host, int](room)
		tab.credit = 1 << 30
		ks := collide(tab, tab.seed, 3*maxRun+1)
		for _, k := range ks[:3*maxRun] {
			tab.Put(k)
		}
		tab.credit = len(tab.slots)
		for range len(tab.slots)/maxRun + 2 {
			use(tab, ks[3*maxRun-1], ks[3*maxRun])
		}
		if tab.rekeys != 1 {
			t.Errorf("%s: changes of the seed\ngot  %d\nwant 1", name, tab.rekeys)
		}
	}
}

// same is a key whose hash leaves out all of it.
type same uint32

func (same) Hash(seed uint64) uint64 { return Mix(seed, 0) }

// TestHopeless: keys that collide under every seed do not make a table change it all
// the time.
func TestHopeless(t *testing.T) {
	tab := New[same, int](1000)
	for n := range 2 * same(room) {
		tab.Put(n % 1500)
	}
	if tab.rekeys > 16 {
		t.Errorf("changes of the seed\ngot  %d\nwant at most 16", tab.rekeys)
	}
}

func BenchmarkChosen(b *testing.B) {
	for _, bm := range []struct {
		name string
		keys func(tab *Table[host, int]) []host
	}{
		{"random", func(*Table[host, int]) []host { return others(2 * room) }},
		{"for another table", func(tab *Table[host, int]) []host { return collide(tab, 1, 2*room) }},
		{"for this table", func(tab *Table[host, int]) []host { return collide(tab, tab.seed, 2*room) }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			tab := New[host, int](room)
			ks := bm.keys(tab)
			n := 0
			for b.Loop() {
				tab.Put(ks[n%len(ks)])
				n++
			}
		})
	}
}

func TestAll(t *testing.T) {
	tab := New[all, int](3)
	put := func(k all, v int) {
		p, _ := tab.Put(k)
		*p = v
	}
	put(1, 10)
	put(2, 20)
	put(3, 30)
	put(4, 40) // makes room of 1
	tab.Get(2)
	tab.Delete(3)
	var got []int
	for k, v := range tab.All() {
		got = append(got, int(k), *v)
	}
	if want := []int{4, 40, 2, 20}; !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for k := range tab.All() {
		if k != 4 {
			t.Errorf("%d comes after the end", k)
		}
		break
	}
}

// all is a key.
type all uint64

func (k all) Hash(seed uint64) uint64 { return Mix(seed, uint64(k)) }

// TestOrdinaryKeys: ports and addresses in a row, as clients and networks have them, are
// not taken for keys that somebody chose, whatever the seed.
func TestOrdinaryKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		tab := New[host, int](room)
		tab.seed = r.Uint64()
		for hosts := range uint64(4) {
			for port := range uint64(room / 4) {
				tab.Put(host{hosts << 56, 40_000 + port})
			}
		}
		for i := range uint64(room) {
			tab.Put(host{0xffff << 32, i << 40})
		}
		if tab.rekeys > 0 || tab.credit < 0 {
			t.Fatalf("the seed was changed %d times, credit %d", tab.rekeys, tab.credit)
		}
	}
}
