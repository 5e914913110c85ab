package lru

import "iter"

// All returns the entries, oldest first. It does not count as a use; the table
// must not be changed meanwhile.
func (t *Table[K, V]) All() iter.Seq2[K, *V] {
	return func(yield func(K, *V) bool) {
		for i := t.oldest; i != none; i = t.items[i].next {
			if !yield(t.items[i].key, &t.items[i].val) {
				return
			}
		}
	}
}
