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
	// Ours tells whether an incident is to be kept; nil: all are.
	Ours func(*Incident) bool

	counts [Alert + 1]uint64
	kept   []Incident
	left   uint64
	others uint64
}

// Found takes an event of an incident. Set Detector.Found to it.
func (c *Collector) Found(in *Incident, e Event) {
	if e != Ends {
		return
	}
	if c.Ours != nil && !c.Ours(in) {
		c.others++
		return
	}
	c.counts[in.Level]++
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

// Incidents is what was kept, in the order of detection, scans behind the others.
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

// Left is how many incidents had no room.
func (c *Collector) Left() uint64 { return c.left }

// Others is how many incidents had targets that are not ours.
func (c *Collector) Others() uint64 { return c.others }

// clone copies what the detector goes on to use.
func (i *Incident) clone() Incident {
	x := *i
	x.Top, x.Prefixes, x.History = slices.Clone(i.Top), slices.Clone(i.Prefixes), slices.Clone(i.History)
	x.Evidence, x.Missing, x.Features = slices.Clone(i.Evidence), slices.Clone(i.Missing), slices.Clone(i.Features)
	return x
}

// Announce calls found with the events of incidents that ask for something, warnings
// and alerts. One that was a note at first begins when it becomes more; of one that
// turns out to be a note the end is told.
func (d *Detector) Announce(found func(in *Incident, e Event)) {
	told := map[uint64]bool{} // no more than are open
	d.Found = func(in *Incident, e Event) {
		known := told[in.ID]
		switch {
		case e == Ends:
			delete(told, in.ID)
			if !known && in.Level < Warn {
				return
			}
		case in.Level < Warn:
			return
		default:
			told[in.ID] = true
			if !known {
				e = Begins
			}
		}
		found(in, e)
	}
}

// Uncounted is how many incidents were not opened because too many of their kind
// had been in the same minute.
func (d *Detector) Uncounted() uint64 { return d.book.uncounted }

// Full names the tables that are full, so that something may have been forgotten.
func (d *Detector) Full() []string {
	var full []string
	add := func(name string, yes bool) {
		if yes {
			full = append(full, name)
		}
	}
	add("servers", d.light.Len() == d.light.Cap())
	add("servers watched closely", len(d.heavy) == d.most)
	add("hosts that get replies nobody asked for", len(d.victims.heavy) == heavyVictims)
	add("sources of scans", d.scans.table.Len() == d.scans.table.Cap())
	add("consoles", d.consoles.table.Len() == d.consoles.table.Cap())
	return full
}
