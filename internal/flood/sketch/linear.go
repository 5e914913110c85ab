package sketch

import (
	"math"
	"math/bits"
)

// Linear256 estimates how many different hashes were added with a bitmap of 256 bits
// (linear counting, Whang et al. 1990). The estimate is exact while no two hashes share a
// bit and about 4 % off at 100; all bits are set from about 1,000 on.
type Linear256 [4]uint64

// Linear256Error is the standard error of Linear256.Count at 100 as a share of the count: with
// t = 100/256, sqrt(256 (e^t-t-1))/100 (Whang et al.).
const Linear256Error = 0.047

// Add counts a hash.
func (l *Linear256) Add(h uint64) { l[h>>62] |= 1 << (h >> 56 & 63) }

// Merge adds the hashes that were added to o.
func (l *Linear256) Merge(o *Linear256) {
	for i := range l {
		l[i] |= o[i]
	}
}

// Count returns the estimate, at least the number of bits set.
func (l *Linear256) Count() int {
	n := 0
	for _, w := range l {
		n += bits.OnesCount64(w)
	}
	return estimates256[n]
}

// Linear1024 is the same with 1,024 bits: about 3 % off at 1,000, and full from about 7,000
// on.
type Linear1024 [16]uint64

// Add counts a hash.
func (w *Linear1024) Add(h uint64) { w[h>>60] |= 1 << (h >> 54 & 63) }

// Merge adds the hashes that were added to o.
func (w *Linear1024) Merge(o *Linear1024) {
	for i := range w {
		w[i] |= o[i]
	}
}

// Count returns the estimate.
func (w *Linear1024) Count() int {
	n := 0
	for _, x := range w {
		n += bits.OnesCount64(x)
	}
	return estimates1024[n]
}

// CountWithout estimates how many hashes of w were not added to o.
func (w *Linear1024) CountWithout(o *Linear1024) int {
	both := *w
	for i := range both {
		both[i] |= o[i]
	}
	return max(both.Count()-o.Count(), 0)
}

// The estimates for all numbers of bits.
var estimates256, estimates1024 = linearEstimates(256), linearEstimates(1024)

func linearEstimates(m int) []int {
	all := make([]int, m+1)
	for n := range all {
		all[n] = linearEstimate(n, m)
	}
	return all
}

// linearEstimate returns how many hashes set n of m bits; for m of m, how many set all but
// one.
func linearEstimate(n, m int) int {
	left := max(float64(m-n), 1)
	return int(math.Round(float64(m) * math.Log(float64(m)/left)))
}
