package campaign

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"qsniff/internal/fleet"
	"qsniff/internal/flood"
	"qsniff/internal/flood/sketch"
)

// linkIncidents finds or opens the campaigns that the changed incidents belong to, and announces what changed.
func (e *Engine) linkIncidents(changed []*incident) {
	slices.SortFunc(changed, byStart)
	all := e.sortedIncidents()
	touched := map[*course]bool{}
	for _, x := range changed {
		c := e.courseOf(x.Course)
		if c == nil {
			x.Course = ""
			c = e.joinedCourse(x, all)
		}
		if c != nil {
			c.take(e, x)
			touched[c] = true
			continue
		}
		e.openLinked(x, all)
	}
	for _, c := range slices.Clone(e.state.Courses) {
		if touched[c] {
			c.refresh(e)
			e.announceChanges(c)
		}
	}
}

// courseOf returns an open campaign by its ID; else nil.
func (e *Engine) courseOf(id string) *course {
	for _, c := range e.state.Courses {
		if c.ID == id && id != "" {
			return c
		}
	}
	return nil
}

// joinedCourse returns the open campaign that an incident belongs to, as it has sources in common with a
// member or is the next of its shape; else nil.
func (e *Engine) joinedCourse(x *incident, all []*incident) *course {
	for _, y := range all {
		if y.Course == "" || y == x {
			continue
		}
		c := e.courseOf(y.Course)
		if c == nil || c.How == Carpet {
			continue
		}
		if c.Base == SameShape && (isSimultaneous(x, y) || follows(y, x)) || e.commonSources(x, y) > 0 {
			return c
		}
	}
	for _, c := range e.state.Courses {
		if c.isPartOf(x) {
			return c
		}
	}
	return nil
}

// A server of a carpet may get so much that its host finds an incident, or all of its servers together. It
// began within carpetStart of the carpet, and each gets carpetTimes what the members get on average at most,
// as at a network. Chosen.
const (
	carpetStart = int64(30 * time.Second)
	carpetTimes = 10
)

// isPartOf reports whether an incident is part of a carpet.
func (c *course) isPartOf(x *incident) bool {
	return c.How == Carpet && x.Family == familyOf(c.Kind()) && (x.Protocol == c.Protocol || c.isJunkCarpet()) &&
		max(x.Start-c.Start, c.Start-x.Start) <= carpetStart &&
		x.Peak/float64(max(x.Servers, 1)) <= carpetTimes*c.Peak/float64(max(c.Servers, 1))
}

// openLinked opens a campaign of an incident and those that belong to none, if they have enough in common.
func (e *Engine) openLinked(x *incident, all []*incident) {
	free := slices.DeleteFunc(slices.Clone(all), func(y *incident) bool {
		return y.Course != "" || y.Family != x.Family || y == x
	})
	same, base := e.findSame(x, free), SameSources
	least := 2
	switch {
	case same == nil:
		same, base = findShaped(x, free), SameShape
		least = leastShaped
	case x.Family == ofReflections || x.Family == ofReplies:
		base = Reflectors
	}
	sensors, places := map[string]bool{}, map[string]bool{}
	for _, y := range same {
		sensors[y.Key.Sensor] = true
		places[y.place()] = true
	}
	if len(sensors) < leastSensors || len(places) < least {
		return
	}
	c := &course{Campaign: Campaign{How: base, Protocol: x.Protocol}, Family: x.Family, Base: base,
		FirstIndex: e.state.Closed, LastIndex: e.state.Closed, Hosts: new(sketch.Distinct), Networks: networkCounts{}}
	var names []string
	c.Start = same[0].Start
	for _, y := range same {
		names = append(names, fmt.Sprintf("%s %s %d", y.Key.Sensor, y.Key.Run, y.Key.ID))
		c.Start = min(c.Start, y.Start)
	}
	c.ID = e.idOf(c.Start, base, names)
	for _, y := range same {
		y.Course = c.ID
		c.take(e, y)
	}
	c.refresh(e)
	if !e.openCourse(c) {
		for _, y := range same {
			y.Course = ""
		}
	}
}

// findSame returns x and the incidents with the same sources; nil: none has.
func (e *Engine) findSame(x *incident, free []*incident) []*incident {
	same := []*incident{x}
	for _, y := range free {
		if e.commonSources(x, y) > 0 {
			same = append(same, y)
		}
	}
	if len(same) == 1 || !hasOtherSensor(same) {
		return nil
	}
	slices.SortFunc(same, byStart)
	return same
}

func hasOtherSensor(all []*incident) bool {
	return slices.ContainsFunc(all, func(y *incident) bool { return y.Key.Sensor != all[0].Key.Sensor })
}

// findShaped returns x and the incidents that begin at the same moment in the same shape, or that follow
// each other in it.
func findShaped(x *incident, free []*incident) []*incident {
	if x.kind().Level() < flood.Alert {
		return nil
	}
	same := []*incident{x}
	for _, y := range free {
		if isSimultaneous(x, y) {
			same = append(same, y)
		}
	}
	if len(same) >= leastShaped && hasOtherSensor(same) {
		slices.SortFunc(same, byStart)
		return same
	}
	chain := []*incident{x}
	for i := len(free) - 1; i >= 0; i-- { // back in time
		if follows(free[i], chain[0]) {
			chain = slices.Insert(chain, 0, free[i])
		}
	}
	for _, y := range free {
		if follows(chain[len(chain)-1], y) {
			chain = append(chain, y)
		}
	}
	return chain
}

// take makes an incident a member, or takes in what changed of it.
func (c *course) take(e *Engine, x *incident) {
	m := c.memberOf(e, Member{Sensor: x.Key.Sensor, Server: x.Server, Target: x.Target, Run: x.Key.Run, Incident: x.Key.ID})
	if m == nil {
		return
	}
	x.Course = c.ID
	m.Server, m.Target = x.Server, x.Target
	m.Start, m.End, m.Peak, m.Requests, m.Usual = x.Start, x.End, x.Peak, x.Requests, x.Baseline
}

// refresh sums up the incidents of a campaign. Of a carpet these are members among others.
func (c *course) refresh(e *Engine) {
	var all []*incident
	for _, x := range e.sortedIncidents() {
		if x.Course == c.ID {
			all = append(all, x)
		}
	}
	if c.How == Carpet {
		for _, x := range all {
			c.mergeSources(x)
		}
		c.count()
		return
	}
	*c.Hosts, c.Networks = sketch.Distinct{}, networkCounts{}
	c.Peak, c.Baseline, c.Requests, c.TopOf, c.Measured = 0, 0, 0, 0, 0
	kinds := map[flood.Kind]int{}
	for _, x := range all {
		c.mergeSources(x)
		c.Networks.add(x.Networks)
		c.TopOf += x.TopOf
		c.Measured = max(c.Measured, x.Sure)
		kinds[x.kind()]++
	}
	if c.How = c.Base; c.Base != Reflectors && isWalk(all) {
		c.How = Walk
	}
	for _, m := range c.All {
		c.Start = min(c.Start, m.Start)
		c.Requests += m.Requests
		c.Baseline += m.Usual
		if c.How == Walk {
			c.Peak = max(c.Peak, m.Peak)
		} else {
			c.Peak += m.Peak
		}
	}
	c.count()
	k := commonestKind(kinds)
	c.Category, c.Level = k.String(), k.Level().String()
	c.Evidence = e.linkEvidence(c, all)
	c.Advice = adviceOn(c)
}

// partShare is the share of the sources of a carpet, or of a campaign if that has fewer, from which on both
// are of the same ones. Chosen: usual visitors are fewer.
const partShare = 0.5

// isPartOfLinked reports whether a carpet is what an open campaign of incidents does at further servers, where it
// stays below what makes incidents: it has the same sources.
func (e *Engine) isPartOfLinked(carpet *course) bool {
	for _, c := range e.state.Courses {
		if c.How == Carpet || c.Family != carpet.Family || c.Hosts == nil || carpet.Hosts == nil {
			continue
		}
		n, m, both := c.Hosts.Count(), carpet.Hosts.Count(), sketch.CountOfTwo(c.Hosts, carpet.Hosts)
		common := n + m - both - errorFactor*math.Sqrt(variance(n)+variance(m)+variance(both))
		if common >= partShare*min(n, m) && min(n, m) >= leastSources {
			return true
		}
	}
	return false
}

func (c *course) mergeSources(x *incident) {
	var d sketch.Distinct
	if x.Sources != nil && d.Unpack(x.Sources) == nil {
		c.Hosts.Merge(&d)
	}
}

// commonestKind returns the kind of most incidents, of equally many the more urgent one.
func commonestKind(kinds map[flood.Kind]int) (best flood.Kind) {
	for k, n := range kinds {
		if c := cmp.Or(cmp.Compare(n, kinds[best]), cmp.Compare(k.Level(), best.Level()), cmp.Compare(best, k)); best == flood.NoKind || c > 0 {
			best = k
		}
	}
	return best
}

// releaseIncidents drops the incidents of a campaign that is over.
func (e *Engine) releaseIncidents(c *course) {
	for k, x := range e.state.Incidents {
		if x.Course == c.ID {
			e.dropIncident(k)
		}
	}
}

// Thresholds for what two incidents have in common.
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
