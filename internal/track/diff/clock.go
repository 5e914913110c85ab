package diff

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Clock is how the clock of EDGE becomes that of HOST, and how long datagrams take between them.
type Clock struct {
	Pairs  int           // contents that it rests on; 0: nothing is known, and the clocks count as equal
	Offset time.Duration // what the clock of HOST shows more than that of EDGE, at At
	At     int64         // in the clock of EDGE, Unix nanoseconds
	// Error is by how much Offset may be wrong: no datagram arrives before it was sent, so half
	// of the shortest round trip between the points bounds it. It is unknown where IsOneWay.
	Error time.Duration
	// IsOneWay is set where datagrams of one way only are in both captures: then the fastest of
	// them counts as taking no time.
	IsOneWay bool
	// Drift is by how much the clock of HOST runs faster, as a ratio, and DriftError its standard error.
	Drift, DriftError float64
	// IsReversed is set where what clients send came to HOST first.
	IsReversed bool
	// IsDoubtful is set where both captures have equal contents, but too few, or of ends or times too
	// different, to be of the same traffic: nothing is known of the clocks then.
	IsDoubtful bool

	usual [numWays]int64 // nanoseconds from point to point
}

// toHost returns a time of EDGE in the clock of HOST.
func (c *Clock) toHost(nanos int64) int64 {
	return nanos + int64(c.Offset) + int64(math.Round(c.Drift*float64(nanos-c.At)))
}

// delay returns how long a datagram took that was at EDGE and HOST at these times of HOST's clock:
// negative, if it came before it was sent.
func (c *Clock) delay(way Way, edge, host int64) int64 {
	switch {
	case way == UnknownWay && host < edge:
		return edge - host
	case way == UnknownWay, (way == ToServer) != c.IsReversed:
		return host - edge
	}
	return edge - host
}

// longest returns how long a datagram takes that is not late, with what the clocks may be wrong by: one that is nearer
// to the end of the other capture is not judged.
func (c *Clock) longest(way Way, o *Options) int64 {
	if c.Pairs == 0 {
		return int64(o.Wait)
	}
	return int64(min(o.Wait, time.Duration(c.usual[way])+o.Late+c.Error))
}

// leastPairs is how many contents have to be there once to do without repeated ones.
// Chosen: two could be one by chance and one repeated in each capture.
const leastPairs = 3

// fitClock estimates the clocks. It returns the sightings that it rests on. Where these could as well be of two
// captures that have nothing to do with each other, it returns none, and IsDoubtful is set.
func fitClock(unique []sighting, early func() []sighting) (*Clock, []sighting) {
	c := &Clock{}
	in := densest(unique)
	if len(in) < leastPairs {
		if e := densest(early()); len(e) > len(in) {
			in = e
		}
	}
	if len(in) == 0 {
		return c, nil
	}
	if !isEvidence(in) {
		c.IsDoubtful = true
		return c, nil
	}
	c.At = in[len(in)/2].edge.nanos
	c.fitDrift(in)
	in = c.withoutOutliers(in)
	c.Pairs = len(in)
	c.fitOffset(in)
	return c, in
}

// isEvidence reports whether sightings show that both captures are of the same traffic. Requests without a challenge
// are the same everywhere, and an empty server answers the same for days.
func isEvidence(in []sighting) bool {
	const (
		enough       = 3    // chosen: as leastPairs
		farClocks    = 6e10 // nanoseconds: a minute; chosen: clocks are set by the network, or wrong by a time zone
		enoughIfFar  = 8    // chosen: more than the requests and replies of one poll
		plainQueries = 8    // chosen: requests that are the same everywhere are fewer
	)
	points, requests, isSame := 0, 0, false
	for i := range in {
		x := &in[i]
		isSame = isSame || x.edge.src == x.host.src && x.edge.dst == x.host.dst
		if x.edge.src == x.host.src || x.edge.dst == x.host.dst || x.way == ToClient || x.edge.src.isTCP && x.edge.hasPlace {
			points++
		} else {
			requests++
		}
	}
	points += max(0, requests-plainQueries)
	if math.Abs(in[len(in)/2].ahead) > farClocks {
		return points >= enoughIfFar
	}
	return isSame || points >= enough
}

// densest returns the sightings, by time, whose differences lie closest together: false ones are
// anywhere. The span leaves room for a drift. Of the sightings of one datagram of EDGE one remains.
func densest(all []sighting) []sighting {
	if len(all) == 0 {
		return nil
	}
	const widest, drift = 100e6, 200e-6 // 100 ms; a clock wrong by 200 ppm is broken
	first, last := all[0].edge.nanos, all[0].edge.nanos
	for i := range all {
		first, last = min(first, all[i].edge.nanos), max(last, all[i].edge.nanos)
	}
	width := widest + drift*float64(last-first)
	slices.SortFunc(all, func(a, b sighting) int {
		return cmp.Or(cmp.Compare(a.ahead, b.ahead), cmp.Compare(a.edge.nanos, b.edge.nanos), cmp.Compare(a.edge.hash, b.edge.hash))
	})
	best, at, lo := 0, 0, 0
	for hi := range all {
		for all[hi].ahead-all[lo].ahead > width {
			lo++
		}
		n := hi - lo + 1
		if n > best || n == best && math.Abs(all[lo].ahead) < math.Abs(all[at].ahead) {
			best, at = n, lo
		}
	}
	in := slices.Clone(all[at : at+best])
	middle := in[len(in)/2].ahead
	slices.SortFunc(in, func(a, b sighting) int {
		return cmp.Or(cmp.Compare(a.edge.nanos, b.edge.nanos), cmp.Compare(math.Abs(a.ahead-middle), math.Abs(b.ahead-middle)))
	})
	return slices.CompactFunc(in, func(a, b sighting) bool { return a.edge == b.edge })
}

// fitDrift sets the drift: the median of the slopes between sightings that are far apart, which
// outliers do not move.
func (c *Clock) fitDrift(in []sighting) {
	const most = 400 // sightings: 80,000 slopes
	step := max(1, len(in)/most)
	span := in[len(in)-1].edge.nanos - in[0].edge.nanos
	var slopes []float64
	for i := 0; i < len(in); i += step {
		for j := i + step; j < len(in); j += step {
			dt := in[j].edge.nanos - in[i].edge.nanos
			if in[i].way == in[j].way && dt > 0 && dt >= span/4 {
				slopes = append(slopes, (in[j].ahead-in[i].ahead)/float64(dt))
			}
		}
	}
	c.Drift = median(slopes)
	c.refineDrift(in)
	// Chosen: clocks wrong by more than 1,000 ppm are not met, and a slope within its error is none.
	if math.Abs(c.Drift) > 1e-3 || math.Abs(c.Drift) < 3*c.DriftError {
		c.Drift = 0
	}
}

// refineDrift moves the drift to the line of least squares through the sightings that are as usual,
// and sets its standard error.
func (c *Clock) refineDrift(in []sighting) {
	centre, spread := c.centres(in)
	limit := max(6*spread, 2000) // chosen: three standard deviations of what is spread normally; 2 µs is what times are rounded to
	var n, mean [numWays]float64
	var rests [numWays]float64
	each := func(f func(w Way, t, rest float64)) {
		for i := range in {
			if rest := c.rest(&in[i]) - centre[in[i].way]; math.Abs(rest) <= limit {
				f(in[i].way, float64(in[i].edge.nanos-c.At), rest)
			}
		}
	}
	each(func(w Way, t, rest float64) { n[w]++; mean[w] += t; rests[w] += rest })
	for w := range n {
		mean[w], rests[w] = mean[w]/max(n[w], 1), rests[w]/max(n[w], 1)
	}
	var sxx, sxy, syy, all float64
	each(func(w Way, t, rest float64) {
		t, rest = t-mean[w], rest-rests[w]
		sxx, sxy, syy, all = sxx+t*t, sxy+t*rest, syy+rest*rest, all+1
	})
	const least = 8 // chosen: with fewer the error is as uncertain as the slope
	if sxx == 0 || all < least {
		c.Drift, c.DriftError = 0, 0
		return
	}
	slope := sxy / sxx
	c.Drift += slope
	c.DriftError = math.Sqrt(max(syy-slope*sxy, all*500*500) / (all - 2) / sxx)
}

// rest returns the difference of the clocks at a sighting without the drift.
func (c *Clock) rest(s *sighting) float64 {
	return s.ahead - c.Drift*float64(s.edge.nanos-c.At)
}

// centres returns the median of the rests of each way, and the median of how far they lie from it.
func (c *Clock) centres(in []sighting) (centre [numWays]float64, spread float64) {
	var byWay [numWays][]float64
	for i := range in {
		byWay[in[i].way] = append(byWay[in[i].way], c.rest(&in[i]))
	}
	for w := range byWay {
		centre[w] = median(byWay[w])
	}
	var off []float64
	for i := range in {
		off = append(off, math.Abs(c.rest(&in[i])-centre[in[i].way]))
	}
	return centre, median(off)
}

// withoutOutliers returns the sightings whose differences are as usual, late ones included.
func (c *Clock) withoutOutliers(in []sighting) []sighting {
	centre, spread := c.centres(in)
	limit := max(20*spread, 5e6) // chosen: queues are kept, other datagrams with equal bytes are not
	return slices.DeleteFunc(in, func(s sighting) bool { return math.Abs(c.rest(&s)-centre[s.way]) > limit })
}

// fitOffset sets the offset, its error, and the usual delays. What is sent shows at least the
// offset and the way there, what comes back at most the offset less the way back.
func (c *Clock) fitOffset(in []sighting) {
	centre, spread := c.centres(in)
	var byWay [numWays][]float64
	for i := range in {
		byWay[in[i].way] = append(byWay[in[i].way], c.rest(&in[i]))
	}
	there, back := byWay[ToServer], byWay[ToClient]
	slices.Sort(there)
	slices.Sort(back)
	switch {
	case len(there) > 0 && len(back) > 0:
		noise := 3 * max(spread, 10e3) / math.Sqrt(float64(min(len(there), len(back))))
		between := centre[ToServer] - centre[ToClient]
		c.IsReversed = between < -noise || math.Abs(between) <= noise && hopsAgainst(in)
		const trim = 50 // of 50 sightings the most extreme one is ignored, in case it is false
		lo, hi := there[len(there)/trim], back[len(back)-1-len(back)/trim]
		if c.IsReversed {
			lo, hi = there[len(there)-1-len(there)/trim], back[len(back)/trim]
		}
		c.Offset = time.Duration((lo + hi) / 2)
		c.Error = time.Duration(math.Abs(lo-hi)/2 + noise)
	default:
		c.IsOneWay = true
		c.IsReversed = hopsAgainst(in)
		all := append(append(there, back...), byWay[UnknownWay]...)
		slices.Sort(all)
		fastest := all[0]
		if len(back) > 0 && !c.IsReversed || len(there) > 0 && c.IsReversed {
			fastest = all[len(all)-1]
		}
		if len(there)+len(back) == 0 {
			fastest = all[len(all)/2]
		}
		c.Offset = time.Duration(fastest)
	}
	for w := range byWay {
		if len(byWay[w]) > 0 {
			c.usual[w] = max(0, c.delay(Way(w), 0, int64(centre[w])-int64(c.Offset)))
		}
	}
}

// hopsAgainst reports whether what is sent to servers came with fewer hops left to EDGE than to HOST.
func hopsAgainst(in []sighting) bool {
	against, along := 0, 0
	for i := range in {
		lost := int(in[i].edge.ttl) - int(in[i].host.ttl)
		if in[i].way == ToClient {
			lost = -lost
		}
		switch {
		case in[i].way == UnknownWay || lost > maxHops || lost < -maxHops:
		case lost < 0:
			against++
		case lost > 0:
			along++
		}
	}
	return against > along
}

// maxHops is how many hops can lie between the points. Chosen: half of the least start value; where more
// are missing, somebody sent the datagram again.
const maxHops = 32

// median returns the median of all, which it sorts; 0 of none.
func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}
