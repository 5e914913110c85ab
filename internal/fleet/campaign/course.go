package campaign

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"time"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/sketch"
)

// course is a campaign on its way.
type course struct {
	Campaign
	All        []*member        `json:"all"` // members, by key
	FirstIndex int64            `json:"first_index"`
	LastIndex  int64            `json:"last_index"` // of the last window that belongs to a carpet
	Hosts      *sketch.Distinct `json:"-"`
	Networks   networkCounts    `json:"-"`
	Family     family           `json:"family"`
	Base       How              `json:"base"` // what incidents have in common, at once or in turn
	// Measured is the confidence if all sensors are honest.
	Measured float64 `json:"measured"`
	// Values that the last event reported.
	ToldPeak     float64 `json:"told_peak"`
	ToldServers  int     `json:"told_servers"`
	ToldCategory string  `json:"told_category"`
}

// member is a member of a course.
type member struct {
	Member
	Usual float64 `json:"usual"`
}

// compareMembers orders members by what they are: incidents, else servers.
func compareMembers(a, b *Member) int {
	c := cmp.Or(compareText(a.Sensor, b.Sensor), compareText(a.Run, b.Run), cmp.Compare(a.Incident, b.Incident))
	if c == 0 && a.Run == "" {
		c = a.Server.Compare(b.Server)
	}
	return c
}

// memberOf returns a member that is like x, which becomes one if there is room; else nil.
func (c *course) memberOf(e *Engine, x Member) *member {
	i, found := slices.BinarySearchFunc(c.All, &x, func(m *member, x *Member) int { return compareMembers(&m.Member, x) })
	if found {
		return c.All[i]
	}
	if len(c.All) >= maxMembers {
		e.state.Counters.MembersRefused++
		return nil
	}
	m := &member{Member: x}
	c.All = slices.Insert(c.All, i, m)
	return m
}

// newCarpet returns the course of a carpet that begins with a window.
func (e *Engine) newCarpet(k streakKey, w *window, g *group) *course {
	c := &course{Campaign: Campaign{How: Carpet, Protocol: k.Protocol, Start: (w.Index - 1) * period},
		FirstIndex: w.Index, LastIndex: w.Index, Family: k.Family, Hosts: new(sketch.Distinct), Networks: networkCounts{}}
	names := []string{k.Protocol}
	if k.Family == ofJunk {
		names[0] = flood.JunkFlood.String()
	}
	for _, r := range g.list {
		names = append(names, r.key.Sensor+" "+r.key.Addr.String())
	}
	c.ID = e.idOf(c.Start, Carpet, names)
	return c
}

// idOf returns the ID of a campaign, which begins with its start in UTC so that IDs are in order of time. Where
// the same members began another one at the same time, it is another.
func (e *Engine) idOf(start int64, what How, members []string) string {
	slices.Sort(members)
	for n := 0; ; n++ {
		h := sha256.New()
		fmt.Fprintf(h, "%d %q %q %d", start, what, members, n)
		id := time.Unix(0, start).UTC().Format("20060102T150405Z") + fmt.Sprintf("-%x", h.Sum(nil)[:6])
		isEnded := slices.ContainsFunc(e.state.Ended, func(c *Campaign) bool { return c.ID == id })
		if !isEnded && e.courseOf(id) == nil {
			return id
		}
	}
}

// addWindow adds a window in which the servers of g were flooded.
func (c *course) addWindow(e *Engine, w *window, g *group) {
	c.FirstIndex, c.LastIndex = min(c.FirstIndex, w.Index), max(c.LastIndex, w.Index)
	from, to := (w.Index-1)*period, w.Index*period
	c.Start = min(c.Start, from)
	for _, r := range g.list {
		x := c.memberOf(e, Member{Sensor: r.key.Sensor, Server: r.key.Addr, Start: from})
		if x == nil {
			continue
		}
		x.Start, x.End = min(x.Start, from), max(x.End, to)
		x.Peak, x.Usual = max(x.Peak, r.rate), r.usual
		x.Requests += uint64(r.rate * float64(period) / 1e9)
		c.Requests += uint64(r.rate * float64(period) / 1e9)
	}
	c.Peak, c.Baseline = max(c.Peak, g.rate), g.usual
	if !c.isJunkCarpet() {
		c.addSources(g)
	}
	c.count()
	v, level := g.verdict, g.verdict.Kind.Level()
	isBetter := level > c.Kind().Level() || level == c.Kind().Level() && v.Confidence >= c.Measured+betterBy
	if level >= flood.Warn && (c.Category == "" || isBetter || v.Kind == c.Kind()) {
		c.Category, c.Level, c.Measured = v.Kind.String(), level.String(), max(c.Measured, v.Confidence)
		c.Evidence = carpetEvidence(c, g)
		c.Advice = adviceOn(c)
	}
}

// addSources adds the sources of queries, and their networks.
func (c *course) addSources(g *group) {
	c.Hosts.Merge(&g.sum.sources)
	for p, n := range g.sum.networks {
		c.Networks[p] += n
	}
	if len(c.Networks) > 2*windowNetworks {
		c.Networks.shrink()
	}
	c.TopOf += uint64(queriesOf(g.features))
}

// betterBy is how much surer a verdict of another kind must be to replace one, as at an incident.
const betterBy = 0.05

// count counts the members, and their sources.
func (c *course) count() {
	sensors := map[string]bool{}
	targets := map[string]bool{}
	for _, m := range c.All {
		sensors[m.Sensor] = true
		targets[placeOf(m.Sensor, m.Server, m.Target)] = true
	}
	c.Sensors, c.Servers = len(sensors), len(targets)
	if !c.isJunkCarpet() {
		c.Sources, c.SourcesError = c.Hosts.Count(), sketch.DistinctError
	}
}

// list fills in what is listed of the members and networks.
func (c *course) list() {
	all := slices.Clone(c.All)
	slices.SortStableFunc(all, func(a, b *member) int { return cmp.Compare(b.Peak, a.Peak) })
	c.Members = nil
	for _, m := range all[:min(len(all), listedMembers)] {
		c.Members = append(c.Members, m.Member)
	}
	c.Top = c.Networks.top(listedNetworks)
	c.limitConfidence()
}

// confidenceOfFew is the most confidence of what fewer than trustedSensors report. Chosen: its word is "low", which
// is below 0.65.
const confidenceOfFew = 0.6

// limitConfidence sets the confidence. Two stolen sensors can make a campaign up, of any size and with all the evidence
// that an honest one has: what fewer than trustedSensors report is no more than possible, and says so.
func (c *course) limitConfidence() {
	c.Measured = cmp.Or(c.Measured, c.Confidence) // a state of before has no other
	c.Confidence = c.Measured
	c.Evidence = slices.DeleteFunc(c.Evidence, func(s string) bool { return s == fewSensors })
	if c.Sensors < trustedSensors {
		c.Confidence = min(c.Confidence, confidenceOfFew)
		c.Evidence = append(c.Evidence, fewSensors)
	}
}

// openCourse makes a course one of the open campaigns, if there is room, and announces it.
func (e *Engine) openCourse(c *course) bool {
	if len(e.state.Courses) >= maxCampaigns {
		e.state.Counters.CampaignsRefused++
		return false
	}
	e.state.Courses = append(e.state.Courses, c)
	e.state.Counters.Campaigns++
	c.Detected = e.state.Closed * period
	e.announce(c, flood.Begins)
	return true
}

// announce passes an event of a campaign to Options.Campaign.
func (e *Engine) announce(c *course, event flood.Event) {
	c.list()
	c.Number++
	c.Event = event.String()
	c.ToldPeak, c.ToldServers, c.ToldCategory = c.Peak, c.Servers, c.Category
	e.state.Counters.Events++
	if e.options.Campaign != nil {
		e.options.Campaign(&c.Campaign)
	}
}

// announceChanges announces a campaign that became another kind, or twice as large.
func (e *Engine) announceChanges(c *course) {
	if c.Number > 0 && (c.Category != c.ToldCategory || c.Peak >= 2*c.ToldPeak || c.Servers >= 2*c.ToldServers) {
		e.announce(c, flood.Changes)
	}
}

// endCourses closes the campaigns that are over by now, a time of the broker.
func (e *Engine) endCourses(now int64) {
	var over []*course
	e.state.Courses = slices.DeleteFunc(e.state.Courses, func(c *course) bool {
		if !e.isOver(c, now) {
			return false
		}
		over = append(over, c)
		return true
	})
	for _, c := range over {
		c.End = 0
		for _, m := range c.All {
			c.End = max(c.End, m.End)
		}
		c.End = max(c.End, c.Start)
		e.announce(c, flood.Ends)
		e.releaseIncidents(c)
		done := c.Campaign
		e.state.Ended = slices.Insert(e.state.Ended, 0, &done)
		e.state.Ended = e.state.Ended[:min(len(e.state.Ended), keptClosed)]
	}
	for k, t := range e.state.Carpets {
		if k.Late && len(e.state.LateWindows) == 0 || !k.Late && e.state.Closed > t.Last+1 {
			delete(e.state.Carpets, k)
		}
	}
}

// isOver reports whether a campaign is over. Where a network was cut, it stays open up to holdSilent.
func (e *Engine) isOver(c *course, now int64) bool {
	last := int64(math.MinInt64)
	if c.How == Carpet {
		last = c.LastIndex * period
	}
	for _, m := range c.All {
		if m.End == 0 {
			return false
		}
		last = max(last, m.End)
	}
	quiet := int64(e.lim.Quiet)
	if c.How != Carpet {
		quiet = linkQuiet
	}
	idle := now - lateness - last
	if idle < quiet || idle < holdSilent && e.isCut(c) {
		return false
	}
	for index := range e.state.LateWindows {
		if c.How == Carpet && index >= c.FirstIndex && index <= c.LastIndex+e.quietWindows() {
			return false
		}
	}
	return true
}

// isAway reports whether a sensor is silent, or has sent no Host message since the last lull: its messages
// are missing before it is announced as silent.
func (e *Engine) isAway(s *sensorState) bool { return s.Silent || s.LastHost < e.state.Resumed }

// isCut reports whether what continues a campaign may wait in spools: half of its sensors are silent, or a
// tenth of the fleet that spoke when it began.
func (e *Engine) isCut(c *course) bool {
	seen := map[string]bool{}
	silent := 0
	for _, m := range c.All {
		if !seen[m.Sensor] {
			seen[m.Sensor] = true
			if s := e.state.Sensors[m.Sensor]; s == nil || e.isAway(s) {
				silent++
			}
		}
	}
	if silent > 0 && 2*silent >= len(seen) {
		return true
	}
	silent = 0
	for _, s := range e.state.Sensors {
		if e.isAway(s) && s.LastHost > c.Start-linkQuiet {
			silent++
		}
	}
	return silent > 0 && cutShare*silent >= len(e.state.Sensors)
}

// cutShare: one sensor in so many is silent where a network was cut. Chosen: single hosts fail all the time.
const cutShare = 10

// fewSensors is the sentence on campaigns that fewer than trustedSensors report.
const fewSensors = "fewer than three hosts report it: stolen sensors could have made it up; look at one of these hosts"

// number returns a rate or an estimate as sentences have it.
func number(x float64) string { return digits.Grouped(int64(math.Round(x))) }

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// hosts returns how many servers of how many hosts there are.
func (c *Campaign) hosts() string {
	return digits.Counted(uint64(c.Servers), "server") + " of " + digits.Counted(uint64(c.Sensors), "host")
}

// carpetEvidence returns sentences on servers that are flooded together, by the features of a window.
func carpetEvidence(c *course, g *group) []string {
	f := g.features
	if c.isJunkCarpet() {
		return junkEvidence(c, g)
	}
	text := []string{fmt.Sprintf("%s together got %s queries/s in ten seconds (usual: %s), the busiest %s of it", c.hosts(),
		number(f[measure.Rate10]), number(f[measure.Base]), percent(f[measure.NetBusiest]))}
	add := func(format string, args ...any) { text = append(text, fmt.Sprintf(format, args...)) }
	add("these queries came from about %s sources, %s each", number(f[measure.Sources]), fmt.Sprintf("%.1f", f[measure.Each]))
	if f[measure.Challenged] >= flood.LeastChallenged {
		add("of the sources that were challenged %s brought the challenge back, of those beyond the usual ones %s",
			percent(f[measure.Completion]), percent(f[measure.Echoed]))
	}
	if f[measure.Alien] >= 0.005 {
		add("%s of the queries are from impossible addresses (of random addresses 14 %% are)", percent(f[measure.Alien]))
	}
	if f[measure.TTL1] >= 0.7 {
		add("%s of the queries have the time to live %.0f", percent(f[measure.TTL1]), f[measure.TTL])
	}
	if f[measure.TTLX] >= 0.1 {
		add("%s of the queries have a time to live that no usual system sends", percent(f[measure.TTLX]))
	}
	if f[measure.Port1] >= 0.5 {
		add("%s of the queries have the source port %.0f", percent(f[measure.Port1]), f[measure.Port])
	}
	if f[measure.Prefix] >= 0.1 {
		add("one network sent at least %s of the queries", percent(f[measure.Prefix]))
	}
	return text
}

// linkEvidence returns sentences on incidents that belong together, by their start.
func (e *Engine) linkEvidence(c *course, all []*incident) []string {
	var text []string
	add := func(format string, args ...any) { text = append(text, fmt.Sprintf(format, args...)) }
	if c.How == Walk {
		add("%s were attacked one after the other, at up to %s packets/s", c.hosts(), number(c.Peak))
	} else {
		add("%s were attacked, at up to %s packets/s together", c.hosts(), number(c.Peak))
	}
	switch c.Base {
	case SameShape:
		add("the packets of each have the same form, and the peaks differ by less than a factor of %d", peakFactor)
		if c.How == SameShape {
			add("the attacks began within %d s", (all[len(all)-1].Start-all[0].Start)/1e9)
		}
	default:
		e.addCommon(&text, c, all)
	}
	if c.Sources > 0 {
		add("about %s different sources at all of them", number(c.Sources))
	}
	return text
}

// addCommon adds what the incident that has least in common with the others has in common with one.
func (e *Engine) addCommon(text *[]string, c *course, all []*incident) {
	least := 1.0
	for _, x := range all[:min(len(all), evidenceMembers)] {
		most := 0.0
		for _, y := range all[:min(len(all), evidenceMembers)] {
			if x != y {
				most = max(most, e.commonSources(x, y))
			}
		}
		if most > 0 {
			least = min(least, most)
		}
	}
	what := "sources"
	switch {
	case c.Family == ofReplies:
		what = "reflectors"
	case c.Family == ofReflections:
		what = "victims"
	}
	*text = append(*text, fmt.Sprintf("at each of them at least %s of the %s, or of their packets, are also at another", percent(least), what))
}

// evidenceMembers is how many incidents are compared with each other for a sentence. Chosen: those that are listed would be 4,032 comparisons.
const evidenceMembers = 16

// adviceOn returns what to do about a campaign, in a sentence.
func adviceOn(c *course) string {
	switch k := c.Kind(); {
	case c.Family == ofReplies:
		return "Give the list of reflectors, and the form of their replies, to the provider of the line: rules on a host do not help once the line is full."
	case c.Family == ofReflections:
		return "Make these servers ask for a challenge, or load the rules that each host advises: they cut what the victims are sent."
	case c.Family == ofScans:
		return "Usually nothing: block the source at the edge of the network if it comes back."
	case c.Family == ofLogins:
		return "Let remote consoles be reached through a VPN only, and block the sources at the edge of the network."
	case c.isJunkCarpet():
		return "Have a filter on all hosts drop datagrams that are no known query, and belong to nobody who plays: addresses may be forged, so block none."
	case k == flood.FloodFew:
		return "Block the sources, or the networks named here, for all hosts at the edge of the network."
	case k == flood.FloodSpoofed:
		return "Have servers ask for a challenge, and limit queries without one on all hosts, as each host's rules do: addresses are forged, so block none."
	case k == flood.FloodSuspect:
		return "Look whether players join as well before limiting anything: this may be a crowd."
	case c.How == Walk:
		return "Load the rules that the attacked hosts advise on all hosts, before the attack gets there."
	}
	return "Load the rules that the attacked hosts advise on all hosts of the fleet: a limit for each source, and one for queries without a challenge."
}
