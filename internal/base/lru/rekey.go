package lru

import (
	"math/rand/v2"
	"sync/atomic"
)

// maxRun is how many used slots in a row a search may pass at no charge. The longest
// run to expect in a table half full is ln(n) / (0.5 - 1 - ln 0.5) (Pittel 1987, Linear
// probing: the probable largest search time): 72 slots for a million entries. One run
// in 10^10 is longer than maxRun: chance does not use up a table's credit.
const maxRun = 128

// maxShift bounds how often the credit of a table doubles.
const maxShift = 30

// rekeyed counts the changes of seeds in all tables of the process.
var rekeyed atomic.Uint64

// Rekeyed returns how often tables of this process changed their seed. They do when keys
// collide more than keys that nobody chose for that.
func Rekeyed() uint64 { return rekeyed.Load() }

// charge takes a search that passed n slots in a row off the credit, unless it was short.
func (t *Table[K, V]) charge(n uint32) {
	if n > maxRun {
		t.credit -= int(n)
	}
}

// hash returns the hash of k. Before that it changes the seed if the credit is used up,
// which is when long runs have cost as much as laying out the table does: whatever the
// keys are, the work at most doubles.
func (t *Table[K, V]) hash(k K) uint32 {
	if t.credit < 0 {
		t.rekey()
	}
	return Spread(k.Hash(t.seed))
}

// Spread makes the hash of a table from the hash of a key. The last step of Mix is one
// product, and consecutive keys have products at equal distances: under about one seed
// in a thousand, the ports of a host filled slots side by side, which looked like keys
// chosen to collide.
func Spread(h uint64) uint32 {
	h = (h ^ h>>32) * mixA
	h = (h ^ h>>29) * mixC
	return uint32(h >> 32)
}

// rekey lays out the slots under a new seed. Entries, their order and pointers to
// their values stay. Each seed has twice the credit of the one before, so that keys that
// collide under every seed, as where a Hash leaves out a member, do not cause a rekey at
// every search.
func (t *Table[K, V]) rekey() {
	t.seed = rand.Uint64()
	t.rekeys++
	rekeyed.Add(1)
	clear(t.slots)
	for i := t.oldest; i != none; i = t.links[i].next {
		k, hash := t.items[i].Key, &t.links[i].hash
		*hash = Spread(k.Hash(t.seed))
		at, _ := t.find(k, *hash)
		t.slots[at] = slot{*hash, i + 1}
	}
	t.credit = len(t.slots) << min(t.rekeys, maxShift)
}
