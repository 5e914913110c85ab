package lru

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
)

// Odd constants without structure: the fractional digits of the golden ratio
// and of the square roots of 2 and 3.
const (
	mixA = 0x9e3779b97f4a7c15
	mixB = 0x6a09e667f3bcc909
	mixC = 0xbb67ae8584caa73b
)

// Mix adds one word to a running hash that began as the seed. Both factors of
// the product contain the state, so nobody who does not know the seed can choose
// words that collide.
func Mix(h, word uint64) uint64 {
	hi, lo := bits.Mul64(h^word^mixA, bits.RotateLeft64(h, 29)^mixB)
	return hi ^ lo ^ mixC
}

// Mix2 adds two words, as of an address, to a running hash with one product.
func Mix2(h, a, b uint64) uint64 {
	hi, lo := bits.Mul64(h^a^mixA, bits.RotateLeft64(h, 29)^b^mixB)
	return hi ^ lo ^ mixC
}

// Mix16 is Mix2 for the 16 bytes of an address.
func Mix16(h uint64, b *[16]byte) uint64 {
	return Mix2(h, binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:]))
}

// MixBytes adds b to a running hash, eight bytes at a time. Cutting b at a
// multiple of eight gives the same hash as one call; the length is not part of
// it, so hash that too where lengths differ.
func MixBytes(h uint64, b []byte) uint64 {
	for ; len(b) >= 8; b = b[8:] {
		h = Mix(h, binary.LittleEndian.Uint64(b))
	}
	if len(b) > 0 {
		var tail [8]byte
		copy(tail[:], b)
		h = Mix(h, binary.LittleEndian.Uint64(tail[:]))
	}
	return h
}

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
