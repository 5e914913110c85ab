package sketch

import (
	"fmt"
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

// PackedSize is how many bytes a packed Distinct takes: six bits for each register.
const PackedSize = distinctCells * 6 / 8

// maxRank is the highest rank that a register can have.
const maxRank = 64 - distinctBits + 1

// AppendPacked appends the registers, four in three bytes, the first in the upper bits.
func (d *Distinct) AppendPacked(dst []byte) []byte {
	for i := 0; i < distinctCells; i += 4 {
		x := uint32(d.cells[i])<<18 | uint32(d.cells[i+1])<<12 | uint32(d.cells[i+2])<<6 | uint32(d.cells[i+3])
		dst = append(dst, byte(x>>16), byte(x>>8), byte(x))
	}
	return dst
}

// Unpack sets d to what AppendPacked made. It returns an error, and leaves d empty, if b cannot be that.
func (d *Distinct) Unpack(b []byte) error {
	d.Reset()
	if len(b) != PackedSize {
		return fmt.Errorf("a sketch has %d bytes in place of %d", len(b), PackedSize)
	}
	for i := 0; i < distinctCells; i += 4 {
		x := uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
		b = b[3:]
		for j := range 4 {
			c := uint8(x >> (18 - 6*j) & 63)
			if c > maxRank {
				d.Reset()
				return fmt.Errorf("register %d of a sketch is %d, more than %d", i+j, c, maxRank)
			}
			d.cells[i+j] = c
		}
	}
	return nil
}

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
