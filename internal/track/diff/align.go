package diff

import (
	"math/bits"
	"time"

	"qsniff/internal/base/lru"
)

// aligner pairs datagrams with one content and the same ends by order and time: which of many equal
// requests is missing. Equal datagrams do not overtake each other, as nothing would show it. Of all
// pairings it takes the one that costs least, where a pair costs the nanoseconds by which its delay is
// not the usual one, and a datagram without a counterpart half of the wait: so one that is
// alone finds its counterpart within the whole wait.
type aligner struct {
	clock *Clock
	wait  int64
	cost  [runLength + 1][runLength + 1]int64
	step  [runLength + 1][runLength + 1]step
	path  []step
}

// step is how the cheapest pairing of a prefix ends.
type step uint8

const (
	skipEdge step = iota
	skipHost
	pair
)

// deviation returns by how much the delay of a pair is not the usual one, or false if it is no pair.
func (a *aligner) deviation(e, h *datagram) (int64, bool) {
	delay := a.clock.delay(e.way, e.nanos, h.nanos)
	if delay > a.wait || delay < -int64(tolerance) {
		return 0, false
	}
	off := delay - a.clock.usual[e.way]
	return max(off, -off), true
}

// align pairs datagrams of two windows, those at the indices edges and hosts, which are in order of
// time and not paired yet.
func (a *aligner) align(we, wh []datagram, edges, hosts []int32) {
	for len(edges) > 0 && len(hosts) > 0 {
		ne, nh := min(len(edges), runLength), min(len(hosts), runLength)
		ne, nh = a.alignRun(we, wh, edges[:ne], hosts[:nh], ne < len(edges), nh < len(hosts))
		edges, hosts = edges[ne:], hosts[nh:]
	}
}

// alignRun pairs a run and returns how much of it is decided: all, or, where a side goes on after
// the run, up to the half of that side, as what follows may fit better to the rest.
func (a *aligner) alignRun(we, wh []datagram, edges, hosts []int32, moreEdges, moreHosts bool) (ne, nh int) {
	if a.alignPlainly(we, wh, edges, hosts) {
		return len(edges), len(hosts)
	}
	a.fill(we, wh, edges, hosts)
	i, j := len(edges), len(hosts)
	a.path = a.path[:0]
	for i > 0 || j > 0 {
		how := a.step[i][j]
		a.path = append(a.path, how)
		if how != skipHost {
			i--
		}
		if how != skipEdge {
			j--
		}
	}
	for n := len(a.path) - 1; n >= 0; n-- {
		switch a.path[n] {
		case skipEdge:
			i++
		case skipHost:
			j++
		default:
			we[edges[i]].mate, wh[hosts[j]].mate = hosts[j], edges[i]
			i, j = i+1, j+1
		}
		if moreEdges && i >= runLength/2 || moreHosts && j >= runLength/2 {
			break
		}
	}
	return i, j
}

// alignPlainly pairs runs of equal length whose datagrams come one after the other, each in the
// usual time.
func (a *aligner) alignPlainly(we, wh []datagram, edges, hosts []int32) bool {
	if len(edges) != len(hosts) {
		return false
	}
	const usual = int64(DefaultLate)
	for i := range edges {
		off, ok := a.deviation(&we[edges[i]], &wh[hosts[i]])
		if !ok || off > usual && len(edges) > 1 {
			return false
		}
		if i > 0 && we[edges[i]].nanos-we[edges[i-1]].nanos <= 2*off { // it could be the one before
			return false
		}
	}
	for i := range edges {
		we[edges[i]].mate, wh[hosts[i]].mate = hosts[i], edges[i]
	}
	return true
}

// fill computes what the cheapest pairing of each two prefixes costs. Of two that cost the same it
// takes the one in which the later datagram has no counterpart, so that those without one are in
// order of time.
func (a *aligner) fill(we, wh []datagram, edges, hosts []int32) {
	alone := a.wait / 2
	for i := 0; i <= len(edges); i++ {
		for j := 0; j <= len(hosts); j++ {
			switch {
			case i == 0:
				a.cost[i][j], a.step[i][j] = int64(j)*alone, skipHost
				continue
			case j == 0:
				a.cost[i][j], a.step[i][j] = int64(i)*alone, skipEdge
				continue
			}
			e, h := &we[edges[i-1]], &wh[hosts[j-1]]
			best, how := a.cost[i-1][j]+alone, skipEdge
			if c := a.cost[i][j-1] + alone; c < best || c == best && h.nanos > e.nanos {
				best, how = c, skipHost
			}
			if off, ok := a.deviation(e, h); ok && a.cost[i-1][j-1]+off <= best {
				best, how = a.cost[i-1][j-1]+off, pair
			}
			a.cost[i][j], a.step[i][j] = best, how
		}
	}
}

// polynomial hashes bytes as the value of a polynomial at a secret place, modulo a prime. The hash of bytes that
// follow each other comes from the hashes of both, so that segments that were cut in another way are
// compared without their bytes. Two different texts of n bytes have the same hash by a chance of n in 2^61.
type polynomial struct{ place uint64 }

const prime = 1<<61 - 1

func newPolynomial(seed uint64) polynomial {
	const least = 1 << 20 // chosen: a small place leaves short texts in order
	return polynomial{least + lru.Mix(seed, least)%(prime-least)}
}

// multiply returns a*b modulo the prime, of values below it.
func multiply(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return reduce((lo & prime) + (lo>>61 | hi<<3))
}

func reduce(x uint64) uint64 {
	if x = x&prime + x>>61; x >= prime {
		x -= prime
	}
	return x
}

// sum returns the hash of b. Bytes count from 1, so that the length is part of it.
func (p polynomial) sum(b []byte) (h uint64) {
	for _, x := range b {
		h = reduce(multiply(h, p.place) + uint64(x) + 1)
	}
	return h
}

// join returns the hash of bytes whose first part has the hash a, and the second one, of n bytes, b.
func (p polynomial) join(a, b uint64, n int) uint64 {
	for power := p.place; n > 0; n >>= 1 {
		if n&1 != 0 {
			a = multiply(a, power)
		}
		power = multiply(power, power)
	}
	return reduce(a + b)
}

const (
	// limit: DefaultLate is how much longer than usual a late datagram takes. Chosen: twice what
	// queues of home routers add, and a tenth of what clients wait.
	DefaultLate = 100 * time.Millisecond

	// limit: runLength is how many datagrams with one content and the same ends are aligned at once.
	// Chosen: the time for each grows with it, and half a window of equal requests, one a
	// millisecond, is aligned as well by runs of this length.
	runLength = 128

	// limit: tolerance is how much before it was sent a datagram may arrive, by the clocks as
	// corrected. Chosen: what capturing programs deliver in one go.
	tolerance = 2 * time.Millisecond
)
