package sketch

// ways is how many keys share a set. More would be searched longer, fewer would
// drive out keys that are frequent.
const ways = 8

// Top finds the most frequent keys in fixed memory: Space-Saving (Metwally et al.
// 2005) over sets of eight, with randomized admission (Ben Basat et al. 2017): a key
// that finds its set full takes the place of the rarest, with that one's count, once
// in as many times as that is high. So what comes once costs little, and drives out
// nothing that comes often. A count is never too low by more than what its set
// turned away, and never too high by more than what the key before had.
type Top[K comparable, V any] struct {
	sets  []set
	away  []uint32 // of each set: how often a key was not admitted
	items []Item[K, V]
	mask  uint64
}

// set has what a search touches side by side.
type set struct {
	tag   [ways]uint32
	count [ways]uint32
}

// Item is a key and what its user keeps of it, from the time on when it came in
// last.
type Item[K comparable, V any] struct {
	Key   K
	Err   uint32 // what others may have left of the count
	Value V
}

// NewTop returns room for n keys, rounded up to a power of two of at least eight.
func NewTop[K comparable, V any](n int) *Top[K, V] {
	sets := 1
	for sets*ways < n {
		sets *= 2
	}
	return &Top[K, V]{sets: make([]set, sets), away: make([]uint32, sets), items: make([]Item[K, V], sets*ways), mask: uint64(sets - 1)}
}

// Add counts key, whose hash is h, once. It returns what is kept of it, which is
// zero if the key is new; nil if it was not admitted.
func (t *Top[K, V]) Add(key K, h uint64) *V {
	i := h & t.mask
	s := &t.sets[i]
	tag := uint32(h>>32) | 1 // 0 is free
	low := 0
	for w := range ways {
		if s.tag[w] == tag {
			if it := &t.items[int(i)*ways+w]; it.Key == key {
				s.count[w]++
				return &it.Value
			}
		}
		if s.count[w] < s.count[low] {
			low = w
		}
	}
	if n := s.count[low]; n > 0 && uint32(h>>16)^t.away[i]*0x9e3779b1 > ^uint32(0)/(n+1) {
		t.away[i]++
		return nil
	}
	it := &t.items[int(i)*ways+low]
	*it = Item[K, V]{Key: key, Err: s.count[low]}
	s.tag[low] = tag
	s.count[low]++
	return &it.Value
}

// Find returns what is kept of key and the bounds of its count; nil if the key is
// not among the frequent ones.
func (t *Top[K, V]) Find(key K, h uint64) (v *V, low, high uint32) {
	i := h & t.mask
	s := &t.sets[i]
	tag := uint32(h>>32) | 1
	for w := range ways {
		if s.tag[w] == tag {
			if it := &t.items[int(i)*ways+w]; it.Key == key {
				return &it.Value, s.count[w] - it.Err, s.count[w] + t.away[i]
			}
		}
	}
	return nil, 0, 0
}

// Reset forgets everything.
func (t *Top[K, V]) Reset() {
	clear(t.sets)
	clear(t.away)
}

// Each calls fn with every key and the bounds of its count, in no useful order.
func (t *Top[K, V]) Each(fn func(it *Item[K, V], low, high uint32)) {
	for i := range t.sets {
		for w := range ways {
			if n := t.sets[i].count[w]; n > 0 {
				it := &t.items[i*ways+w]
				fn(it, n-it.Err, n+t.away[i])
			}
		}
	}
}
