package lru

import (
	"slices"
	"testing"
)

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
