package sketch

// Recent remembers which hashes it was given in the last one to two turns, in two
// filters of fixed size (Bloom 1970, two bits in one word each). It can take a
// hash for one that it was given; never the other way round.
type Recent struct {
	now, before []uint64
	mask        uint64
}

// NewRecent returns two filters of size bytes each, a power of two.
func NewRecent(size int) *Recent {
	return &Recent{now: make([]uint64, size/8), before: make([]uint64, size/8), mask: uint64(size/8 - 1)}
}

// bitsOf are the two bits of a hash in its word.
func bitsOf(h uint64) uint64 { return 1<<(h>>58) | 1<<(h>>52&63) }

// Add takes a hash.
func (r *Recent) Add(h uint64) { r.now[h&r.mask] |= bitsOf(h) }

// Has reports whether h was given in this turn or the one before.
func (r *Recent) Has(h uint64) bool {
	b := bitsOf(h)
	return r.now[h&r.mask]&b == b || r.before[h&r.mask]&b == b
}

// Turn forgets the turn before this one.
func (r *Recent) Turn() {
	r.now, r.before = r.before, r.now
	clear(r.now)
}
