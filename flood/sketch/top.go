package sketch

// slotsPerSet is how many keys share a set. With more, a search takes longer; with fewer,
// frequent keys evict each other.
const slotsPerSet = 8

// Top finds the most frequent keys in fixed memory: Space-Saving (Metwally et al.
// 2005) over sets of eight, with randomized admission (Ben Basat et al. 2017). A key that
// finds its set full is admitted once in n+1 times, where n is the count of the rarest key of
// the set: it evicts that key and goes on from its count. Otherwise it is refused. So a key
// that comes once rarely evicts one that comes often. A count is too low by at most what its
// set refused, and too high by at most the count of the evicted key.
type Top[K comparable, V any] struct {
	sets     []slotSet
	refusals []uint32 // of each set: how often a key was refused
	items    []Item[K, V]
	mask     uint64
}

// slotSet holds side by side what a search reads.
type slotSet struct {
	tag   [slotsPerSet]uint32
	count [slotsPerSet]uint32
}

// Item is a key and the value that the caller keeps for it since the key was last admitted.
type Item[K comparable, V any] struct {
	Key      K
	MaxError uint32 // how much of the count may be that of evicted keys
	Value    V
}

// NewTop returns a Top with room for n keys, rounded up to a power of two of at least eight.
func NewTop[K comparable, V any](n int) *Top[K, V] {
	sets := 1
	for sets*slotsPerSet < n {
		sets *= 2
	}
	return &Top[K, V]{sets: make([]slotSet, sets), refusals: make([]uint32, sets), items: make([]Item[K, V], sets*slotsPerSet), mask: uint64(sets - 1)}
}

// Add counts key, whose hash is h, once. It returns the value kept for it, which is zero if
// the key is new, or nil if the key was refused. The pointer is valid until the next Add.
func (t *Top[K, V]) Add(key K, h uint64) *V {
	i := h & t.mask
	s := &t.sets[i]
	tag := uint32(h>>32) | 1 // 0 is free
	low := 0
	for w := range slotsPerSet {
		if s.tag[w] == tag {
			if it := &t.items[int(i)*slotsPerSet+w]; it.Key == key {
				s.count[w]++
				return &it.Value
			}
		}
		if s.count[w] < s.count[low] {
			low = w
		}
	}
	if n := s.count[low]; n > 0 && uint32(h>>16)^t.refusals[i]*0x9e3779b1 > ^uint32(0)/(n+1) {
		t.refusals[i]++
		return nil
	}
	it := &t.items[int(i)*slotsPerSet+low]
	*it = Item[K, V]{Key: key, MaxError: s.count[low]}
	s.tag[low] = tag
	s.count[low]++
	return &it.Value
}

// Find returns the value kept for key and the bounds of its count; nil if the key is not
// among the frequent ones.
func (t *Top[K, V]) Find(key K, h uint64) (v *V, low, high uint32) {
	if it, low, high := t.find(int(h&t.mask), uint32(h>>32)|1, key); it != nil {
		return &it.Value, low, high
	}
	return nil, 0, 0
}

// find finds a key with a tag in set i.
func (t *Top[K, V]) find(i int, tag uint32, key K) (it *Item[K, V], low, high uint32) {
	s := &t.sets[i]
	for w := range slotsPerSet {
		if s.tag[w] == tag {
			if it := &t.items[i*slotsPerSet+w]; it.Key == key {
				return it, s.count[w] - it.MaxError, s.count[w] + t.refusals[i]
			}
		}
	}
	return nil, 0, 0
}

// MaxAbsent returns the most that a key which Find does not find can have been added: what its
// set refused, and the count with which it was evicted, which is no more than any that the set
// holds now.
func (t *Top[K, V]) MaxAbsent() uint32 {
	var most uint32
	for i := range t.sets {
		least := t.sets[i].count[0]
		for _, n := range t.sets[i].count {
			least = min(least, n)
		}
		most = max(most, least+t.refusals[i])
	}
	return most
}

// Reset removes all keys.
func (t *Top[K, V]) Reset() {
	clear(t.sets)
	clear(t.refusals)
}

// EachOfTwo calls fn with every key of two Tops of the same size, to which a key was added
// with the same hash, in no useful order: with what each of them keeps of it, nil for nothing,
// and the bounds of its counts in both together.
func EachOfTwo[K comparable, V any](t, o *Top[K, V], fn func(a, b *Item[K, V], low, high uint32)) {
	for i := range t.sets {
		for w, n := range t.sets[i].count {
			if n > 0 {
				a := &t.items[i*slotsPerSet+w]
				b, low, high := o.find(i, t.sets[i].tag[w], a.Key)
				fn(a, b, low+n-a.MaxError, high+n+t.refusals[i])
			}
		}
		for w, n := range o.sets[i].count {
			if n > 0 {
				b := &o.items[i*slotsPerSet+w]
				if a, _, _ := t.find(i, o.sets[i].tag[w], b.Key); a == nil {
					fn(nil, b, n-b.MaxError, n+o.refusals[i])
				}
			}
		}
	}
}

// Each calls fn with every key and the bounds of its count, in no useful order.
func (t *Top[K, V]) Each(fn func(it *Item[K, V], low, high uint32)) {
	for i := range t.sets {
		for w := range slotsPerSet {
			if n := t.sets[i].count[w]; n > 0 {
				it := &t.items[i*slotsPerSet+w]
				fn(it, n-it.MaxError, n+t.refusals[i])
			}
		}
	}
}
