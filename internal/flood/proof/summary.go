package proof

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"qsniff/dissect"
	"qsniff/internal/track"
)

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
