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
