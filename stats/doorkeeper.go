package stats

// doorkeeper lets a key in from its second time on, so that addresses that come once, which
// is what a flood from invented ones has, cost one bit and take nobody's counter. It has a
// bit for each hash, and two keys may share one. When a quarter of the bits are set it
// begins afresh: later almost everybody would find the bit set. In each of these rounds a
// key is turned away once at most.
type doorkeeper struct {
	bits   [doorBits / 64]uint64
	set    int    // bits that are set
	rounds uint64 // that began
}

// doorFill is how many bits are set when a round ends.
const doorFill = doorBits / 4

// admits reports whether a key with this hash came before in the round, or another one with
// the same bit.
func (d *doorkeeper) admits(hash uint64) bool {
	w, bit := &d.bits[hash/64%(doorBits/64)], uint64(1)<<(hash%64)
	if *w&bit != 0 {
		return true
	}
	*w |= bit
	switch d.set++; {
	case d.rounds == 0:
		d.rounds = 1
	case d.set > doorFill:
		d.bits, d.set, d.rounds = [len(d.bits)]uint64{}, 1, d.rounds+1
		d.bits[hash/64%(doorBits/64)] = bit
	}
	return false
}
