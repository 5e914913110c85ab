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
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// networks holds the networks whose servers get requests. An attacker who spreads a flood over
// all servers of a hoster, a carpet, stays below what is conspicuous at each of them; the sum
// over their network shows it. All networks are counted coarsely first; one with many requests
// to several servers is watched closely, as a server is: the same measures, the same rules.
type networks struct {
	*book
	claims    *m.Claims // at the servers of networks that are watched closely; nil: none has been
	heavy     []*network
	maxHeavy  int
	epoch     int32 // of heavy: it grows with every change
	lastFound *network
	fullSince int32 // the last second in which there was no room for one more
	light     *lru.Table[netKey, lightNetwork]
	hasLost   bool // one that was busy was evicted from light
}

// netKey is a network and a port: all servers of the network that have this port.
type netKey struct {
	base track.Host // first address
	port uint16
	wide bool // the /48 of an IPv6 address; else its /64, of an IPv4 address the /24
}

func netKeyOf(e *track.End, wide bool) netKey {
	k := netKey{base: m.PrefixOf(&e.Host), port: e.Port, wide: wide}
	if wide {
		clear(k.base[wideBits/8:])
	}
	return k
}

// wideBits is the length of the prefix that a customer with many networks has in IPv6
// (RFC 6177).
const wideBits = 48

// Hash mixes the key with the seed.
func (k netKey) Hash(seed uint64) uint64 {
	if k.wide {
		seed = ^seed
	}
	return lru.Mix(k.base.Hash(seed), uint64(k.port))
}

// has reports whether a server is in the network.
func (k *netKey) has(e *track.End) bool {
	n := 8
	switch {
	case k.port != e.Port:
		return false
	case k.wide:
		n = wideBits / 8
	case k.base.Is4():
		n = 15
	}
	return [16]byte(k.base)[n-1] == e.Host[n-1] && string(k.base[:n]) == string(e.Host[:n])
}

// target returns how incidents name the network.
func (k *netKey) target() Target {
	p := m.Network(k.base)
	if k.wide {
		p = netip.PrefixFrom(p.Addr(), wideBits)
	}
	return Target{End: netip.AddrPortFrom(p.Addr(), k.port), Prefix: p}
}

// lightNetwork counts the requests to a network that is not watched closely.
type lightNetwork struct {
	lightServer                  // of all its servers
	parts       sketch.Linear256 // its servers in these ten seconds, of a /48 its /64
	partsSince  int32
}

// countPart counts a packet or more to a server in one second.
func (l *lightNetwork) countPart(part uint64, packets uint32, now int32) (isBusy bool) {
	if now-l.partsSince >= m.PaneSeconds {
		l.parts, l.partsSince = sketch.Linear256{}, now
	}
	l.parts.Add(part)
	return l.countPackets(packets, now) && l.parts.Count() >= carpetServers
}

// find returns the network of a server if it is watched closely, else nil. w is the server if
// that is watched closely, which remembers its network.
func (x *networks) find(w *watched, h *track.Host, port uint16) *network {
	if w != nil && w.netEpoch == x.epoch {
		return w.network
	}
	n := x.search(&track.End{Host: *h, Port: port})
	if w != nil {
		w.network, w.netEpoch = n, x.epoch
	}
	return n
}

// search prefers a /64 to the /48 around it.
func (x *networks) search(e *track.End) *network {
	if n := x.lastFound; n != nil && !n.key.wide && n.key.has(e) {
		return n
	}
	var found *network
	for _, n := range x.heavy {
		if n.key.has(e) && (found == nil || found.key.wide) {
			found = n
		}
	}
	x.lastFound = found
	return found
}

// countCoarsely counts packets of one second to a server whose network is not watched closely,
// and begins to watch it if that makes it worth it and there is room.
func (x *networks) countCoarsely(e track.End, serverHash uint64, packets uint32) {
	x.countIn(netKeyOf(&e, false), serverHash, packets)
	if !e.Host.Is4() {
		part := m.PrefixOf(&e.Host)
		x.countIn(netKeyOf(&e, true), x.key.HashPrefix(&part), packets)
	}
}

func (x *networks) countIn(k netKey, part uint64, packets uint32) {
	l := x.light.Get(k)
	if l == nil {
		var gone *lru.Evicted[netKey, lightNetwork]
		l, gone = x.light.Put(k)
		x.hasLost = x.hasLost || gone != nil && gone.Val.isMissed(x.Now)
		*l = lightNetwork{lightServer: lightServer{sec: x.Now, paneStart: x.Now, firstAsked: x.Now}, partsSince: x.Now}
	}
	if l.countPart(part, packets, x.Now) {
		x.promote(k, l)
	}
}

// promote begins to watch a network closely, if there is room; that is tried once a second.
func (x *networks) promote(k netKey, l *lightNetwork) {
	i := len(x.heavy)
	switch {
	case i < x.maxHeavy:
		x.heavy = append(x.heavy, newNetwork(x.book.key))
		if x.claims == nil {
			x.claims = m.NewClaims(x.claimsSize)
		}
	case x.fullSince == x.Now:
		return
	default:
		if i = x.findLeastBusy(l.inPane); i < 0 {
			x.fullSince = x.Now
			return
		}
	}
	n := x.heavy[i]
	n.reset(k, x.Now)
	n.StartFrom(l.rateBefore)
	n.Born, n.siblings = l.firstAsked, x
	x.light.Delete(k)
	x.lastFound = nil
	x.epoch++
}

// findLeastBusy returns the index of the network to evict for one with count packets in ten
// seconds, as servers.findLeastBusy does; else -1.
func (x *networks) findLeastBusy(count uint32) int {
	least, number := count/2, -1
	for i, n := range x.heavy {
		if n.hasIncident() {
			continue
		}
		if all := n.CountAsked(x.Now, m.PaneSeconds); all < least {
			least, number = all, i
		}
	}
	return number
}

// handleRequest counts a request at the network of its server, if that is watched closely; it
// reports whether it is. w is the server if that is watched closely. A server with an attack
// of its own is left out: what it gets is counted there.
func (x *networks) handleRequest(s *track.Sighting, w *watched) bool {
	n := x.find(w, &s.Dst, s.DstPort)
	if n == nil {
		return false
	}
	if w == nil || !w.isAttacked() {
		n.members.count(s.Dst, x.Now)
		second := n.CountRequest(s, x.Clock)
		n.CountChecked(s, x.Clock, second, x.claims.CheckRequest(&n.Server, second, s, x.Now))
	}
	x.applyTrial(n, s)
	return true
}

// applyTrial applies the rules that are tried for the network's incidents to a packet.
func (x *networks) applyTrial(n *network, s *track.Sighting) {
	if n.hasTrial() {
		n.applyTrials(s, x.claims.IsProven(s.ServerHash, s.ClientHash, x.Now))
	}
}

// handleReply counts what a server sends at its network.
func (x *networks) handleReply(s *track.Sighting, w *watched, isWhole bool) {
	n := x.find(w, &s.Src, s.SrcPort)
	if n == nil {
		return
	}
	x.applyTrial(n, s)
	if w != nil && w.isAttacked() {
		return
	}
	n.CountReply(s, x.Clock, isWhole)
	if s.What == track.IsChallenge && s.Flags&track.HasKey != 0 && x.Now-n.LastAsked < 2*askedPeriod {
		x.claims.RecordChallenge(&n.Server, s, x.Clock)
	}
}

// handleJunk counts a datagram that begins like a query and is nothing known, as handleRequest
// does.
func (x *networks) handleJunk(s *track.Sighting, w *watched) bool {
	n := x.find(w, &s.Dst, s.DstPort)
	if n == nil {
		return false
	}
	if w == nil || !w.isAttacked() {
		n.members.count(s.Dst, x.Now)
		n.CountJunk(s, x.Clock)
	}
	x.applyTrial(n, s)
	return true
}

// handleStrange counts a datagram of no session to a server that is watched closely and has just sent something,
// as handleJunk does: a carpet of them is below what is conspicuous at each server.
func (x *networks) handleStrange(s *track.Sighting, w *watched) {
	n := x.find(w, &s.Dst, s.DstPort)
	if n == nil || !w.HasJustSent(x.Now) && n.courses[ofJunk].in == nil {
		return
	}
	if !w.isAttacked() {
		n.countStrange(s, x.Clock)
	}
	x.applyTrial(n, s)
}

func (n *network) countStrange(s *track.Sighting, c m.Clock) {
	n.members.count(s.Dst, c.Now)
	n.LastSent, n.LastAsked = c.Now, c.Now
	n.CountStrange(s, c)
}

// takesStrange counts a datagram of no session to an address that is not watched closely, if such datagrams are
// an incident of its network, and reports whether they are: then no server has to be watched for it.
func (x *networks) takesStrange(s *track.Sighting) bool {
	n := x.find(nil, &s.Dst, s.DstPort)
	if n == nil || n.courses[ofJunk].in == nil {
		return false
	}
	n.countStrange(s, x.Clock)
	x.applyTrial(n, s)
	return true
}

// handleUnreachable counts an ICMP error about a reply.
func (x *networks) handleUnreachable(s *track.Sighting, w *watched) {
	if n := x.find(w, &s.Src, s.SrcPort); n != nil && (w == nil || !w.isAttacked()) {
		n.CountUnreachable(x.Clock)
	}
}

// judgeSecond judges the second that ends at each network that is watched closely, and counts
// that of servers whose network is not.
func (x *networks) judgeSecond(rules *rulebook, servers []*watched) {
	for _, w := range servers {
		b := w.At(x.Now)
		if b == nil || w.isAttacked() {
			continue
		}
		asked := b.Packets + b.Junk
		if w.HasJustSent(x.Now) {
			asked += b.Strange
		}
		if asked > 0 && x.find(w, &w.End.Host, w.End.Port) == nil {
			x.countCoarsely(w.End, w.Hash, asked)
		}
	}
	for _, n := range x.heavy {
		if x.Now-n.LastAsked <= m.BinSeconds || n.hasIncident() {
			n.judgeSecond(x.book, rules)
		}
		n.wanted = 0
	}
	if x.claims != nil {
		x.claims.AdaptSample()
	}
}

// rollPanes begins new panes in the second that begins.
func (x *networks) rollPanes() {
	for _, n := range x.heavy {
		n.TurnPane(x.Now)
	}
}

// turnProofs forgets proofs as Claims.TurnProofs does.
func (x *networks) turnProofs() {
	if x.claims != nil {
		x.claims.TurnProofs()
	}
}

// finish announces the incidents that are open when the capture ends.
func (x *networks) finish() {
	for _, n := range x.heavy {
		n.finish(x.book)
	}
}

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

// judgeSpray makes what may be a crowd at a network a flood where what it asks is not there: clients ask servers that
// a list or a friend gave them, and only who makes up addresses asks many that never answer.
func (w *watched) judgeSpray(v *verdict, f *m.Features) {
	if w.members != nil && (v.kind == Crowd || v.kind == FloodSuspect) && f[m.OneWay] == 0 && f[m.Answered] < sprayAnswered && f[m.Sources] >= spraySources && w.members.table.Len() >= sprayServers {
		v.kind, v.judged, v.score, v.isSpray = FloodDistributed, FloodDistributed, max(v.score, sprayScore), true
	}
}

// What makes requests to the addresses of a network a spray. Chosen: fewer sources are scanners, of which
// each is named; fewer addresses are the servers of a hoster that is down; a server that answers is asked
// by everybody. The score is twice that of an alert: it takes made-up addresses to meet so many that are silent.
const (
	spraySources  = 16
	sprayServers  = 256
	sprayAnswered = 0.1
	sprayScore    = 6
)

// isSprayed reports whether servers got one packet each, as scanners send: less than two on average.
func (x *members) isSprayed(now int32) bool {
	asked, packets := uint32(0), uint32(0)
	for _, v := range x.table.All() {
		if n := v.inWindow(now); n > 0 {
			asked, packets = asked+1, packets+n
		}
	}
	return packets < 2*asked
}

// isCarpet reports whether a server is in a network that many sources flood, or may be found to within
// sprayWait seconds: what each of them sends there is part of that, and no scan. since is the second of
// the source's first request.
func (x *networks) isCarpet(h *track.Host, port uint16, since int32) bool {
	n := x.find(nil, h, port)
	if n == nil {
		return false
	}
	return n.isAttacked() || n.courses[ofQueries].streak.warnings > 0 ||
		n.features[m.Sources] >= spraySources && x.Now-since < sprayWait
}

// sprayWait is for how many seconds a scan of a network that many sources ask waits for a verdict on all of
// them: as long as the slowest verdict takes, and some more.
const sprayWait = 15

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
	isSpray := w.members.isSprayed(now)
	switch {
	case isSpray && v.isSpray: // one server that is there and busy makes it no less
	case !networkNeeds.holds(f):
		v.kind = NoKind
	case v.kind.isFromMany() && !networkManyNeeds.holds(f):
		v.kind = NoKind
	case !v.kind.isFromMany() && isSpray: // one source that asks each address once scans
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
	mine, total := float64(one.Packets+one.Junk+one.Strange), float64(all.Packets+all.Junk+all.Strange)
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
	if c.in.MoreServers && busiest > standOutShare { // made-up addresses, beside a server that is there
		c.in.Servers = networkServers
		text := fmt.Sprintf("it is spread over more than %d addresses of %s", networkServers, c.in.Target.Prefix)
		c.in.Evidence = slices.Insert(c.in.Evidence, min(1, len(c.in.Evidence)), Sentence{text, c.in.Start, end})
		sentences(c.in.Evidence).groupBySpan()
		return
	}
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

const (
	// limit: lightNetworks is how many networks (the /24 of servers; IPv6: their /64 and their /48) are
	// counted coarsely, for each port.
	lightNetworks = 2048
	// limit: heavyNetworks is how many networks are watched closely, 265 KiB each. A busier one evicts the
	// least busy one without an open incident. Smaller sizes have fewer, but at least leastNetworks.
	// Chosen: a flood of more networks at a time is found in the sixteen busiest of them.
	heavyNetworks = 16
	leastNetworks = 2
	// limit: networkServers is how many servers of such a network are counted one by one: all of a /24. In
	// IPv6 the last ones that were asked.
	networkServers = 512
	// limit: listedServers is how many servers an incident of a network lists.
	listedServers = 64
)
