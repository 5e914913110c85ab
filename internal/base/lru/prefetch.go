package lru

import "qsniff/internal/base/mem"

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
