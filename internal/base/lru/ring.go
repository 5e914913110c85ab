package lru

import (
	"math/rand/v2"

	"qsniff/internal/base/mem"
)

// Ring is a hash table of fixed capacity whose entries lie in the order in which they came,
// each with a number. A new entry takes the place of the oldest: nothing is moved or deleted,
// which for a flood of new keys takes half of what a Table does. Who wants to keep the oldest
// adds it again.
//
// The index has buckets as long as a line of the processor's cache. A slot of it has the number
// of an entry, which shows whether that is still there, so replacing an entry does not touch the
// slot of the old one. Keys that collide cost at most a search of all buckets, a few
// microseconds, and nobody can choose any without the seed.
//
// Of several entries with one key only the newest is found; the caller can link the others by
// their numbers, and add entries that only their numbers lead to. As in a Table, the first entry
// allocates its memory, and so does the first one in the index.
type Ring[K Key, V any] struct {
	seed     uint64
	capacity int
	buckets  []bucket      // nil before the first entry that Find is to find
	entries  []Entry[K, V] // nil before the first entry
	n        uint32        // entries in use
	next     uint32        // number of the next entry
	place    uint32        // of the next entry
}

// Entry is a key with its value.
type Entry[K Key, V any] struct {
	Key K
	Val V
}

// bucket is 64 bytes.
type bucket struct {
	slots [bucketSlots]ringSlot
	// spill is the number of the latest entry that found the bucket full, so that its slot is
	// in one of those that follow.
	spill uint32
	_     uint32
}

type ringSlot struct{ hash, number uint32 }

const (
	bucketSlots = 7
	// perBucket is how many entries there are at most for each bucket: at random, one bucket
	// in twenty is full then.
	perBucket = 4
)

// NewRing returns a ring for capacity entries, at least one.
func NewRing[K Key, V any](capacity int) *Ring[K, V] {
	return &Ring[K, V]{seed: rand.Uint64(), capacity: min(max(capacity, 1), maxCapacity), next: 1}
}

// Len is the number of entries.
func (t *Ring[K, V]) Len() int { return int(t.n) }

// Cap is the number of entries the ring has room for.
func (t *Ring[K, V]) Cap() int { return t.capacity }

// Next is the number of the next entry. Numbers count from 1, and begin again after 2^32.
func (t *Ring[K, V]) Next() uint32 { return t.next }

// First is the number of the oldest entry, Next if there is none.
func (t *Ring[K, V]) First() uint32 { return t.next - t.n }

// IsFull reports whether the next entry takes the place of the oldest.
func (t *Ring[K, V]) IsFull() bool { return int(t.n) == t.capacity }

// At returns the entry with a number, nil if it is no longer there.
func (t *Ring[K, V]) At(number uint32) *Entry[K, V] {
	if !t.isLive(number) {
		return nil
	}
	return &t.entries[t.placeOf(number)]
}

// isLive reports whether the entry with a number is still there.
func (t *Ring[K, V]) isLive(number uint32) bool { return t.next-number-1 < t.n }

// placeOf returns the place of an entry that is there.
func (t *Ring[K, V]) placeOf(number uint32) uint32 {
	back := t.next - number
	if back > t.place {
		return t.place + uint32(len(t.entries)) - back
	}
	return t.place - back
}

// Hash returns the hash of k, for Find and Add.
func (t *Ring[K, V]) Hash(k *K) uint32 { return Spread((*k).Hash(t.seed)) }

// Seed is what Hash hashes keys with, for callers who have their words at hand.
func (t *Ring[K, V]) Seed() uint64 { return t.seed }

// Find returns the number and the value of the newest entry with key k that is in the index, nil if
// there is none. The value is valid until the next Add or Append.
func (t *Ring[K, V]) Find(k *K, hash uint32) (number uint32, v *V) {
	mask := uint32(len(t.buckets) - 1)
	for i := range uint32(len(t.buckets)) {
		b := &t.buckets[(hash+i)&mask]
		for j := range b.slots {
			s := &b.slots[j]
			if s.hash != hash || !t.isLive(s.number) {
				continue
			}
			if e := &t.entries[t.placeOf(s.number)]; e.Key == *k {
				return s.number, &e.Val
			}
		}
		if !t.isLive(b.spill) {
			break
		}
	}
	return 0, nil
}

// Add adds a zero entry with key k. hidden is the number of the entry that Find returns for k,
// which the new one hides, or 0.
func (t *Ring[K, V]) Add(k *K, hash, hidden uint32) (number uint32, v *V) {
	number, e := t.Append()
	e.Key = *k
	t.Index(number, hash, hidden)
	return number, &e.Val
}

// Append adds a zero entry, whose key the caller sets. Find does not find it before Index.
func (t *Ring[K, V]) Append() (number uint32, e *Entry[K, V]) {
	if t.entries == nil {
		t.entries = make([]Entry[K, V], t.capacity)
	}
	number = t.next
	e = &t.entries[t.place]
	*e = Entry[K, V]{}
	t.next++
	if t.place++; int(t.place) == len(t.entries) {
		t.place = 0
	}
	t.n = min(t.n+1, uint32(len(t.entries)))
	return number, e
}

// Index makes Find find an entry whose key has a hash. hidden is as of Add.
func (t *Ring[K, V]) Index(number, hash, hidden uint32) {
	if t.buckets == nil {
		n := 1
		for n*perBucket < t.capacity {
			n *= 2
		}
		t.buckets = make([]bucket, n)
	}
	*t.slotFor(number, hash, hidden) = ringSlot{hash, number}
}

// slotFor returns the slot of the entry with number hidden or, if that is not there, the first
// one without an entry: there is one, for there are more slots than entries.
func (t *Ring[K, V]) slotFor(number, hash, hidden uint32) *ringSlot {
	mask := uint32(len(t.buckets) - 1)
	isHidden := hidden != 0 && t.isLive(hidden)
	for i := range uint32(len(t.buckets)) {
		b := &t.buckets[(hash+i)&mask]
		for j := range b.slots {
			s := &b.slots[j]
			if isHidden && s.number == hidden || !isHidden && !t.isLive(s.number) {
				return s
			}
		}
		if !t.isLive(b.spill) || t.next-number < t.next-b.spill {
			b.spill = number
		}
	}
	panic("lru: an entry that its key does not lead to was to be hidden")
}

// Prefetch asks the processor for what Find and Add of a key with this hash will touch. Who knows
// keys a few hundred nanoseconds before need not wait for them.
func (t *Ring[K, V]) Prefetch(hash uint32) {
	if t.buckets == nil {
		t.PrefetchNext()
		return
	}
	mem.Prefetch(&t.buckets[hash&uint32(len(t.buckets)-1)], t.afterNext())
}

// PrefetchNext asks the processor for the memory of entries to come.
func (t *Ring[K, V]) PrefetchNext() {
	if t.entries != nil {
		e := t.afterNext()
		mem.Prefetch(e, e)
	}
}

// afterNext returns the place of the entry after the next one, which was asked for before.
func (t *Ring[K, V]) afterNext() *Entry[K, V] {
	return &t.entries[min(int(t.place)+1, len(t.entries)-1)]
}
