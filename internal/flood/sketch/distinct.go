package sketch

import (
	"math"
	"math/bits"
)

// distinctBits is the logarithm of the number of registers: 2,048 of a byte each
// give a standard error of 1.04/sqrt(2048) = 2.3 %.
const (
	distinctBits  = 11
	distinctCells = 1 << distinctBits
)

// DistinctError is the standard error of Distinct.Count as a share of the count. Below 2.5
// times its registers, 5,120, the error is smaller.
const DistinctError = 0.023

// Distinct estimates how many different hashes were added (HyperLogLog, Flajolet et al.
// 2007, with linear counting below 2.5 times its registers).
type Distinct struct {
	cells [distinctCells]uint8
}

// Add counts a hash, all bits of which must be mixed.
func (d *Distinct) Add(h uint64) {
	rank := uint8(bits.LeadingZeros64(h<<distinctBits|1<<(distinctBits-1))) + 1
	if c := &d.cells[h>>(64-distinctBits)]; *c < rank {
		*c = rank
	}
}

// Merge adds the hashes that were added to o.
func (d *Distinct) Merge(o *Distinct) {
	for i, c := range &o.cells {
		d.cells[i] = max(d.cells[i], c)
	}
}

// Reset empties d.
func (d *Distinct) Reset() { clear(d.cells[:]) }

// Count returns the estimate.
func (d *Distinct) Count() float64 {
	var ranks ranks
	for _, c := range &d.cells {
		ranks[c]++
	}
	return ranks.estimate()
}

// CountOfTwo returns the estimate for all hashes that were added to d or o.
func CountOfTwo(d, o *Distinct) float64 {
	var ranks ranks
	for i, c := range &d.cells {
		ranks[max(c, o.cells[i])]++
	}
	return ranks.estimate()
}

// ranks holds how many registers have each rank, from 0 to 54.
type ranks [1 << 8]uint16

func (r *ranks) estimate() float64 {
	sum, weight := 0.0, 1.0
	for _, n := range r[:64-distinctBits+2] {
		sum += float64(n) * weight
		weight /= 2
	}
	const m = float64(distinctCells)
	estimate := 0.7213 / (1 + 1.079/m) * m * m / sum
	if r[0] > 0 && estimate <= 2.5*m {
		return m * math.Log(m/float64(r[0]))
	}
	return estimate
}
