package flood

import (
	"cmp"
	"slices"
)

// Collector keeps the incidents of a run for a report: as many as a reader can
// take in. Those that do not fit are counted.
type Collector struct {
	// Least is the level from which on incidents are kept.
	Least Level
	// Ours reports whether an incident is to be kept; nil: all are.
	Ours func(*Incident) bool

	counts [Alert + 1]uint64
	other  [Alert + 1]uint64 // of these, floods of what is no query
	kept   []Incident
	left   uint64
	others uint64
}

// Unnamed counts incidents that are not told of one by one.
type Unnamed struct {
	Unlisted  uint64 // the list had no room for them
	Elsewhere uint64 // at targets that are not ours
	Unopened  uint64 // too many of their kind began within a minute
}

// Found takes an event of an incident. It is an observer of a Detector.
func (c *Collector) Found(in *Incident, e Event) {
	if e != Ends {
		return
	}
	if c.Ours != nil && !c.Ours(in) {
		c.others++
		return
	}
	c.counts[in.Level]++
	if in.Kind == OtherFlood {
		c.other[in.Level]++
	}
	if in.Level < c.Least {
		return
	}
	if len(c.kept) == collected && !c.makeRoom(in.Level) {
		c.left++
		return
	}
	c.kept = append(c.kept, in.clone())
}

// makeRoom drops the last incident of a level below, or a scan, if there is one: scans
// are cheap to forge, and may be made to hide something.
func (c *Collector) makeRoom(level Level) bool {
	for l := c.Least; l < level; l++ {
		for i := len(c.kept) - 1; i >= 0; i-- {
			if c.kept[i].Level == l {
				c.kept = slices.Delete(c.kept, i, i+1)
				c.left++
				return true
			}
		}
	}
	if i := slices.IndexFunc(c.kept, func(in Incident) bool { return in.Kind == Scan }); i >= 0 {
		c.kept = slices.Delete(c.kept, i, i+1)
		c.left++
		return true
	}
	return false
}

// Counts is how many incidents of each level there were, kept or not.
func (c *Collector) Counts() [Alert + 1]uint64 { return c.counts }

// Others is how many of these are floods of what is no query.
func (c *Collector) Others() [Alert + 1]uint64 { return c.other }

// Incidents is what was kept, in the order of detection, scans after the others.
func (c *Collector) Incidents() []Incident {
	slices.SortFunc(c.kept, func(a, b Incident) int {
		if (a.Kind == Scan) != (b.Kind == Scan) {
			if b.Kind == Scan {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return c.kept
}

// Unnamed counts the incidents of d that are not among those that were kept.
func (c *Collector) Unnamed(d *Detector) Unnamed {
	return Unnamed{Unlisted: c.left, Elsewhere: c.others, Unopened: d.book.uncounted}
}

// clone copies what the detector goes on to use.
func (i *Incident) clone() Incident {
	x := *i
	x.Top, x.Prefixes, x.History = slices.Clone(i.Top), slices.Clone(i.Prefixes), slices.Clone(i.History)
	x.Evidence, x.Missing, x.Features = slices.Clone(i.Evidence), slices.Clone(i.Missing), slices.Clone(i.Features)
	return x
}
