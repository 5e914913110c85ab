package sketch

import "math/bits"

// slotsPerSet is how many keys share a set. With more, frequent keys evict each other less
// often; eight tags are one word.
const slotsPerSet = 8

// Top finds the most frequent keys in fixed memory: Space-Saving (Metwally et al.
// 2005) over sets of eight, with randomized admission (Ben Basat et al. 2017). A key that
// finds its set full is admitted once in n+1 times, where n is the count of the rarest key of
// the set: it evicts that key and goes on from its count. Otherwise it is refused. So a key
// that comes once rarely evicts one that comes often. A count is too low by at most what its
// set refused, and too high by at most the count of the evicted key.
type Top[K comparable, V any] struct {
	sets  []slotSet
	items []Item[K, V]
	mask  uint64
}

// slotSet holds side by side what a search reads: a cache line.
type slotSet struct {
	tags     uint64 // a byte of the hash of each key
	count    [slotsPerSet]uint32
	refusals uint32 // how often a key was refused
	refuse   uint32 // of random numbers, those above it refuse a key
	lowest   uint8  // the first slot of those with the least count
	_        [8]byte
}

// init prepares an empty set.
func (s *slotSet) init() { *s = slotSet{refuse: ^uint32(0)} }

// match returns a word in which the upper bit of byte w is set if slot w has the tag, and
// rarely if it has not.
func (s *slotSet) match(tag uint8) uint64 {
	const ones = 0x0101010101010101
	x := s.tags ^ uint64(tag)*ones
	return (x - ones) & ^x & (ones << 7)
}

// add adds one to the count of slot w.
func (s *slotSet) add(w int) {
	s.count[w]++
	if w == int(s.lowest) {
		low := 0
		for i, n := range s.count {
			if n < s.count[low] {
				low = i
			}
		}
		s.lowest, s.refuse = uint8(low), ^uint32(0)/(s.count[low]+1)
	}
}

// tagOf returns the byte of a hash that its slot has as tag.
func tagOf(h uint64) uint8 { return uint8(h >> 32) }

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
	t := &Top[K, V]{sets: make([]slotSet, sets), items: make([]Item[K, V], sets*slotsPerSet), mask: uint64(sets - 1)}
	t.Reset()
	return t
}

// Add counts a key, whose hash is h, once. It keeps a copy of the key, and returns the value kept for it, which is zero if
// the key is new, or nil if the key was refused. The pointer is valid until the next Add.
func (t *Top[K, V]) Add(key *K, h uint64) *V {
	i := int(h & t.mask)
	s := &t.sets[i]
	if s.match(tagOf(h)) != 0 { // of keys that come once, few go further
		if it, w := t.find(i, tagOf(h), key); it != nil {
			s.add(w)
			return &it.Value
		}
	}
	if uint32(h>>16)^s.refusals*0x9e3779b1 > s.refuse {
		s.refusals++
		return nil
	}
	w := int(s.lowest)
	it := &t.items[i*slotsPerSet+w]
	*it = Item[K, V]{Key: *key, MaxError: s.count[w]}
	s.tags = s.tags&^(0xff<<(8*w)) | uint64(tagOf(h))<<(8*w)
	s.add(w)
	return &it.Value
}

// Find returns the value kept for key and the bounds of its count; nil if the key is not
// among the frequent ones.
func (t *Top[K, V]) Find(key K, h uint64) (v *V, low, high uint32) {
	i := int(h & t.mask)
	if it, w := t.find(i, tagOf(h), &key); it != nil {
		low, high = t.sets[i].bounds(w, it.MaxError)
		return &it.Value, low, high
	}
	return nil, 0, 0
}

// find finds the slot of a key with a tag in set i.
func (t *Top[K, V]) find(i int, tag uint8, key *K) (it *Item[K, V], w int) {
	s := &t.sets[i]
	for m := s.match(tag); m != 0; m &= m - 1 {
		w := bits.TrailingZeros64(m) / 8
		if it := &t.items[i*slotsPerSet+w]; it.Key == *key && s.count[w] > 0 {
			return it, w
		}
	}
	return nil, 0
}

// bounds returns the bounds of the count in slot w.
func (s *slotSet) bounds(w int, maxError uint32) (low, high uint32) {
	return s.count[w] - maxError, s.count[w] + s.refusals
}

// MaxAbsent returns the most that a key which Find does not find can have been added: what its
// set refused, and the count with which it was evicted, which is no more than any that the set
// holds now.
func (t *Top[K, V]) MaxAbsent() uint32 {
	var most uint32
	for i := range t.sets {
		s := &t.sets[i]
		most = max(most, s.count[s.lowest]+s.refusals)
	}
	return most
}

// Reset removes all keys.
func (t *Top[K, V]) Reset() {
	for i := range t.sets {
		t.sets[i].init()
	}
}

// EachOfTwo calls fn with every key of two Tops of the same size, to which a key was added
// with the same hash, in no useful order: with what each of them keeps of it, nil for nothing,
// and the bounds of its counts in both together.
func EachOfTwo[K comparable, V any](t, o *Top[K, V], fn func(a, b *Item[K, V], low, high uint32)) {
	t.each(func(i, w int, a *Item[K, V]) {
		low, high := t.sets[i].bounds(w, a.MaxError)
		b, at := o.find(i, t.sets[i].tag(w), &a.Key)
		if b != nil {
			l, h := o.sets[i].bounds(at, b.MaxError)
			low, high = low+l, high+h
		}
		fn(a, b, low, high)
	})
	o.each(func(i, w int, b *Item[K, V]) {
		if a, _ := t.find(i, o.sets[i].tag(w), &b.Key); a == nil {
			low, high := o.sets[i].bounds(w, b.MaxError)
			fn(nil, b, low, high)
		}
	})
}

// tag returns the tag of slot w.
func (s *slotSet) tag(w int) uint8 { return uint8(s.tags >> (8 * w)) }

// Each calls fn with every key and the bounds of its count, in no useful order.
func (t *Top[K, V]) Each(fn func(it *Item[K, V], low, high uint32)) {
	t.each(func(i, w int, it *Item[K, V]) {
		low, high := t.sets[i].bounds(w, it.MaxError)
		fn(it, low, high)
	})
}

// each calls fn with every key and its place.
func (t *Top[K, V]) each(fn func(i, w int, it *Item[K, V])) {
	for i := range t.sets {
		for w, n := range &t.sets[i].count {
			if n > 0 {
				fn(i, w, &t.items[i*slotsPerSet+w])
			}
		}
	}
}
