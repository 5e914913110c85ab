package campaign

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"qsniff/internal/flood"
	"qsniff/internal/flood/measure"
)

// A server is raised if it gets raisedFactor times its usual rate and raisedLeast queries/s more. Chosen: half of
// what raises an alarm at one server, and more than a client that asks everything in one window. A
// record is kept from keepFactor on, as what is usual may change a little until the window is closed.
const (
	raisedFactor = 2
	raisedLeast  = 1
	keepFactor   = 1.5
)

// Thresholds for a carpet, an attack on many servers together. Fewer than leastServers, or those of fewer sensors than
// leastSensors, are incidents of their own. A server that gets more than standOutShare of all, or a sensor whose
// servers get more than standOutSensor, is a target of its own, or reports what is not so; where there are few, more
// than fewShare times the equal part. All chosen.
const (
	leastServers   = 3
	leastSensors   = 2
	standOutShare  = 0.25
	standOutSensor = 0.5
	fewShare       = 1.5
)

// The usual rate of a server follows the rate as the baseline of package measure does, a window at a
// time.
const (
	learnSlow   = 10.0 / 600
	learnFast   = 10.0 / 60
	learnUntil  = 12 // windows
	learnFloor  = 10
	learnFactor = 4
)

// learn takes in a window that ended at end. isAttacked: what came in it is not usual.
func (v *serverState) learn(x *entry, end int64, isAttacked, isLate bool) {
	if end >= v.Heard {
		v.Heard, v.Rate = end, x.Rate
	}
	if x.Packets > 0 {
		v.Asked = max(v.Asked, end)
	}
	if x.Sent > 0 {
		v.Answered = max(v.Answered, end)
	}
	if v.Windows == 0 {
		v.Usual, v.UsualJunk = cleanRate(x.Base), x.Junk
	}
	step := learnSlow
	if v.Windows < learnUntil {
		v.Windows++
		step = learnFast
	}
	if isAttacked || isLate {
		return
	}
	v.Usual += (min(x.Rate, max(learnFloor, learnFactor*v.Usual)) - v.Usual) * step
	v.UsualJunk += (min(x.Junk, max(learnFloor, learnFactor*v.UsualJunk)) - v.UsualJunk) * step
	v.Challenged += (x.Challenged - v.Challenged) * step
	v.Echoed += (x.Echoed - v.Echoed) * step
}

// raisedServer is a server that gets much more than usual in a window: queries, or junk.
type raisedServer struct {
	key         entryKey
	entry       *entry
	server      *serverState
	family      family  // of what it gets more: ofFloods or ofJunk
	rate, usual float64 // of that, a second
}

// raisedServers returns the raised servers of a window, in the order of keys. Those that get more of both are in the
// list twice.
func (e *Engine) raisedServers(w *window, keys []entryKey) []raisedServer {
	var list []raisedServer
	for _, k := range keys {
		x := w.Entries[k]
		if x.Record == nil {
			continue
		}
		v := e.findServer(k)
		if v == nil || v.Windows < youngWindows {
			continue
		}
		if x.Rate >= raisedFactor*v.Usual+raisedLeast {
			list = append(list, raisedServer{k, x, v, ofFloods, x.Rate, v.Usual})
		}
		if e.isRaisedByJunk(x, v) {
			list = append(list, raisedServer{k, x, v, ofJunk, x.Junk, v.UsualJunk})
		}
	}
	return list
}

// countRaised returns how many servers are in a list of raised ones.
func countRaised(list []raisedServer) (n int) {
	for i := range list {
		if i == 0 || list[i].key != list[i-1].key {
			n++
		}
	}
	return n
}

// streakKey names what carpets are followed apart: the protocol of most queries, whether the messages came late, and
// whether they are of queries or of junk, which has no protocol.
type streakKey struct {
	Protocol string
	Late     bool
	Family   family
}

func compareStreaks(a, b streakKey) int {
	return cmp.Or(cmp.Compare(a.Family, b.Family), compareText(a.Protocol, b.Protocol), cmp.Compare(oneIf(a.Late), oneIf(b.Late)))
}

// streak is windows in a row in which servers together were flooded, before that is a campaign.
type streak struct {
	Last   int64 // index of the last of them
	Length int
	Course *course // what is known so far
}

// group is raised servers that are judged together.
type group struct {
	list        []raisedServer
	sum         *sum
	features    *measure.Features
	rate, usual float64 // of all, a second
	verdict     flood.Verdict
}

// judgeCarpets judges the raised servers of a window together, those of each protocol, and those that get junk. It
// returns which of them are attacked.
func (e *Engine) judgeCarpets(w *window, raised []raisedServer) map[entryKey]bool {
	attacked := map[entryKey]bool{}
	groups := map[streakKey][]raisedServer{}
	for _, r := range raised {
		f := measure.Features(r.entry.Record.Features)
		f[measure.Base] = r.server.Usual
		if e.isFlooded(r.family, &f) {
			attacked[r.key] = true // an incident of its own
			continue
		}
		k := streakKey{Late: w.Late, Family: r.family}
		if r.family == ofFloods {
			k.Protocol = r.entry.Record.Form.Protocol
		}
		groups[k] = append(groups[k], r)
	}
	for _, k := range slices.SortedFunc(maps.Keys(groups), compareStreaks) {
		g := e.judgeGroup(w, k.Family, groups[k])
		if g == nil {
			continue
		}
		if e.followCarpet(k, w, g) {
			for _, r := range g.list {
				attacked[r.key] = true
			}
		}
	}
	return attacked
}

// isFlooded reports whether what one server gets is an alert there.
func (e *Engine) isFlooded(of family, f *measure.Features) bool {
	if of == ofJunk {
		return e.judge.JudgeJunk(f).Kind.Level() == flood.Alert
	}
	return e.judge.HasAlarm(f) && e.judge.JudgeServer(f).Kind.Level() == flood.Alert
}

// judgeGroup judges servers together; nil: they are too few, or get too little.
func (e *Engine) judgeGroup(w *window, of family, list []raisedServer) *group {
	list = dropStandouts(slices.Clone(list))
	if len(list) < leastServers {
		return nil
	}
	g := &group{list: list, sum: newSum(e.lim.BurstRate)}
	base := 0.0
	for _, r := range list {
		g.sum.add(r.entry.Record, r.server)
		base += r.server.Usual
		g.usual += r.usual
	}
	g.features = g.sum.measure(base)
	if of == ofJunk {
		e.judgeJunk(w, g)
		return g
	}
	g.rate = g.features[measure.Rate10]
	if !e.judge.HasAlarm(g.features) {
		return nil
	}
	g.verdict = e.judge.JudgeServers(g.features)
	// Counts of sources that keep asking cannot be merged. Where one network sends most, these are few.
	if g.verdict.Kind == flood.FloodDistributed && g.features[measure.Prefix] >= e.lim.FewShare {
		g.verdict.Kind = flood.FloodFew
	}
	return g
}

// dropStandouts removes servers, and sensors with their servers, that have too large a part of all. It
// returns nil if too few are left.
func dropStandouts(list []raisedServer) []raisedServer {
	for {
		sensors := map[string]float64{}
		all, most := 0.0, 0
		for i, r := range list {
			sensors[r.key.Sensor] += r.rate
			all += r.rate
			if r.rate > list[most].rate {
				most = i
			}
		}
		if len(list) < leastServers || len(sensors) < leastSensors {
			return nil
		}
		if list[most].rate > max(standOutShare, fewShare/float64(len(list)))*all {
			list = slices.Delete(list, most, most+1)
			continue
		}
		name := busiestSensor(sensors)
		if sensors[name] <= max(standOutSensor, fewShare/float64(len(sensors)))*all {
			return list
		}
		list = slices.DeleteFunc(list, func(r raisedServer) bool { return r.key.Sensor == name })
	}
}

func busiestSensor(rates map[string]float64) (name string) {
	for n, rate := range rates {
		if c := cmp.Compare(rate, rates[name]); name == "" || c > 0 || c == 0 && n < name {
			name = n
		}
	}
	return name
}

// liveShare is the share of its peak with which a carpet continues without a verdict, as an incident does.
const liveShare = 0.25

// followCarpet opens a campaign for the servers of a window, or adds the window to the open one. It
// reports whether they are attacked.
func (e *Engine) followCarpet(k streakKey, w *window, g *group) (isAttacked bool) {
	isVerdict := g.verdict.Kind.Level() >= flood.Warn
	if c := e.carpetAt(k, w.Index); c != nil {
		if !isVerdict && g.rate < liveShare*c.Peak {
			return false
		}
		c.addWindow(e, w, g)
		e.announceChanges(c)
		return true
	}
	t := e.state.Carpets[k]
	if !isVerdict {
		delete(e.state.Carpets, k)
		return false
	}
	if t == nil || t.Last+1 != w.Index {
		if t == nil && len(e.state.Carpets) >= maxStreaks {
			e.state.Counters.CampaignsRefused++
			return true
		}
		t = &streak{Course: e.newCarpet(k, w, g)}
		e.state.Carpets[k] = t
	}
	t.Last = w.Index
	t.Length++
	t.Course.addWindow(e, w, g)
	if t.Length >= windowsNeeded || g.verdict.IsUrgent && g.verdict.Kind.Level() == flood.Alert {
		delete(e.state.Carpets, k)
		if !e.isPartOfLinked(t.Course) {
			e.openCourse(t.Course)
		}
	}
	return true
}

// windowsNeeded is how many windows in a row it takes to open a campaign; one, at an urgent rate. Chosen: a
// list that all servers refresh at the same time is over in one.
const windowsNeeded = 2

// carpetAt returns the open campaign that a window of such carpets belongs to by its time; else nil.
func (e *Engine) carpetAt(k streakKey, index int64) *course {
	for _, c := range e.state.Courses {
		if c.How == Carpet && c.Family == k.Family && c.Protocol == k.Protocol && index >= c.FirstIndex-e.quietWindows() && index <= c.LastIndex+e.quietWindows() {
			return c
		}
	}
	return nil
}

// quietWindows returns how many windows without anything end a carpet.
func (e *Engine) quietWindows() int64 { return (int64(e.lim.Quiet) + period - 1) / period }

// A server is raised by junk if it gets raisedFactor times as much as usual and junkLeast/s more, and junk_share of what
// it gets is junk, so that busy servers, whom it harms less, do not outweigh the others. Chosen: a quarter of
// junk_rate, and more than is sent by thirty players who come back within twenty seconds, as to all servers after a
// restart: to join takes two datagrams that are nothing known. A server gets some junk from junkSome/s more than usual
// on. Chosen: half of that.
const (
	junkLeast = 5
	junkSome  = 2.5
)

func (e *Engine) isRaisedByJunk(x *entry, v *serverState) bool {
	return x.Junk >= raisedFactor*v.UsualJunk+junkLeast && x.Record.Features[measure.JunkShareMean] >= e.lim.JunkShare
}

// judgeJunk judges the junk that servers get together. Where most hosts get some and are not raised, those that are
// got more by chance.
func (e *Engine) judgeJunk(w *window, g *group) {
	f := g.features
	g.rate, g.verdict = f[measure.JunkMean], e.judge.JudgeJunk(f)
	if g.verdict.Kind != flood.NoKind && e.isByChance(w, g) {
		g.verdict = flood.Verdict{}
	}
}

func (e *Engine) isByChance(w *window, g *group) bool {
	sensors := map[string]bool{}
	for _, r := range g.list {
		sensors[r.key.Sensor] = true
	}
	raised := len(sensors)
	for k, x := range w.Entries {
		if v := e.findServer(k); v != nil && x.Junk >= v.UsualJunk+junkSome {
			sensors[k.Sensor] = true
		}
	}
	return 2*raised < len(sensors)
}

// isJunkCarpet reports whether a campaign is a carpet of junk. Its sources are unknown: what sensors sketch, and the
// networks that they list, are of queries.
func (c *course) isJunkCarpet() bool { return c.How == Carpet && c.Family == ofJunk }

// junkEvidence returns sentences on servers that get junk together.
func junkEvidence(c *course, g *group) []string {
	most, share := 0.0, 1.0
	for _, r := range g.list {
		most = max(most, r.rate)
		share = min(share, r.entry.Record.Features[measure.JunkShareMean])
	}
	return []string{
		fmt.Sprintf("%s together got %s datagrams/s in ten seconds that are nothing known (usual: %s), the busiest %s of it",
			c.hosts(), number(g.rate), number(g.usual), percent(measure.Share(most, g.rate))),
		fmt.Sprintf("at each of them that is at least %s of what it got", percent(share)),
	}
}
