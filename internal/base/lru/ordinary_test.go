package lru

import (
	"math/rand/v2"
	"testing"
)

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
