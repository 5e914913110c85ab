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
	"iter"
	"math/rand/v2"
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
