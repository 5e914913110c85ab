package pipeline

import (
	"math/bits"

	"qsniff/capture"
	"qsniff/internal/base/lru"
)

// census finds out whether a place has every packet as often, twice or more, as some capturing
// programs and mirror ports write it. A packet arrives while the census is open: equal packets of a
// place within copyWindow make a group. When it closes, a place has repeats if nearly all groups have
// the same size, in nearly all flows, and in both directions of flows that have both. Senders that
// repeat themselves do not make such a place, however many there are: the replies to them, and all
// other flows, come once; a packet generator sends groups with one IP identification.
//
// It counts the first batch of a file before anything is made of that, and then a small part of all
// packets, since it costs a hash of each.
type census struct {
	isOpen bool  // isCopy adds packets
	rest   int   // packets until it opens
	seen   int   // packets of this census
	last   int64 // time stamp of its last packet
	n      int   // groups
	full   int64 // time stamp of the packet with which there was no more room
	groups [2 * groupsOfCensus]group
	flows  [2 * groupsOfCensus]flowGroups
	number [maxPlaces]uint8 // what it found: repeats of each place; 0: too little to judge by
}

const (
	// groupsOfCensus is how many groups are counted, and the most places in the table of flows.
	// Chosen: hundreds of flows are enough, and judging them takes microseconds.
	groupsOfCensus = 512
	// packetsAhead is how many packets of a file are counted before anything is made of them: a
	// batch, or several small ones.
	packetsAhead = capture.MaxPackets
	// packetsOfCensus is after how many packets it closes, if it is not full before (chosen).
	packetsOfCensus = 4096
	// censusRest is how many packets pass between two, as a multiple of those in it. Chosen: half
	// a percent of the time of a flood in qsniff stats.
	censusRest = 63
	// maxRepeats is the most times that a place has each packet: what 4 bits hold.
	maxRepeats = 15
	// minGroups and minFlows are what it takes to believe that a place has repeats: so many groups,
	// with as many IP identifications, of so many flows (each direction is one) or of both directions
	// of one (chosen).
	minGroups, minFlows = 8, 6
	// regularPercent of the groups, of flows, and of flows that have both directions must have the
	// same size (chosen).
	regularPercent = 90
)

// group is equal packets of a place.
type group struct {
	sum   uint64 // 0: none
	nanos int64  // of the first
	flow  uint32 // hash of the ends, the same for both directions
	place uint8
	n     uint8 // saturates
	id    uint8 // 1 + a hash of its IP identification in 6 bits; 0: it is zero
	way   uint8 // direction, 0 or 1
}

// flowGroups counts the groups of a flow at a place, by direction: all, and those of the usual size.
type flowGroups struct {
	flow       uint32
	all, usual [2]uint16
}

// open begins a census.
func (c *census) open() {
	c.isOpen, c.seen, c.n = true, 0, 0
	clear(c.groups[:])
}

// add counts a packet of an open census. It reports whether the census is over.
func (c *census) add(sum uint64, place uint8, it *item) (over bool) {
	c.seen++
	c.last = it.nanos
	h := lru.Mix(sum, uint64(place)) | 1
	for i := h; ; i++ {
		g := &c.groups[i%uint64(len(c.groups))]
		if g.sum == 0 {
			if c.n < groupsOfCensus {
				c.n++
				*g = newGroup(h, place, it)
				c.full = it.nanos
			}
			break
		}
		if g.sum == h {
			if spanOf(min(g.nanos, it.nanos), max(g.nanos, it.nanos)) <= int64(copyWindow) && g.n < 0xff {
				g.n++
			}
			break
		}
	}
	isFull := c.n == groupsOfCensus && c.last-c.full > int64(copyWindow)
	if c.seen < packetsOfCensus && !isFull {
		return false
	}
	c.judgeAll(c.last)
	c.isOpen, c.rest = false, c.seen*censusRest
	return true
}

// newGroup returns the group that a packet begins.
func newGroup(sum uint64, place uint8, it *item) group {
	a := lru.Mix(endHash(it.Src.Addr().As16()), uint64(it.Src.Port()))
	b := lru.Mix(endHash(it.Dst.Addr().As16()), uint64(it.Dst.Port()))
	g := group{sum: sum, nanos: it.nanos, flow: uint32((a + b) >> 32), place: place, n: 1}
	if a > b {
		g.way = 1
	}
	switch {
	case it.IPID != 0:
		g.id = uint8(lru.Mix(1, uint64(it.IPID))>>58) + 1
	case !it.Src.Addr().Is4(): // it has none: the content decides
		g.id = uint8(sum>>58) + 1
	}
	return g
}

func endHash(a [16]byte) uint64 { return lru.Mix16(0, &a) }

// judgeAll judges the places by the groups, but for those whose packets may not all have come: now is
// the time stamp of the last packet, or so late that all have.
func (c *census) judgeAll(now int64) {
	clear(c.number[:])
	var done [maxPlaces]bool
	for i := range c.groups {
		g := &c.groups[i]
		if g.sum != 0 && !done[g.place] {
			done[g.place] = true
			c.number[g.place] = c.judge(g.place, now-int64(copyWindow))
		}
	}
}

// judge returns how many times a place has each packet, 0 if there is too little to judge by. Groups
// that began after until are left out.
func (c *census) judge(place uint8, until int64) uint8 {
	var sizes [maxRepeats + 2]int // the last is of all that are larger
	all := 0
	for i := range c.groups {
		if g := &c.groups[i]; g.sum != 0 && g.place == place && g.nanos <= until {
			all++
			sizes[min(int(g.n), len(sizes)-1)]++
		}
	}
	if all < minGroups {
		return 0
	}
	for size := 2; size <= maxRepeats; size++ {
		if isRegular(sizes[size], all) && c.isOfAllFlows(place, uint8(size), until) {
			return uint8(size)
		}
	}
	return 1
}

func isRegular(usual, all int) bool { return usual*100 >= all*regularPercent }

// isOfAllFlows reports whether nearly all flows of a place have groups of the same size, in both
// directions where they have both, with different IP identifications.
func (c *census) isOfAllFlows(place, size uint8, until int64) bool {
	clear(c.flows[:])
	var ids uint64
	for i := range c.groups {
		g := &c.groups[i]
		if g.sum == 0 || g.place != place || g.nanos > until {
			continue
		}
		f := c.flowOf(g.flow)
		f.all[g.way]++
		if g.n == size {
			f.usual[g.way]++
			if g.id != 0 {
				ids |= 1 << (g.id - 1)
			}
		}
	}
	var flows, usual, pairs, usualPairs int
	for i := range c.flows {
		f := &c.flows[i]
		both := 0
		for way := range f.all {
			if f.all[way] == 0 {
				continue
			}
			flows++
			if f.usual[way]*2 > f.all[way] {
				usual++
				both++
			}
		}
		if f.all[0] > 0 && f.all[1] > 0 {
			pairs++
			usualPairs += both / 2
		}
	}
	return bits.OnesCount64(ids) >= minGroups-2 && (flows >= minFlows || pairs > 0) &&
		isRegular(usual, flows) && isRegular(usualPairs, pairs)
}

// flowOf returns the counts of a flow. There is room for as many as there are groups.
func (c *census) flowOf(flow uint32) *flowGroups {
	for i := flow; ; i++ {
		f := &c.flows[i%uint32(len(c.flows))]
		if f.all == [2]uint16{} {
			f.flow = flow
			return f
		}
		if f.flow == flow {
			return f
		}
	}
}

// setRepeats sets what a census found of places that it could judge. It reports whether any place has
// repeats.
func (s *places) setRepeats(c *census) (any bool) {
	for i := 1; i <= s.n; i++ {
		if c.number[i] > 0 {
			s.all[i].repeats = c.number[i]
		}
		any = any || s.all[i].repeats > 1
	}
	return any
}
