// Package lru has hash tables of fixed capacity that evict their oldest entry to make
// room. The first entry allocates all memory, and nothing is allocated after it. In a
// Table the oldest entry is the one not used for longest: values lie in one array, and the
// order of use is a list threaded through it. In a Ring it is the one added first. A run has a
// hundred tables, of which a small capture fills few. A Table is not a cache with a
// loader, it has no clock (time is the caller's business) and it is not safe for
// concurrent use.
//
// Senders of packets and authors of captures choose the keys. An attacker can choose
// keys that collide under a known seed, so that each search passes all of them. Therefore
// each table has a random seed of its own, which nobody can know when the capture is
// made. Output does not depend on the seed: no search ends early, and the order of
// entries is that of their use. A table whose keys collide all the same changes its
// seed; see hash.go.
package lru

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
)

// Key is what a table is keyed with: a plain struct without pointers. Hash must
// depend on every member and on the seed; Mix helps.
type Key interface {
	comparable
	Hash(seed uint64) uint64
}

// maxCapacity keeps entry numbers and twice as many slots inside 32 bits.
const maxCapacity = 1 << 30

// none ends a list. Entry numbers are below maxCapacity.
const none = ^uint32(0)

// Table maps keys to values, in the order of their last use. Pointers
// to values stay valid until their entry is deleted or evicted.
type Table[K Key, V any] struct {
	seed     uint64
	capacity int    // in entries
	credit   int    // how many slots long runs may still cost until the seed changes
	rekeys   int    // how often the seed changed
	slots    []slot // open addressing with linear probing; nil before the first entry
	items    []Evicted[K, V]
	links    []link // of items
	oldest   uint32
	newest   uint32
	free     uint32 // list of deleted entries, through next
	fresh    uint32 // first entry never used: untouched memory stays untouched
	n        int
	evicted  Evicted[K, V]
}

// slot holds the hash of an entry beside its number, so that a search passes over the
// entry without reading it: entries are large and lie anywhere.
type slot struct {
	hash  uint32
	entry uint32 // its number + 1, 0 is empty
}

// link is the place of an entry in the order of use. Links do not lie in the entries: each use changes
// those of three others, which may be anywhere, and links of thousands of entries fit into the cache.
type link struct {
	hash       uint32
	prev, next uint32 // towards the oldest, towards the newest
}

// Evicted is an entry, as of one that Put removed to make room.
type Evicted[K Key, V any] struct {
	Key K
	Val V
}

// New returns a table for capacity entries, at least one.
func New[K Key, V any](capacity int) *Table[K, V] {
	return &Table[K, V]{
		seed:     rand.Uint64(),
		capacity: min(max(capacity, 1), maxCapacity),
		oldest:   none,
		newest:   none,
		free:     none,
	}
}

// allocate allocates slots and entries.
func (t *Table[K, V]) allocate() {
	slots := 2
	for slots < 2*t.capacity { // at most half full: probe runs stay short
		slots *= 2
	}
	t.credit = slots
	t.slots, t.items, t.links = make([]slot, slots), make([]Evicted[K, V], t.capacity), make([]link, t.capacity)
}

// Len is the number of entries.
func (t *Table[K, V]) Len() int { return t.n }

// Cap is the number of entries the table has room for.
func (t *Table[K, V]) Cap() int { return t.capacity }

// Oldest returns the entry whose last use is longest ago; ok is false if the
// table is empty. It does not count as a use.
func (t *Table[K, V]) Oldest() (k K, v *V, ok bool) {
	if t.oldest == none {
		return k, nil, false
	}
	it := &t.items[t.oldest]
	return it.Key, &it.Val, true
}

// Peek returns the value of k, or nil. It does not count as a use.
func (t *Table[K, V]) Peek(k K) *V {
	if t.n == 0 {
		return nil
	}
	at, ok := t.find(k, t.hash(k))
	if !ok {
		return nil
	}
	return &t.items[t.slots[at].entry-1].Val
}

// Get returns the value of k and makes it the newest entry, or returns nil.
func (t *Table[K, V]) Get(k K) *V {
	if t.n == 0 {
		return nil
	}
	at, ok := t.find(k, t.hash(k))
	if !ok {
		return nil
	}
	i := t.slots[at].entry - 1
	t.touch(i)
	return &t.items[i].Val
}

// Put returns the value of k as the newest entry: the one it has, or a zero one.
// If the table was full, the oldest entry is evicted and returned, valid until the next
// Put; otherwise the second result is nil.
func (t *Table[K, V]) Put(k K) (*V, *Evicted[K, V]) {
	if t.slots == nil {
		t.allocate()
	}
	hash := t.hash(k)
	at, ok := t.find(k, hash)
	if ok {
		i := t.slots[at].entry - 1
		t.touch(i)
		return &t.items[i].Val, nil
	}
	var gone *Evicted[K, V]
	if t.n == len(t.items) {
		t.evicted = t.items[t.oldest]
		gone = &t.evicted
		gap, _ := t.find(gone.Key, t.links[t.oldest].hash)
		t.remove(gap)
		at, _ = t.find(k, hash) // removal moved entries about
	}
	i := t.takeItem()
	it := &t.items[i]
	it.Key, t.links[i].hash = k, hash
	t.slots[at] = slot{hash, i + 1}
	t.appendNewest(i)
	t.n++
	return &it.Val, gone
}

// All returns the entries, oldest first. It does not count as a use; the table
// must not be changed meanwhile.
func (t *Table[K, V]) All() iter.Seq2[K, *V] {
	return func(yield func(K, *V) bool) {
		for i := t.oldest; i != none; i = t.links[i].next {
			if !yield(t.items[i].Key, &t.items[i].Val) {
				return
			}
		}
	}
}

// Delete removes k and reports whether it was there.
func (t *Table[K, V]) Delete(k K) bool {
	if t.n == 0 {
		return false
	}
	at, ok := t.find(k, t.hash(k))
	if !ok {
		return false
	}
	t.remove(at)
	return true
}

// remove removes the entry in slot at.
func (t *Table[K, V]) remove(at uint32) {
	i := t.slots[at].entry - 1
	t.vacate(at)
	t.unlink(i)
	t.items[i] = Evicted[K, V]{}
	t.links[i].next, t.free = t.free, i
	t.n--
}

// find returns the slot of k, or the empty slot where it belongs.
func (t *Table[K, V]) find(k K, hash uint32) (at uint32, ok bool) {
	mask := uint32(len(t.slots) - 1)
	for at = hash & mask; t.slots[at].entry != 0; at = (at + 1) & mask {
		if s := t.slots[at]; s.hash == hash && t.items[s.entry-1].Key == k {
			ok = true
			break
		}
	}
	t.charge((at - hash) & mask)
	return at, ok
}

// vacate empties a slot and moves back the entries after it that would no
// longer be found across the gap. There are no tombstones, so a table that
// lives for years is as fast as a new one.
func (t *Table[K, V]) vacate(gap uint32) {
	mask := uint32(len(t.slots) - 1)
	at := (gap + 1) & mask
	for first := at; ; at = (at + 1) & mask {
		if t.slots[at].entry == 0 {
			t.charge((at - first) & mask)
			break
		}
		home := t.slots[at].hash & mask
		if (at-home)&mask >= (at-gap)&mask {
			t.slots[gap] = t.slots[at]
			gap = at
		}
	}
	t.slots[gap] = slot{}
}

func (t *Table[K, V]) takeItem() uint32 {
	if i := t.free; i != none {
		t.free = t.links[i].next
		return i
	}
	t.fresh++
	return t.fresh - 1
}

func (t *Table[K, V]) touch(i uint32) {
	if i != t.newest {
		t.unlink(i)
		t.appendNewest(i)
	}
}

func (t *Table[K, V]) appendNewest(i uint32) {
	l := &t.links[i]
	l.prev, l.next = t.newest, none
	if t.newest == none {
		t.oldest = i
	} else {
		t.links[t.newest].next = i
	}
	t.newest = i
}

func (t *Table[K, V]) unlink(i uint32) {
	l := &t.links[i]
	if l.prev == none {
		t.oldest = l.next
	} else {
		t.links[l.prev].next = l.next
	}
	if l.next == none {
		t.newest = l.prev
	} else {
		t.links[l.next].prev = l.prev
	}
}

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
