package flood

import (
	"qsniff/internal/base/hostset"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// own is the side of the operator's tools: what they send to a server and are sent is counted and judged
// apart, so that a storm of theirs is no attack, and hides none.
//
// An attacker who forges the address of a tool gets no credit, also while the tool itself asks and
// proves that it is there. So it is not an address that is proven, but a query. A server sends a
// challenge to an address of a tool. The request that brings it back earns credit; every other request
// in the name of the address costs some, and is the tool's only while there is credit. So of what counts
// as the tool's, half was proven by itself, but for mostCredit. The rest, and everything at a server that
// gives no challenge, or the same one to others, is anybody's.
type own struct {
	side
	names *hostset.Networks // nil: none
	// credits holds, for a tool at a server, how many requests without a proof count as its own. Only
	// a proof makes an entry: forged addresses cannot fill it.
	credits *lru.Table[pairHash, int16]
	given   *lru.Table[pairHash, grant] // challenges, by server and value
}

// grant is a challenge that a server gave to an address of a tool.
type grant struct {
	client   uint64 // hash of that address
	isShared bool   // others got it, too: who brings it back proves nothing
}

// pairHash is a hash of two things that was made with a secret seed.
type pairHash uint64

// Hash mixes the hash with the seed of a table.
func (k pairHash) Hash(seed uint64) uint64 { return lru.Mix(seed, uint64(k)) }

const (
	// proofCredit is how many requests without a proof a proof is worth: the one that asked for the
	// challenge, and one that is answered without any.
	proofCredit = 2
	// mostCredit is how much can be saved. Chosen: as many requests as a storm of several hundred a
	// second has on their way, and less than a storm takes at least: few_unproven for warn_ticks.
	mostCredit = 64
)

// ownShare is the size of the tables for servers and networks that the operator's tools ask, as a share of
// that of the tables for all. Chosen: a storm is at few servers, or all of a network.
const ownShare = 1. / 8

func newOwn(b *book, size float64) own {
	n := max(int(ownPairs*size), 16)
	return own{side: newSide(b, newOwnRulebook(&b.lim), size*ownShare), credits: lru.New[pairHash, int16](n), given: lru.New[pairHash, grant](n)}
}

// SetOwn names the addresses of the operator's tools; nil: none. What was counted stays where it was.
func (d *Detector) SetOwn(names *hostset.Networks) { d.own.names, d.book.ownNames = names, names }

// isFull reports whether a table is full: a proof may not have been recognised.
func (o *own) isFull() bool {
	return o.given.Len() == o.given.Cap() || o.credits.Len() == o.credits.Cap()
}

// takeRequest reports whether a request is a tool's.
func (o *own) takeRequest(s *track.Sighting) bool {
	if !o.names.Holds((*[16]byte)(&s.Src)) {
		return false
	}
	k := creditOf(s)
	c := o.credits.Get(k)
	isTaken := c != nil && *c > 0
	switch {
	case s.Flags&track.HasKey != 0 && o.isGiven(s):
		if c == nil {
			c, _ = o.credits.Put(k)
			*c = 0
		}
		*c = min(*c+proofCredit, mostCredit)
	case isTaken:
		*c--
	}
	return isTaken
}

// takesReply reports whether what a server sends is for a tool, as its requests are.
func (o *own) takesReply(s *track.Sighting) bool {
	if !o.names.Holds((*[16]byte)(&s.Dst)) {
		return false
	}
	c := o.credits.Peek(creditOf(s))
	return c != nil && *c > 0
}

func creditOf(s *track.Sighting) pairHash { return pairHash(lru.Mix(s.ServerHash, s.ClientHash)) }

func grantOf(s *track.Sighting) pairHash { return pairHash(lru.Mix(s.ServerHash, uint64(s.Key))) }

// isGiven reports whether the server gave the challenge of a request to its source, and to no other.
func (o *own) isGiven(s *track.Sighting) bool {
	g := o.given.Get(grantOf(s))
	return g != nil && g.client == s.ClientHash && !g.isShared
}

// recordChallenge records to whom a server gives a challenge, if a tool has that one.
func (o *own) recordChallenge(s *track.Sighting) {
	if s.What != track.IsChallenge || s.Flags&track.HasKey == 0 {
		return
	}
	k := grantOf(s)
	g := o.given.Peek(k)
	switch isTool := o.names.Holds((*[16]byte)(&s.Dst)); {
	case g != nil:
		g.isShared = g.isShared || g.client != s.ClientHash
	case isTool:
		g, _ = o.given.Put(k)
		*g = grant{client: s.ClientHash}
	}
}

// tryRules applies the rules that are tried against others to a packet to or from a tool: they would
// meet it, too. w is the server on the others' side, if it is watched closely there.
func (d *Detector) tryRules(s *track.Sighting, w *watched) {
	if w != nil && w.hasTrial() {
		w.applyTrials(s, true)
	}
	host, port := s.Server()
	if n := d.networks.find(w, &host, port); n != nil && n.hasTrial() {
		n.applyTrials(s, true)
	}
}

// side is some of the requests that servers get, counted and judged without the others.
type side struct {
	servers  servers
	networks networks
	rules    rulebook
}

// newSide returns a side whose tables have size times their default size.
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
// seconds on: a sender that sprays random addresses asks each of them once.
func (x *side) countPacket(s *track.Sighting, isSummed bool) *watched {
	w, n := x.servers.countPacket(s.To(), s.ServerHash, s.Count(), s.Flags&track.HasKey != 0)
	switch {
	case isSummed:
	case !s.Dst.Is4(): // a network has so many addresses that a carpet may not come to one twice
		x.networks.countCoarsely(s.To(), s.ServerHash, 1)
	case n < 2:
	case n == 2: // with the first
		x.networks.countCoarsely(s.To(), s.ServerHash, 2)
	default:
		x.networks.countCoarsely(s.To(), s.ServerHash, 1)
	}
	return w
}

const (
	// limit: ownPairs is how many pairs of a server and a tool of one's own have credit, and how many
	// challenges that servers gave to tools are kept. Chosen: monitors ask fewer servers.
	ownPairs = 4096
)
