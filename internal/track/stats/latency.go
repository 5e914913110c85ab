package stats

import (
	"math/bits"
	"slices"
)

// latency is the distribution of one server's times in 256 bytes. The first latencyCells
// times are stored as they are, so percentiles of them are exact. With the next time the
// cells become counts of a log-linear histogram, with four cells for each doubling. A
// percentile is then the middle of its cell, at most one eighth off. The first cell, below
// 64 us, and the last, from 3.1 s on (after the end of the wait for an answer), are coarser.
// The largest and the smallest time are always exact.
type latency struct {
	n        uint64
	cells    [latencyCells]uint32
	min, max uint32 // in microseconds: up to 71 minutes
}

const (
	latencyCells = 64
	perDoubling  = 4
	// minBits: times below 2^minBits microseconds share the first cell.
	minBits = 6
	// latencyError is how far off a percentile can be, as a share of it.
	latencyError = 1.0 / (2 * perDoubling)
)

// add adds a time in nanoseconds.
func (l *latency) add(nanos int64) {
	us := uint32(min(roundMicros(nanos), 1<<32-1))
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

// roundMicros returns the nearest number of microseconds; a time before zero counts as zero.
func roundMicros(nanos int64) int64 { return (min(max(nanos, 0), 1<<62) + 500) / 1000 }

// isExact reports whether percentiles are exact.
func (l *latency) isExact() bool { return l.n <= latencyCells }

// cellOf returns the cell of a time.
func cellOf(us uint32) int {
	if us < 1<<minBits {
		return 0
	}
	exp := bits.Len32(us) - 1
	linear := int(us>>(exp-2)) & (perDoubling - 1)
	return min(1+(exp-minBits)*perDoubling+linear, latencyCells-1)
}

// cellMiddle returns the time in the middle of a cell other than the first.
func cellMiddle(cell int) uint32 {
	exp := minBits + (cell-1)/perDoubling
	width := uint64(1) << (exp - 2)
	return uint32(uint64(perDoubling+(cell-1)%perDoubling)*width + width/2)
}

// percentile returns the time in microseconds that the given share of all times does not
// exceed: the nearest rank.
func (l *latency) percentile(share float64) uint32 {
	if l.n == 0 {
		return 0
	}
	rank := nearestRank(share, l.n)
	if l.isExact() {
		times := l.cells // a copy: more times may follow
		slices.Sort(times[:l.n])
		return times[rank-1]
	}
	seen := uint64(0)
	for i, c := range l.cells {
		if seen += uint64(c); seen >= rank {
			switch i {
			case 0:
				return min(max(1<<minBits/2, l.min), l.max)
			case latencyCells - 1:
				return l.max
			}
			return min(max(cellMiddle(i), l.min), l.max)
		}
	}
	return l.max
}

// nearestRank returns the rank, from 1, of the smallest of n values that the given share of
// them does not exceed.
func nearestRank(share float64, n uint64) uint64 {
	rank := uint64(share * float64(n))
	if float64(rank) < share*float64(n) {
		rank++
	}
	return min(max(rank, 1), n)
}
