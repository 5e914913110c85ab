package flood

import (
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// side is some of the requests that servers get, counted and judged without the others.
type side struct {
	servers  servers
	networks networks
	rules    rulebook
}

// newSide returns a side whose tables have size times their usual size.
func newSide(b *book, rules rulebook, size float64) side {
	n := func(n int) int { return max(int(float64(n)*size), 16) }
	return side{rules: rules,
		servers: servers{book: b, maxHeavy: min(max(int(heavyTargets*size), leastTargets), heavyTargets),
			light: lru.New[track.End, lightServer](n(lightTargets))},
		networks: networks{book: b, maxHeavy: min(max(int(heavyNetworks*size), leastNetworks), heavyNetworks),
			light: lru.New[netKey, lightNetwork](n(lightNetworks))}}
}

// judgeSecond judges the second that ends.
func (x *side) judgeSecond() {
	x.networks.judgeSecond(&x.rules, x.servers.heavy)
	x.servers.judgeSecond(&x.rules)
}

// rollPanes begins new panes in the second that begins.
func (x *side) rollPanes() {
	x.networks.rollPanes()
	x.servers.rollPanes()
}

// finish announces the incidents that are open when the capture ends.
func (x *side) finish() {
	x.networks.finish()
	x.servers.finish()
}

// countPacket counts a packet to a server that is not watched closely, and returns the server
// if it is from now on. isSummed reports whether the packet is counted at a network that is
// watched closely. Else it is counted coarsely there, from the server's second packet in ten
// seconds on: whoever sprays random addresses asks each of them once.
func (x *side) countPacket(s *track.Sighting, isSummed bool) *watched {
	w, n := x.servers.countPacket(s.To(), s.ServerHash, s.Count(), s.Flags&track.HasKey != 0)
	switch {
	case isSummed || n < 2:
	case n == 2: // with the first
		x.networks.countCoarsely(s.To(), s.ServerHash, 2)
	default:
		x.networks.countCoarsely(s.To(), s.ServerHash, 1)
	}
	return w
}
