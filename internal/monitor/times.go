package monitor

import "math"

// Times is the distribution of response times, in buckets of two forms: those with RoundLimits,
// and fine ones in which each limit is the same factor above the one before.
type Times struct {
	Count uint64
	Nanos uint64 // sum
	// Round counts the times up to each of RoundLimits and above the one before; the last one
	// counts those above all.
	Round [len(RoundLimits) + 1]uint64
	// Fine counts the times in (2^((i-1)/8), 2^(i/8)] seconds, for i from FirstFine on; the
	// last one those above, too. Below counts those up to FineZero seconds.
	Below uint64
	Fine  [fineBuckets]uint64
	// Last are the last times in the buckets of Round.
	Last [len(RoundLimits) + 1]Example
}

// Example is one of the times that were counted. The zero Example is none.
type Example struct {
	Frame uint64 // of the answer
	Nanos int64  // Unix time of it
	Took  int64  // nanoseconds
}

// RoundLimits are in seconds. Chosen: what a machine, a country and the world take to answer,
// and how long clients wait.
var RoundLimits = [...]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}

// The fine buckets: FineSchema is that of native histograms, with 2^FineSchema buckets for each
// doubling.
const (
	FineSchema  = 3
	perDoubling = 1 << FineSchema
	lowest      = -17 // 2^lowest seconds are 7.6 us: less than a system call
	highest     = 3   // 8 s: longer than lateWait
	FirstFine   = lowest*perDoubling + 1
	fineBuckets = (highest - lowest) * perDoubling
	// FineZero is up to where times are not distinguished.
	FineZero = 1.0 / (1 << -lowest)
)

// fineLimits are the lower limits of the buckets of a doubling, from 0.5 on.
var fineLimits = func() (x [perDoubling]float64) {
	for i := range x {
		x[i] = math.Exp2(float64(i)/perDoubling - 1)
	}
	return x
}()

// add adds a time, which is not negative.
func (t *Times) add(x Example) {
	t.Count++
	t.Nanos += uint64(x.Took)
	s := float64(x.Took) / 1e9
	i := 0
	for i < len(RoundLimits) && s > RoundLimits[i] {
		i++
	}
	t.Round[i]++
	t.Last[i] = x
	if s <= FineZero {
		t.Below++
		return
	}
	part, exp := math.Frexp(s)
	n := 0
	for n < perDoubling && part > fineLimits[n] {
		n++
	}
	t.Fine[min((exp-1)*perDoubling+n-FirstFine, fineBuckets-1)]++
}
