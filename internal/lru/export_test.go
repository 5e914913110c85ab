package lru

// Cap is the number of entries the table has room for.
func (t *Table[K, V]) Cap() int { return len(t.items) }

// Oldest returns the entry whose last use is longest ago; ok is false if the
// table is empty. It does not count as a use.
func (t *Table[K, V]) Oldest() (k K, v *V, ok bool) {
	if t.oldest == none {
		return k, nil, false
	}
	it := &t.items[t.oldest]
	return it.key, &it.val, true
}
