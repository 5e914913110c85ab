package flood

import (
	"net/netip"

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
		l, _ = x.light.Put(k)
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
		if b := w.At(x.Now); b != nil && b.Packets+b.Junk > 0 && !w.isAttacked() && x.find(w, &w.End.Host, w.End.Port) == nil {
			x.countCoarsely(w.End, w.Hash, b.Packets+b.Junk)
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
