package track

// numberSet is a set of numbers of the entries in a lru.Ring, with a bit for each. It lies apart
// from the entries, so that the oldest one need not be fetched from memory to be evicted.
type numberSet []uint64

// newNumberSet returns an empty set for a ring of a capacity.
func newNumberSet(capacity int) numberSet {
	words := 1
	for 64*words < capacity {
		words *= 2
	}
	return make(numberSet, words)
}

// at returns where the bit of a number is.
func (s numberSet) at(number uint32) (word *uint64, bit uint64) {
	return &s[int(number/64)&(len(s)-1)], 1 << (number % 64)
}

func (s numberSet) has(number uint32) bool {
	word, bit := s.at(number)
	return *word&bit != 0
}

// put adds or removes a number.
func (s numberSet) put(number uint32, isIn bool) {
	word, bit := s.at(number)
	*word &^= bit
	if isIn {
		*word |= bit
	}
}
