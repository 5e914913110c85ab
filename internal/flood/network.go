package flood

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"qsniff/internal/base/digits"
	"qsniff/internal/base/lru"
	m "qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// network is a network that is watched closely: all its servers together are measured and
// judged as one, and members shows how what came was spread over them.
type network struct {
	watched
	key      netKey
	siblings *networks
	wanted   int // servers that are about to open a note, in this second
}

func newNetwork(k m.Key) *network {
	n := &network{}
	n.Init(k)
	n.members = &members{table: lru.New[track.Host, member](networkServers)}
	return n
}

// reset makes n the watch of another network, and keeps its memory.
func (n *network) reset(k netKey, now int32) {
	e := track.End{Host: k.base, Port: k.port}
	n.watched.reset(e, 0, now)
	n.key, n.wanted = k, 0
	n.members.owner = n
	n.members.clear()
}

// members counts what each server of a network got. It is part of the watched of a network,
// and nil in that of a server.
type members struct {
	owner   *network
	table   *lru.Table[track.Host, member]
	evicted bool // since the oldest open incident began: there were more than networkServers
}

// member is one server of a network.
type member struct {
	counts [2]uint32 // packets of two panes; that of turn is counts[turn&1]
	turn   int32     // pane of its last packet
	total  uint32    // packets since the oldest open incident of the network began
}

func (x *members) clear() {
	for k, _, ok := x.table.Oldest(); ok; k, _, ok = x.table.Oldest() {
		x.table.Delete(k)
	}
	x.evicted = false
}

// count counts a packet to a server.
func (x *members) count(h track.Host, now int32) {
	v := x.table.Get(h)
	if v == nil {
		var gone *lru.Evicted[track.Host, member]
		v, gone = x.table.Put(h)
		*v = member{}
		x.evicted = x.evicted || gone != nil
	}
	turn := now / m.PaneSeconds
	if v.turn != turn {
		if v.turn != turn-1 {
			v.counts[(turn+1)&1] = 0
		}
		v.counts[turn&1], v.turn = 0, turn
	}
	v.counts[turn&1]++
	v.total++
}

// inWindow returns the packets of the current and the previous pane.
func (v *member) inWindow(now int32) uint32 {
	switch turn := now / m.PaneSeconds; v.turn {
	case turn:
		return v.counts[0] + v.counts[1]
	case turn - 1:
		return v.counts[v.turn&1]
	}
	return 0
}

// minorShare is the share of the busiest server's packets below which a server is a bystander:
// it is not listed as one of those that are flooded. Chosen: a flood that is spread on purpose
// is spread evenly.
const minorShare = 0.1

// measure returns how many servers were asked in the window, how many of them got a fair part
// of it, and which share the busiest got.
func (x *members) measure(now int32) (asked, flooded, busiest float64) {
	var all, most uint32
	for _, v := range x.table.All() {
		if n := v.inWindow(now); n > 0 {
			asked++
			all, most = all+n, max(most, n)
		}
	}
	for _, v := range x.table.All() {
		if n := v.inWindow(now); n > 0 && float64(n) >= minorShare*float64(most) {
			flooded++
		}
	}
	return asked, flooded, m.Share(float64(most), float64(all))
}

// restart begins a new total with the window.
func (x *members) restart(now int32) {
	for _, v := range x.table.All() {
		v.total = v.inWindow(now)
	}
	x.evicted = false
}

// list fills in the servers of an incident, busiest first, and returns which share of what all
// of them got went to the first.
func (x *members) list(in *Incident) (busiest float64) {
	type entry struct {
		addr  netip.Addr
		total uint32
	}
	var most uint32
	for _, v := range x.table.All() {
		most = max(most, v.total)
	}
	var all []entry
	sum := 0.0
	for h, v := range x.table.All() {
		if v.total > 0 && float64(v.total) >= minorShare*float64(most) {
			all = append(all, entry{h.Addr(), v.total})
			sum += float64(v.total)
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.total, a.total), a.addr.Compare(b.addr))
	})
	in.Servers, in.MoreServers = len(all), x.evicted
	in.Targets = in.Targets[:0]
	for _, e := range all[:min(len(all), listedServers)] {
		in.Targets = append(in.Targets, netip.AddrPortFrom(e.addr, x.owner.key.port))
	}
	return m.Share(float64(most), sum)
}

// limits returns the limits of sources at the server, or at each server of the network.
func (w *watched) limits(b *book) m.Limits {
	l := m.Limits{Unproven: b.lim.FewUnproven, Proven: b.lim.FewProven}
	if w.members != nil {
		l.Servers, _, _ = w.members.measure(b.Now)
	}
	return l
}

// limitVerdict takes back a verdict on a network that does not meet the needs of networks. f
// gets their features.
func (w *watched) limitVerdict(v *verdict, f *m.Features, now int32) {
	if w.members == nil || v.kind == NoKind {
		return
	}
	_, f[m.NetServers], f[m.NetBusiest] = w.members.measure(now)
	if !networkNeeds.holds(f) || v.kind.isFromMany() && !networkManyNeeds.holds(f) {
		v.kind = NoKind
	}
}

// isAttacked reports whether an incident other than a note is open at the server.
func (w *watched) isAttacked() bool {
	return w.courses[ofQueries].in != nil || w.courses[ofGuesses].in != nil || w.courses[ofJunk].in != nil
}

// target returns how incidents name what is watched.
func (w *watched) target() Target {
	if w.members != nil {
		return w.members.owner.key.target()
	}
	return Target{End: w.End.AddrPort()}
}

// isJoined reports whether what a server's course is about to open an incident for is part of
// an incident of its network, or of one that is about to open there: so that a flood of many
// servers is one incident. A server that stands out has its own. A note waits for a second
// whether others of the network want one, too.
func (s *serverSecond) isJoined(c *course, v verdict) bool {
	w := s.watched
	if w.members != nil {
		return c.family == ofLoad && w.members.owner.wanted < noteServers || s.joinNetwork(c)
	}
	n := w.network
	if n == nil || !n.key.has(&w.End) {
		return false
	}
	attack := &n.courses[c.family]
	if c.family == ofLoad {
		attack = &n.courses[ofQueries]
		load := &n.courses[ofLoad]
		if load.in != nil {
			return true
		}
		if load.streak.notes > 0 && !c.hasWaited {
			n.wanted++
			c.hasWaited = load.streak.notes >= s.lim.WarnTicks
			return true
		}
	}
	if attack.in == nil && attack.streak.warnings == 0 {
		return false
	}
	return !w.standsOut(n, s.Now)
}

// joinNetwork makes what a network's course is about to open an incident for a part of the one that is open
// for the same addresses at another port, and reports whether there is one.
func (s *serverSecond) joinNetwork(c *course) bool {
	own := s.watched.members.owner
	for _, n := range own.siblings.heavy {
		l := &n.courses[c.family]
		if n == own || n.key.base != own.key.base || n.key.wide != own.key.wide || l.in == nil || !l.isActive {
			continue
		}
		if !slices.Contains(l.in.MorePorts, own.key.port) {
			if len(l.in.MorePorts) == morePorts {
				return false
			}
			l.in.MorePorts = append(l.in.MorePorts, own.key.port)
		}
		c.leader, c.leaderID = l, l.in.ID
		return c.followNote(s)
	}
	return false
}

// morePorts is how many further ports an incident of a network names. Chosen: hosts of game servers give
// each of them a port of a few that follow each other.
const morePorts = 15

// standsOut reports whether a server gets more than networks' servers may: a large share of
// all, or many times what they get on average.
func (w *watched) standsOut(n *network, now int32) bool {
	one, all := w.Sum(now, standOutSeconds), n.Sum(now, standOutSeconds)
	mine, total := float64(one.Packets+one.Junk), float64(all.Packets+all.Junk)
	asked, _, _ := n.members.measure(now)
	return mine > standOutShare*total || mine > standOutTimes*m.Share(total, asked)
}

// countSourcesOnce makes the number of challenged sources of a network what the rules mean:
// one that each of eighty servers challenged is one.
func (w *watched) countSourcesOnce(f *m.Features) {
	if w.members != nil {
		f[m.Challenged] = min(f[m.Challenged], f[m.Sources])
	}
}

// leaveNetwork has the network of a server forget what came lately when the server gets an
// incident of its own: without that server, the rest must not be judged by what it got.
func (w *watched) leaveNetwork(now int32) {
	if n := w.network; n != nil && n.key.has(&w.End) {
		n.Forget(now)
		n.members.forget()
	}
}

// forget empties the window, and keeps the totals.
func (x *members) forget() {
	for _, v := range x.table.All() {
		v.counts = [2]uint32{}
	}
}

// describeServers lists the servers of an incident of a network, which goes on or ends at end,
// and adds to its evidence over how many it is spread.
func (c *course) describeServers(s *serverSecond, end int64) {
	x := s.watched.members
	if x == nil {
		return
	}
	busiest := x.list(c.in)
	over := digits.Counted(uint64(c.in.Servers), "server")
	if c.in.MoreServers {
		over = "at least " + over
	}
	one := Sentence{fmt.Sprintf("it is spread over %s of %s, %s of it to the busiest", over, c.in.Target.Prefix, percent(busiest)), c.in.Start, end}
	c.in.Evidence = slices.Insert(c.in.Evidence, min(1, len(c.in.Evidence)), one)
	if n := len(c.in.MorePorts); n > 0 {
		text := "the same comes to " + digits.Noun(uint64(n), "port", "ports")
		for i, p := range c.in.MorePorts {
			sep := ", "
			switch {
			case i == 0:
				sep = " "
			case i == n-1:
				sep = " and "
			}
			text += sep + strconv.Itoa(int(p))
		}
		c.in.Evidence = slices.Insert(c.in.Evidence, 1, Sentence{text + " of the network", c.in.Start, end})
	}
	sentences(c.in.Evidence).groupBySpan()
}
