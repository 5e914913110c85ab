package lru

import (
	"math/rand/v2"
	"sync/atomic"
)

// maxRun is how many used slots in a row a search may pass at no charge. The longest
// run to expect in a table half full is ln(n) / (0.5 - 1 - ln 0.5) (Pittel 1987, Linear
// probing: the probable largest search time): 72 slots for a million entries. One run
// in 10^10 is longer than maxRun, which chance does not make a credit of.
const maxRun = 128

// maxShift bounds how often the credit of a table doubles.
const maxShift = 30

// rekeyed counts the changes of seeds in all tables of the process.
var rekeyed atomic.Uint64

// Rekeyed returns how often tables of this process changed their seed because keys
// collided as they do only if somebody chooses them.
func Rekeyed() uint64 { return rekeyed.Load() }

// charge books what a search of n slots in a row cost.
func (t *Table[K, V]) charge(n uint32) {
	if n > maxRun {
		t.credit -= int(n)
	}
}

// hash returns the hash of k, under a new seed once long runs have cost as much as it
// costs to lay out the table: whatever the keys are, the work at most doubles.
func (t *Table[K, V]) hash(k K) uint32 {
	if t.credit < 0 {
		t.rekey()
	}
	return spread(k.Hash(t.seed))
}

// spread makes the hash of a table from that of a key. The last step of Mix is one
// product, and keys in a row have products in a row: under one seed in some thousand the
// ports of a host took slots side by side, which looked as if somebody had chosen them.
func spread(h uint64) uint32 {
	h = (h ^ h>>32) * mixA
	h = (h ^ h>>29) * mixC
	return uint32(h >> 32)
}

// rekey lays out the slots under a new seed. Entries, their order and pointers to
// their values stay. Each seed has twice the credit of the one before, for keys that
// collide under all of them: a Hash that leaves out a member cannot be helped so.
func (t *Table[K, V]) rekey() {
	t.seed = rand.Uint64()
	t.rekeys++
	rekeyed.Add(1)
	clear(t.slots)
	for i := t.oldest; i != none; i = t.items[i].next {
		it := &t.items[i]
		it.hash = spread(it.key.Hash(t.seed))
		at, _ := t.find(it.key, it.hash)
		t.slots[at] = slot{it.hash, i + 1}
	}
	t.credit = len(t.slots) << min(t.rekeys, maxShift)
}
