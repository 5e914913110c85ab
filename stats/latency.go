package stats

import (
	"math/bits"
	"slices"
)

// latency is the distribution of one server's times in 256 bytes. As long as
// there are no more times than cells, the cells hold the times themselves and
// percentiles are exact. Then they become counts of a log-linear histogram: four
// cells for each doubling. A percentile is then the middle of its cell, at most one
// eighth off. Coarser are the first cell, below 64 us, and the last, from 3.1 s on,
// which is after the end of the wait for an answer. The largest and the smallest
// time are always exact.
type latency struct {
	n        uint64
	cells    [latencyCells]uint32
	min, max uint32 // in microseconds: up to 71 minutes
}

const (
	latencyCells = 64
	perDoubling  = 4
	// leastBits: times below 2^leastBits microseconds share the first cell.
	leastBits = 6
	// latencyError is how far off a percentile can be, as a share of it.
	latencyError = 1.0 / (2 * perDoubling)
)

// add takes a time in nanoseconds.
func (l *latency) add(nanos int64) {
	us := uint32(min(micros(nanos), 1<<32-1))
	if l.n == 0 {
		l.min, l.max = us, us
	}
	l.min, l.max = min(l.min, us), max(l.max, us)
	if l.n < latencyCells {
		l.cells[l.n] = us
		l.n++
		return
	}
	if l.n == latencyCells {
		times := l.cells
		clear(l.cells[:])
		for _, t := range times {
			l.cells[cellOf(t)]++
		}
	}
	l.n++
	if c := &l.cells[cellOf(us)]; *c < 1<<32-1 {
		*c++
	}
}

// micros rounds nanoseconds; a time before zero counts as zero.
func micros(nanos int64) int64 { return (min(max(nanos, 0), 1<<62) + 500) / 1000 }

// exact reports whether percentiles are.
func (l *latency) exact() bool { return l.n <= latencyCells }

// cellOf returns the cell of a time.
func cellOf(us uint32) int {
	if us < 1<<leastBits {
		return 0
	}
	exp := bits.Len32(us) - 1
	linear := int(us>>(exp-2)) & (perDoubling - 1)
	return min(1+(exp-leastBits)*perDoubling+linear, latencyCells-1)
}

// middle returns the time in the middle of a cell after the first.
func middle(cell int) uint32 {
	exp := leastBits + (cell-1)/perDoubling
	width := uint64(1) << (exp - 2)
	return uint32(uint64(perDoubling+(cell-1)%perDoubling)*width + width/2)
}

// percentile returns the time in microseconds that a share of all do not exceed:
// the nearest rank.
func (l *latency) percentile(share float64) uint32 {
	if l.n == 0 {
		return 0
	}
	rank := nearestRank(share, l.n)
	if l.exact() {
		times := l.cells // a copy: percentiles may be asked for in between
		slices.Sort(times[:l.n])
		return times[rank-1]
	}
	seen := uint64(0)
	for i, c := range l.cells {
		if seen += uint64(c); seen >= rank {
			switch i {
			case 0:
				return min(max(1<<leastBits/2, l.min), l.max)
			case latencyCells - 1:
				return l.max
			}
			return min(max(middle(i), l.min), l.max)
		}
	}
	return l.max
}

// nearestRank is the rank of the smallest of n values that a share of them do not
// exceed.
func nearestRank(share float64, n uint64) uint64 {
	rank := uint64(share * float64(n))
	if float64(rank) < share*float64(n) {
		rank++
	}
	return min(max(rank, 1), n)
}
