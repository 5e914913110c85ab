// Package proof finds out which sources of packets are at the address that they give. It is
// a track.Watcher and takes a fixed amount of memory. It does not judge what the sources
// send.
//
// The source address of a UDP packet proves nothing: a sender can write any. There are
// two proofs of the same kind: a number that only somebody who receives the
// server's packets can know comes back.
//
//   - challenge: the server gave the address a challenge, and a request from the
//     address brings it back. The last two challenges that a server gave to an address
//     count, each for a minute (freshFor), whatever the port: challenges are for addresses.
//   - handshake: the server agreed to a TCP connection with a first sequence number
//     of its own, and the next segment from the address acknowledges that number.
//
// # What it does not prove
//
// A proof holds for its moment. From then on others can send with the same address: floods
// do send with addresses of players, which defeats an allow-list (SmartlyDressedGames
// U3-SDK#3310). A proof is also no evidence of good intent, nor of who sends among those
// that share an address by NAT.
//
// A server that gives the same challenge to everybody proves nothing: an attacker
// gets it once at an address of its own. Such servers are listed in Summary.Shared, and
// echoes of their challenges do not count. Nor does a capture prove anything if the capturing
// host lets packets with the server's own address come in from outside: an attacker then
// plays both parts. Options.Ours restricts proofs to servers that the user named.
package proof

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/hostset"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// Method is a set of ways to prove an address.
type Method uint8

// The ways.
const (
	Challenge Method = 1 << iota
	Handshake
)

// Options choose what is collected. The zero value collects the proofs of all servers.
type Options struct {
	Ours  *hostset.Set // servers whose challenges and handshakes count; nil: all
	Scale float64      // of the tables, as a multiple of the usual; 0: the usual
}

// Collector collects proofs. It implements track.Watcher.
type Collector struct {
	ours       *hostset.Set
	proven     *lru.Table[track.Host, provenSource]
	offered    *lru.Table[offerKey, offer]
	handshakes *lru.Table[connKey, handshake]
	servers    *lru.Table[socket, serverState]
	counts     Counts
	asked      []*dissect.Proto // as in Summary

	evicted        uint64 // proven sources
	evictedPending uint64 // challenges and handshakes that could still have been completed
}

// socket is one end of UDP or TCP.
type socket struct {
	track.End
	isTCP bool
}

// Hash returns different values for the same end of UDP and of TCP.
func (e socket) Hash(seed uint64) uint64 {
	if e.isTCP {
		seed++
	}
	return e.End.Hash(seed)
}

// offerKey is a server and the address to which it gave a challenge.
type offerKey struct {
	server socket
	client track.Host
}

// Hash mixes the key with the seed.
func (k offerKey) Hash(seed uint64) uint64 { return k.client.Hash(k.server.Hash(seed)) }

// offer is the last two challenges that the server gave to the address, the newer one first.
type offer [2]challenge

// challenge is a number that a server gave.
type challenge struct {
	value   uint32
	isGiven bool
	isUsed  bool  // it was brought back since
	givenAt int64 // Sighting.Age
}

// connKey is the ends of a TCP connection.
type connKey struct {
	server, client socket
}

// Hash mixes the key with the seed.
func (k connKey) Hash(seed uint64) uint64 { return k.client.Hash(k.server.Hash(seed)) }

// handshake is a connection to which the server agreed.
type handshake struct {
	isn      uint32 // the server's first sequence number
	agreedAt int64
}

// serverState is the challenge that a server gave last.
type serverState struct {
	lastChallenge uint32
	repeats       uint8 // how many times in a row it was given to another address than before
	isShared      bool  // the server gives it to everybody
	lastClient    track.Host
}

// provenSource is an address that proved itself.
type provenSource struct {
	first, last int64
	proofs      uint64
	methods     Method
	kept        uint8 // servers in use
	hasMore     bool  // it proved itself to further servers
	servers     [keptServers]socket
}

// New returns an empty collector.
func New(opt Options) *Collector {
	if opt.Scale == 0 {
		opt.Scale = 1
	}
	size := func(n int) int { return int(float64(n) * opt.Scale) }
	return &Collector{
		ours:       opt.Ours,
		proven:     lru.New[track.Host, provenSource](size(maxProven)),
		offered:    lru.New[offerKey, offer](size(maxOffered)),
		handshakes: lru.New[connKey, handshake](size(maxPending)),
		servers:    lru.New[socket, serverState](size(maxServers)),
	}
}

// Sight implements track.Watcher: it counts a packet and records what it proves.
func (c *Collector) Sight(s *track.Sighting) {
	switch s.What {
	case track.IsRequest:
		if c.isOurs(s.Dst, s.DstPort) {
			c.counts.Requests++
			if s.Proto != nil && !slices.Contains(c.asked, s.Proto) {
				c.asked = append(c.asked, s.Proto)
			}
			c.checkEcho(s)
		}
	case track.IsReply, track.IsPart:
		if c.isOurs(s.Src, s.SrcPort) {
			c.counts.Replies++
		}
	case track.IsChallenge:
		if c.isOurs(s.Src, s.SrcPort) {
			c.counts.Challenges++
			c.recordChallenge(s)
		}
	case track.IsOpened:
		if c.isOurs(s.Dst, s.DstPort) {
			c.counts.Opened++
		}
	case track.IsAgreed:
		if c.isOurs(s.Src, s.SrcPort) {
			c.counts.Agreed++
			c.recordSYNACK(s)
		}
	case track.IsAcked:
		c.checkACK(s)
	}
}

// Tick does nothing: the age of a challenge is checked when it is brought back.
func (c *Collector) Tick(age, nanos int64) {}

// Lost counts packets that the capture lacks.
func (c *Collector) Lost(packets uint64) { c.counts.Lost += packets }

// End does nothing.
func (c *Collector) End(age, nanos int64) {}

// isOurs reports whether proofs for the server at h and port count.
func (c *Collector) isOurs(h track.Host, port uint16) bool {
	return c.ours == nil || c.ours.Has(netip.AddrPortFrom(h.Addr(), port))
}

// recordChallenge stores the challenge that a server gives to an address.
func (c *Collector) recordChallenge(s *track.Sighting) {
	if s.Flags&track.HasKey == 0 {
		return
	}
	server := socket{End: s.From()}
	if c.countGiven(server, s) {
		return
	}
	k := offerKey{server, s.Dst}
	o := c.offered.Get(k)
	if o == nil {
		var evicted *lru.Evicted[offerKey, offer]
		if o, evicted = c.offered.Put(k); evicted != nil && evicted.Val.isPending(s.Age) {
			c.evictedPending++
		}
	}
	switch {
	case !o[0].isGiven || o[0].value != s.Key:
		o[1], o[0] = o[0], challenge{value: s.Key, isGiven: true, givenAt: s.Age}
	default: // given again: it can be brought back again
		o[0].givenAt, o[0].isUsed = s.Age, false
	}
}

// isPending reports whether the newer challenge can still be brought back.
func (o *offer) isPending(age int64) bool {
	return !o[0].isUsed && age-o[0].givenAt <= freshFor.Nanoseconds()
}

// countGiven counts the challenge that a server gives and reports whether the server gives
// it to everybody.
func (c *Collector) countGiven(server socket, s *track.Sighting) (shared bool) {
	g, _ := c.servers.Put(server)
	switch {
	case g.isShared:
		return true
	case g.lastChallenge != s.Key || g.lastClient == (track.Host{}):
		g.lastChallenge, g.repeats = s.Key, 0
	case g.lastClient != s.Dst:
		g.repeats++
		g.isShared = g.repeats >= sharedWith
	}
	g.lastClient = s.Dst
	return g.isShared
}

// checkEcho records a proof if a request brings back a challenge.
func (c *Collector) checkEcho(s *track.Sighting) {
	if s.Flags&track.HasKey == 0 {
		return
	}
	server := socket{End: s.To()}
	o := c.offered.Get(offerKey{server, s.Src})
	if o == nil {
		return
	}
	for i := range o {
		x := &o[i]
		if !x.isGiven || x.value != s.Key || s.Age-x.givenAt > freshFor.Nanoseconds() {
			continue
		}
		if g := c.servers.Peek(server); g != nil && g.isShared {
			return
		}
		c.recordProof(s, server, Challenge, !x.isUsed)
		x.isUsed = true
		return
	}
}

// recordSYNACK stores a connection to which a server agrees.
func (c *Collector) recordSYNACK(s *track.Sighting) {
	k := connKey{socket{s.From(), true}, socket{s.To(), true}}
	p, evicted := c.handshakes.Put(k)
	if evicted != nil && s.Age-evicted.Val.agreedAt <= freshFor.Nanoseconds() {
		c.evictedPending++
	}
	*p = handshake{s.Key, s.Age}
}

// checkACK records a proof if a segment is the third one of a handshake.
func (c *Collector) checkACK(s *track.Sighting) {
	k := connKey{socket{s.To(), true}, socket{s.From(), true}}
	p := c.handshakes.Peek(k)
	if p == nil || p.isn != s.Key {
		return
	}
	fresh := s.Age-p.agreedAt <= freshFor.Nanoseconds()
	c.handshakes.Delete(k)
	if fresh {
		c.recordProof(s, k.server, Handshake, true)
	}
}

// recordProof records that the sender of s is at its address. isNew is false where it was
// proved by the same challenge before: a challenge that comes back with every request of a
// poll is one proof.
func (c *Collector) recordProof(s *track.Sighting, to socket, method Method, isNew bool) {
	x, evicted := c.proven.Put(s.Src)
	if evicted != nil {
		c.evicted++
	}
	if x.proofs == 0 {
		x.first = s.Nanos
	}
	if isNew || x.proofs == 0 {
		x.proofs++
	}
	x.last = max(x.last, s.Nanos)
	x.methods |= method
	x.addServer(to)
}

// addServer adds a server to the list of the source, or sets hasMore if the list is full.
func (x *provenSource) addServer(to socket) {
	for i := range x.servers[:x.kept] {
		if x.servers[i] == to {
			return
		}
	}
	if x.kept == keptServers {
		x.hasMore = true
		return
	}
	x.servers[x.kept] = to
	x.kept++
}

// IsProven reports whether an address has proved itself so far.
func (c *Collector) IsProven(h track.Host) bool {
	x := c.proven.Peek(h)
	return x != nil && !c.isHollow(x)
}

// isHollow reports whether all proofs of a source are echoes of challenges that their
// servers give to everybody. A server may turn out to do that after the proof.
func (c *Collector) isHollow(x *provenSource) bool {
	if x.methods&Handshake != 0 || x.hasMore {
		return false
	}
	for i := range x.servers[:x.kept] {
		if g := c.servers.Peek(x.servers[i]); g == nil || !g.isShared {
			return false
		}
	}
	return true
}

// Summary is the result of a Collector.
type Summary struct {
	Sources []Source // by address, IPv4 first
	Counts  Counts
	// Asked lists the protocols of the counted requests, in the order of the first ones.
	Asked []*dissect.Proto
	// Evicted counts proven addresses that were evicted, and EvictedPending challenges and
	// handshakes that were evicted before a minute was over: their proofs would have gone
	// unnoticed.
	Evicted, EvictedPending uint64
	// Shared are the servers that give the same challenge to everybody. Addresses that
	// brought back only such challenges are not in Sources.
	Shared []netip.AddrPort
}

// Source is an address that proved itself. Times are Unix nanoseconds of packets.
type Source struct {
	Addr        netip.Addr
	First, Last int64
	Methods     Method
	Proofs      uint64   // challenges brought back and handshakes completed
	Servers     []Server // to which it proved itself; the first keptServers
	HasMore     bool     // it proved itself to further servers
}

// Server is a server to which an address proved itself.
type Server struct {
	End netip.AddrPort
	TCP bool
}

// Counts are the packets from which proofs are made, at the servers that count.
type Counts struct {
	Requests, Replies uint64
	Challenges        uint64
	Opened, Agreed    uint64 // TCP connections that clients requested, and to which servers agreed
	Lost              uint64 // packets known to be missing from the capture
}

// Reason is why there are no proofs.
type Reason uint8

// The reasons.
const (
	NoReason     Reason = iota // there are proofs
	NoTraffic                  // no queries, no connections
	OnlyToServer               // the servers' packets are not in the capture
	OnlyToClient               // the clients' packets are not in it
	Unchallenged               // the servers answer whoever asks
	NoneReturned               // challenges were given, none came back
)

// Why returns the reason why Sources is empty.
func (s *Summary) Why() Reason {
	x := &s.Counts
	in, out := x.Requests+x.Opened, x.Replies+x.Challenges+x.Agreed
	switch {
	case len(s.Sources) > 0:
		return NoReason
	case in+out == 0:
		return NoTraffic
	case out == 0:
		return OnlyToServer
	case in == 0:
		return OnlyToClient
	case x.Challenges+x.Agreed == 0:
		return Unchallenged
	}
	return NoneReturned
}

// whyNone has the sentences on why no address is proven and what to do about it.
var whyNone = map[Reason]string{
	NoTraffic:    "no source is proven: there are no queries and no TCP connections in the capture",
	OnlyToServer: "no source is proven: the capture has only what goes to servers; a proof takes their challenges as well: capture both directions, on the server's own interface",
	OnlyToClient: "no source is proven: the capture has only what comes from servers; a proof takes what is sent back as well: capture both directions, on the server's own interface",
	Unchallenged: "no source is proven: no server demanded a challenge",
	NoneReturned: "no source is proven: challenges were given, and none came back from whom it was given to",
}

// WhyNone returns a sentence on why Sources is empty. Where no server demanded a challenge, it says how servers
// of the protocols asked come to demand one, or that a protocol has none.
func (s *Summary) WhyNone() string {
	why := s.Why()
	text := whyNone[why]
	if why != Unchallenged {
		return text
	}
	for _, p := range s.Asked {
		switch {
		case p.Proof() == dissect.NoProof:
			text += "; " + p.Name + " has none"
		case p.Operator.Challenge != "":
			text += "; " + p.Operator.Challenge
		}
	}
	return text
}

// Summary returns what was collected so far.
func (c *Collector) Summary() *Summary {
	s := &Summary{Counts: c.counts, Asked: slices.Clone(c.asked), Evicted: c.evicted, EvictedPending: c.evictedPending}
	for h, x := range c.proven.All() {
		if !c.isHollow(x) {
			s.Sources = append(s.Sources, x.report(h))
		}
	}
	slices.SortFunc(s.Sources, func(a, b Source) int { return a.Addr.Compare(b.Addr) })
	for e, g := range c.servers.All() {
		if g.isShared {
			s.Shared = append(s.Shared, e.AddrPort())
		}
	}
	slices.SortFunc(s.Shared, func(a, b netip.AddrPort) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Port(), b.Port()))
	})
	return s
}

// report returns the source as the summary lists it.
func (x *provenSource) report(h track.Host) Source {
	out := Source{Addr: h.Addr(), First: min(x.first, x.last), Last: x.last, Methods: x.methods, Proofs: x.proofs, HasMore: x.hasMore,
		Servers: make([]Server, 0, x.kept)}
	for _, e := range x.servers[:x.kept] {
		out.Servers = append(out.Servers, Server{e.AddrPort(), e.isTCP})
	}
	return out
}

// methodNames are the names of each set of methods in outputs.
var methodNames = [...]string{Challenge: "challenge", Handshake: "handshake", Challenge | Handshake: "challenge handshake"}

// String returns the names of the methods in outputs, separated by blanks.
func (h Method) String() string { return methodNames[h] }

// Names returns the names one by one.
func (h Method) Names() []string { return strings.Fields(h.String()) }

const (
	// limit: maxProven is how many proven addresses are kept, 9 MiB if all are taken: forged addresses
	// never enter, and a busy host sees some ten thousand players in a day. The address whose last proof
	// is longest ago is evicted.
	maxProven = 65_536
	// limit: maxOffered is how many pairs of server and address are kept whose challenge may still be
	// brought back, 7 MiB. A flood from invented addresses fills the table; at 100,000 challenges a second
	// it still holds 0.6 s of them, and the round trip of a player takes 0.1 s.
	maxOffered = 65_536
	// limit: maxPending is how many TCP connections can wait for the third packet of the handshake, 2 MiB.
	// A flood of SYNs fills the table in the same way.
	maxPending = 16_384
	// limit: maxServers is how many servers are kept with the challenge that they gave last, to notice
	// that it is the same for everybody, 0.1 MiB. The largest hosts have some hundred on one address.
	maxServers = 1024
	// limit: keptServers is how many of the servers are listed to which an address proved itself. Most
	// players ask one or two of a host's.
	keptServers = 3
	// limit: freshFor is how long a challenge can be brought back, and an agreed connection completed.
	// Clients do it at once; those that keep a challenge poll within a minute.
	freshFor = time.Minute
	// limit: sharedWith is how many times in a row a server gives one challenge to another address than
	// before until it is taken to give it to everybody. By chance that happens to one in 2^64 pairs of
	// challenges.
	sharedWith = 2
)
