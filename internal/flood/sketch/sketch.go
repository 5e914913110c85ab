// Package sketch estimates, in fixed memory, what an exact count would need memory without
// bound for: how many hashes are different (Distinct, Linear256, Linear1024), which keys
// come most often (Top), which value makes up a large share (Dominant), and whether a hash
// came lately (Recent). Each type has a fixed size and allocates nothing after it was made;
// its comment states in which direction it can be wrong.
//
// Callers pass hashes made with a secret seed: without the seed nobody can choose keys that
// collide. The package does not depend on packets, and nothing here is safe for concurrent
// use.
package sketch

// Recent is the set of the hashes that were added in the current period or the one before.
// The caller ends a period with Rotate. Each period has a filter of fixed size (Bloom 1970,
// two bits in one word for each hash): Has may report a hash that was not added, and never
// misses one that was.
//
// The memory is taken with the first hash that is added.
type Recent struct {
	current, previous []uint64 // nil before the first Add
	mask              uint64
	used, usedBefore  bool // something was added in this period, in the one before
}

// NewRecent returns two filters of size bytes each, a power of two.
func NewRecent(size int) *Recent {
	return &Recent{mask: uint64(size/8 - 1)}
}

// bitsOf returns the two bits of a hash in its word.
func bitsOf(h uint64) uint64 { return 1<<(h>>58) | 1<<(h>>52&63) }

// Add adds a hash to the current period.
func (r *Recent) Add(h uint64) {
	if r.current == nil {
		r.current, r.previous = make([]uint64, r.mask+1), make([]uint64, r.mask+1)
	}
	r.current[h&r.mask] |= bitsOf(h)
	r.used = true
}

// Has reports whether h was added in this period or the one before.
func (r *Recent) Has(h uint64) bool {
	if r.IsEmpty() { // it need not be fetched
		return false
	}
	b := bitsOf(h)
	return r.current[h&r.mask]&b == b || r.previous[h&r.mask]&b == b
}

// IsEmpty reports whether nothing was added in this period or the one before.
func (r *Recent) IsEmpty() bool { return !r.used && !r.usedBefore }

// Rotate begins a new period: what was added before the one that ends expires.
func (r *Recent) Rotate() {
	r.current, r.previous = r.previous, r.current
	r.used, r.usedBefore = false, r.used
	clear(r.current)
}

// dominantSlots is how many values Dominant counts at a time. Chosen: with eight, the error
// of a ninth is well below the smallest share that a rule asks for, half.
const dominantSlots = 8

// Dominant finds a value that makes up a large share of those added (Misra and Gries 1982):
// one that is more than a ninth of all is found, and its count is too low by at most a
// ninth of all.
type Dominant struct {
	value [dominantSlots]uint32
	count [dominantSlots]uint32
	all   uint32
}

// Add counts a value.
func (f *Dominant) Add(v uint32) {
	f.all++
	free := -1
	for i := range f.value {
		switch {
		case f.count[i] == 0:
			free = i
		case f.value[i] == v:
			f.count[i]++
			return
		}
	}
	if free >= 0 {
		f.value[free], f.count[free] = v, 1
		return
	}
	for i := range f.count {
		f.count[i]--
	}
}

// Leader returns the value with the highest count, at least how often it came, and how many
// values were added.
func (f *Dominant) Leader() (value, count, all uint32) {
	for i, n := range f.count {
		if n > count {
			value, count = f.value[i], n
		}
	}
	return value, count, f.all
}

// CountOf returns at least how often value came.
func (f *Dominant) CountOf(value uint32) uint32 {
	for i, v := range f.value {
		if v == value && f.count[i] > 0 { // a slot that was emptied keeps its value
			return f.count[i]
		}
	}
	return 0
}

// Reset empties f.
func (f *Dominant) Reset() { *f = Dominant{} }

// Merge adds the values that were added to g. The bounds of Dominant hold for all together
// (Agarwal et al. 2012).
func (f *Dominant) Merge(g *Dominant) {
	value := append(append(make([]uint32, 0, 2*dominantSlots), f.value[:]...), g.value[:]...)
	count := append(append(make([]uint32, 0, 2*dominantSlots), f.count[:]...), g.count[:]...)
	for j := dominantSlots; j < len(value); j++ {
		for i := range dominantSlots {
			if value[i] == value[j] && count[i] > 0 {
				count[i], count[j] = count[i]+count[j], 0
			}
		}
	}
	all := f.all + g.all
	*f = Dominant{all: all}
	for i := range dominantSlots + 1 {
		most := 0
		for j := range count {
			if count[j] > count[most] {
				most = j
			}
		}
		if i < dominantSlots {
			f.value[i], f.count[i] = value[most], count[most]
		} else { // the ninth: as if each of the others had met one of its kind
			for j := range f.count {
				f.count[j] -= min(f.count[j], count[most])
			}
		}
		count[most] = 0
	}
}
