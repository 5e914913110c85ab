package stats

// doorkeeper lets a key in from its second time on, so that addresses that come once, which
// is what a flood from invented ones has, cost two bits and take nobody's counter. The two bits
// of a hash lie in one word. Two keys may have the same ones, or others may have set both: when
// doorFill keys were turned away, one in sixteen would be let in the first time, and it begins
// afresh. In each of these rounds a key is turned away once at most.
type doorkeeper struct {
	bits   [doorBits / 64]uint64
	turned int    // keys that were turned away in the round
	rounds uint64 // that began
}

// doorFill is how many keys are turned away in a round: they set a quarter of the bits.
const doorFill = doorBits / 8

// admits reports whether a key with this hash came before in the round, or others with the same
// bits.
func (d *doorkeeper) admits(hash uint64) bool {
	w, both := &d.bits[hash>>12%(doorBits/64)], uint64(1)<<(hash%64)|1<<(hash>>6%64)
	if *w&both == both {
		return true
	}
	*w |= both
	switch d.turned++; {
	case d.rounds == 0:
		d.rounds = 1
	case d.turned > doorFill:
		d.bits, d.turned, d.rounds = [len(d.bits)]uint64{}, 1, d.rounds+1
		d.bits[hash>>12%(doorBits/64)] = both
	}
	return false
}
