package campaign

import (
	"math"
	"slices"
	"time"

	"qsniff/internal/fleet"
	"qsniff/internal/flood/sketch"
)

// What two incidents have in common.
const (
	// shareLeast is the share of the smaller number of sources, or of the packets of each, that has to be of
	// the same sources. Chosen: two networks of bots for hire, or the visitors of two servers, share less.
	shareLeast = 0.3
	// leastSources is how many sources sketches are compared of at least: fewer are listed one by one.
	leastSources = 30
	// errorFactor is how many standard errors are taken off an overlap. Chosen: one pair in fifty is taken for
	// more than it is, before shareLeast.
	errorFactor = 2
	// sameMoment is how far the starts of incidents are apart that begin at once, walkGap how long the
	// pause between two that follow each other. peakFactor is how much their peaks differ at most. leastShaped is how many
	// incidents it takes where nothing but this is common: the usual query has the same form everywhere. All chosen.
	sameMoment  = int64(15 * time.Second)
	walkGap     = int64(60 * time.Second)
	peakFactor  = 2
	leastShaped = 3
)

// isNear reports whether one of two incidents begins before the other is over for long.
func isNear(a, b *incident) bool {
	return a.Start-b.endOr() <= linkQuiet && b.Start-a.endOr() <= linkQuiet
}

// commonSources returns which share of their sources, or packets, two incidents have in common; 0: no more
// than by chance, or unknown.
func (e *Engine) commonSources(a, b *incident) float64 {
	if a.Family != b.Family || a.place() == b.place() || !isNear(a, b) {
		return 0
	}
	if a.Family == ofScans {
		if !a.Source.IsZero() && a.Source == b.Source {
			return 1
		}
		return 0
	}
	if s := min(commonTop(a, b), commonTop(b, a)); s >= shareLeast {
		return min(s, 1)
	}
	if a.Distinct < leastSources || b.Distinct < leastSources {
		return 0
	}
	if e.compared++; e.compared > maxCompared {
		e.state.Counters.Uncompared++
		return 0
	}
	return overlap(a, b)
}

// commonTop returns which share of the packets of a is at least of the busiest sources that b has as well.
func commonTop(a, b *incident) float64 {
	n := uint64(0)
	for _, x := range a.Top {
		if slices.ContainsFunc(b.Top, func(y fleet.Network) bool { return x.Prefix == y.Prefix }) {
			n += uint64(x.Queries)
		}
	}
	if a.TopOf == 0 {
		return 0
	}
	return float64(n) / float64(a.TopOf)
}

// overlap returns which share of the sources of the incident with fewer of them the other has as well: of
// those that are no usual visitors, who may be the same at both, and less what is within the error.
func overlap(a, b *incident) float64 {
	var x, y sketch.Distinct
	if x.Unpack(a.Sources) != nil || y.Unpack(b.Sources) != nil {
		return 0
	}
	both := sketch.CountOfTwo(&x, &y)
	visitors := min(a.visitors(), b.visitors())
	common := a.Distinct + b.Distinct - both - visitors
	common -= errorFactor * math.Sqrt(variance(a.Distinct)+variance(b.Distinct)+variance(both))
	share := common / max(min(a.Distinct, b.Distinct)-visitors, leastSources)
	if !(share >= shareLeast) {
		return 0
	}
	return min(share, 1)
}

// registers is how many a sketch.Distinct has. Below 2.5 times as many sources it counts registers that are 0.
const registers = sketch.PackedSize * 8 / 6

// variance returns that of an estimate (Whang et al. 1990 for counts of registers).
func variance(n float64) float64 {
	if t := n / registers; t < 2.5 {
		return registers * (math.Exp(t) - t - 1)
	}
	return (sketch.DistinctError * n) * (sketch.DistinctError * n)
}

// visitors returns how many usual visitors there were at most: each asked once.
func (x *incident) visitors() float64 {
	if x.Family != ofFloods {
		return 0
	}
	end := x.End
	if end == 0 {
		end = x.Updated
	}
	return x.Baseline * float64(max(end-x.Start, 0)) / 1e9
}

// isAlike reports whether two incidents have packets of the same form, and about the same peak.
func isAlike(a, b *incident) bool {
	return a.Family == b.Family && a.Category == b.Category && a.Form == b.Form && a.Form.Max > 0 &&
		a.Peak <= peakFactor*b.Peak && b.Peak <= peakFactor*a.Peak && a.place() != b.place()
}

// isSimultaneous reports whether two incidents that are alike begin at the same moment.
func isSimultaneous(a, b *incident) bool {
	return isAlike(a, b) && max(a.Start-b.Start, b.Start-a.Start) <= sameMoment
}

// follows reports whether b, which is like a, begins when a ends.
func follows(a, b *incident) bool {
	return isAlike(a, b) && a.End != 0 && b.Start > a.Start && b.Start-a.End >= -sameMoment && b.Start-a.End <= walkGap
}

// isWalk reports whether incidents, by their start, follow each other without two at a time.
func isWalk(all []*incident) bool {
	for i := 1; i < len(all); i++ {
		if all[i].Start < all[i-1].endOr()-sameMoment {
			return false
		}
	}
	return len(all) > 1
}
