package campaign

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

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
