package flood

import (
	"cmp"
	"fmt"
	"slices"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// Collector keeps copies of the incidents of a run for a report, at most collected of them.
// Those beyond are counted.
type Collector struct {
	// MinLevel is the lowest level of incidents that are kept.
	MinLevel Level
	// IsOurs reports whether an incident is at a target that the report is about; nil:
	// all are.
	IsOurs func(*Incident) bool

	// KeepsOpen is set to keep incidents that go on as well, with their figures of the moment.
	KeepsOpen bool
	// Describe returns an incident that goes on as it is now, as Detector.Describe does; nil: as it was at its last
	// event.
	Describe func(*Incident) Incident

	counts    [Alert + 1]uint64
	other     [Alert + 1]uint64 // of these, floods of what is no query
	open      []*Incident       // of the detector, at most openIncidents
	kept      []Incident
	unlisted  uint64
	elsewhere uint64
}

// Omitted counts the incidents that a report does not list.
type Omitted struct {
	Unlisted  uint64 // the list had no room for them
	Elsewhere uint64 // at targets that are not ours
	Unopened  uint64 // they were not opened: too many were open, or began within a minute
}

// Observe keeps an incident that ends. Pass it to Detector.AddObserver.
func (c *Collector) Observe(in *Incident, e Event) {
	if c.KeepsOpen {
		c.open = slices.DeleteFunc(c.open, func(x *Incident) bool { return x.ID == in.ID })
	}
	if e != Ends {
		if c.KeepsOpen && (c.IsOurs == nil || c.IsOurs(in)) && in.Level >= c.MinLevel {
			c.open = append(c.open, in)
		}
		return
	}
	if c.IsOurs != nil && !c.IsOurs(in) {
		c.elsewhere++
		return
	}
	c.counts[in.Level]++
	if in.Kind == OtherFlood {
		c.other[in.Level]++
	}
	if in.Level < c.MinLevel {
		return
	}
	if len(c.kept) == collected && !c.makeRoom(in) {
		c.unlisted++
		return
	}
	c.kept = append(c.kept, in.clone())
}

// makeRoom drops the last kept incident of the lowest level below that of in, else the last
// scan if in is none, and reports whether there was one. Scans are cheap to forge, and may be
// made to hide something: they make room for what is no scan, and never for one another, so
// that the first ones stay, as of all others.
func (c *Collector) makeRoom(in *Incident) bool {
	for l := c.MinLevel; l < in.Level; l++ {
		for i := len(c.kept) - 1; i >= 0; i-- {
			if c.kept[i].Level == l {
				c.kept = slices.Delete(c.kept, i, i+1)
				c.unlisted++
				return true
			}
		}
	}
	if in.Kind == Scan {
		return false
	}
	for i := len(c.kept) - 1; i >= 0; i-- {
		if c.kept[i].Kind == Scan {
			c.kept = slices.Delete(c.kept, i, i+1)
			c.unlisted++
			return true
		}
	}
	return false
}

// Forget drops the kept incidents that ended before a time. They stay counted.
func (c *Collector) Forget(before int64) {
	c.kept = slices.DeleteFunc(c.kept, func(in Incident) bool { return in.End < before })
}

// Counts returns how many incidents of each level there were, kept or not.
func (c *Collector) Counts() [Alert + 1]uint64 {
	n := c.counts
	for i := range c.open {
		n[c.open[i].Level]++
	}
	return n
}

// Others returns how many of these are floods of what is no query.
func (c *Collector) Others() [Alert + 1]uint64 { return c.other }

// Incidents returns the kept incidents in the order of detection, scans after the others.
func (c *Collector) Incidents() []Incident {
	all := c.kept
	if len(c.open) > 0 {
		all = slices.Grow(slices.Clone(c.kept), len(c.open))
	}
	for _, in := range c.open {
		if c.Describe != nil {
			all = append(all, c.Describe(in))
		} else {
			all = append(all, in.clone())
		}
	}
	slices.SortFunc(all, func(a, b Incident) int {
		if (a.Kind == Scan) != (b.Kind == Scan) {
			if b.Kind == Scan {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.ID, b.ID)
	})
	return all
}

// Omitted returns how many incidents of d are not among those that were kept.
func (c *Collector) Omitted(d *Detector) Omitted {
	return Omitted{Unlisted: c.unlisted, Elsewhere: c.elsewhere, Unopened: d.book.unopened}
}

// clone returns a copy that shares no memory with the incident, which the detector goes on
// to change.
func (in *Incident) clone() Incident {
	x := *in
	x.Top, x.Prefixes, x.History = slices.Clone(in.Top), slices.Clone(in.Prefixes), slices.Clone(in.History)
	x.Targets = slices.Clone(in.Targets)
	x.Evidence, x.Missing, x.Features = slices.Clone(in.Evidence), slices.Clone(in.Missing), slices.Clone(in.Features)
	x.Leak.To = slices.Clone(in.Leak.To)
	x.Shape = slices.Clone(in.Shape)
	x.SourceSketch = nil
	return x
}

// Seen counts the packets that a detector judged, so that a report without incidents can
// state in what none was found. It is a track.Watcher.
type Seen struct {
	Queries uint64
	Replies uint64 // challenges among them
	Junk    uint64 // begins like a query and is nothing known
	Logins  uint64 // of remote console over TCP
	Gaps    uint64 // how often packets were missing from the capture

	last    [lastPlaces]track.End  // servers of the last packets, by their hash
	exact   map[track.End]struct{} // servers, up to one more than seenExact
	servers sketch.Distinct
}

// String returns how much was seen of each.
func (x *Seen) String() string {
	all := fmt.Sprintf("%d %s, %d %s", x.Queries, digits.Noun(x.Queries, "query", "queries"), x.Replies, digits.Noun(x.Replies, "reply", "replies"))
	if x.Junk > 0 {
		all += fmt.Sprintf(", %d unknown", x.Junk)
	}
	if x.Logins > 0 {
		all += fmt.Sprintf(", %d %s", x.Logins, digits.Noun(x.Logins, "RCON login"))
	}
	return all
}

// Sight counts a packet.
func (x *Seen) Sight(s *track.Sighting) {
	switch s.What {
	case track.IsRequest:
		if s.Asks == 0 {
			return
		}
		x.Queries += uint64(s.Count())
		x.countServer(&s.Dst, s.DstPort, s.ServerHash)
	case track.IsReply, track.IsChallenge:
		x.Replies += uint64(s.Count())
		x.countServer(&s.Src, s.SrcPort, s.ServerHash)
	case track.IsPart:
		if s.Flags&track.First == 0 {
			return
		}
		x.Replies += uint64(s.Count())
		if s.Flags&track.AtSplitPort != 0 { // a server elsewhere is asked, or sends what has a type
			x.countServer(&s.Src, s.SrcPort, s.ServerHash)
		}
	case track.IsJunk:
		if s.Foreign == 0 {
			x.Junk += uint64(s.Count())
		}
	case track.IsLogin:
		x.Logins += uint64(s.Count())
		x.countServer(&s.Dst, s.DstPort, s.ServerHash)
	}
}

// lastPlaces is how many servers are known to be counted without a search. Chosen: those of a
// network.
const lastPlaces = 256

// countServer counts a server, once.
func (x *Seen) countServer(h *track.Host, port uint16, hash uint64) {
	last := &x.last[hash%lastPlaces]
	if last.Port == port && last.Host == *h {
		return
	}
	e := track.End{Host: *h, Port: port}
	*last = e
	x.servers.Add(hash)
	if x.exact == nil {
		x.exact = make(map[track.End]struct{}, seenExact+1)
	}
	if len(x.exact) <= seenExact {
		x.exact[e] = struct{}{}
	}
}

// Servers returns how many servers there were, and reports whether that is an estimate.
func (x *Seen) Servers() (n uint64, isEstimate bool) {
	if n := len(x.exact); n <= seenExact {
		return uint64(n), false
	}
	return uint64(x.servers.Count() + 0.5), true
}

// OneWay returns "requests" or "replies" where only those were captured, else "".
func (x *Seen) OneWay() string {
	switch {
	case x.Queries > 0 && x.Replies == 0:
		return "requests"
	case x.Queries == 0 && x.Replies > 0:
		return "replies"
	}
	return ""
}

// Tick does nothing: Seen depends on no time.
func (x *Seen) Tick(int64, int64) {}

// Lost counts a gap in the capture.
func (x *Seen) Lost(uint64) { x.Gaps++ }

// End does nothing.
func (x *Seen) End(int64, int64) {}

const (
	// limit: collected is how many incidents a report for people holds, of about 2 KiB each; notes make
	// room for warnings, and both for alerts.
	collected = 500
	// limit: seenExact is the largest number of servers that Seen counts exactly; above it the number is
	// an estimate.
	seenExact = 256
)
