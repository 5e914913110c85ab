package sketch

import (
	"math"
	"math/bits"
)

// Linear counts few different hashes (Whang et al. 1990): exact while bits do not
// collide, about 4 % off at 100, and full above 1,000.
type Linear [4]uint64

// Add takes a hash.
func (l *Linear) Add(h uint64) { l[h>>62] |= 1 << (h >> 56 & 63) }

// Merge adds what o was given.
func (l *Linear) Merge(o *Linear) {
	for i := range l {
		l[i] |= o[i]
	}
}

// Count is the estimate, at least the number of bits set.
func (l *Linear) Count() int {
	n := 0
	for _, w := range l {
		n += bits.OnesCount64(w)
	}
	return estimate(n, 256)
}

// Wide is Linear with 1,024 bits: about 3 % off at 1,000, and full above 7,000.
type Wide [16]uint64

// Add takes a hash.
func (w *Wide) Add(h uint64) { w[h>>60] |= 1 << (h >> 54 & 63) }

// Merge adds what o was given.
func (w *Wide) Merge(o *Wide) {
	for i := range w {
		w[i] |= o[i]
	}
}

// Count is the estimate.
func (w *Wide) Count() int {
	n := 0
	for _, x := range w {
		n += bits.OnesCount64(x)
	}
	return estimate(n, 1024)
}

// Without estimates how many of w are not in o.
func (w *Wide) Without(o *Wide) int {
	both := *w
	for i := range both {
		both[i] |= o[i]
	}
	return max(both.Count()-o.Count(), 0)
}

// estimate is how many hashes set n of m bits; where all are set, what sets all
// but one.
func estimate(n, m int) int {
	left := max(float64(m-n), 1)
	return int(math.Round(float64(m) * math.Log(float64(m)/left)))
}
