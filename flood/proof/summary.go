package proof

import (
	"cmp"
	"net/netip"
	"slices"

	"qsniff/track"
)

// Summary is what a collector has in the end.
type Summary struct {
	Sources []Source // by address, IPv4 first
	Seen    Seen
	// Forgotten counts proven addresses that made room for others, and Overlooked
	// challenges and handshakes that made room before a minute was over: proofs of
	// them would have gone unnoticed.
	Forgotten, Overlooked uint64
	// Shared are servers that give the same challenge to everybody: addresses that
	// brought back none but those are left out.
	Shared []netip.AddrPort
}

// Source is an address that proved itself. Times are Unix nanoseconds of packets.
type Source struct {
	Addr        netip.Addr
	First, Last int64
	How         How
	Proofs      uint64   // challenges brought back and handshakes completed
	Servers     []Server // to which; the first few
	More        bool     // there were others
}

// Server is where an address proved itself.
type Server struct {
	End netip.AddrPort
	TCP bool
}

// Seen counts what proofs are made of, at the servers that count.
type Seen struct {
	Requests, Replies uint64
	Challenges        uint64
	Opened, Agreed    uint64 // TCP connections that clients asked for, that servers agreed to
	Lost              uint64 // packets that the capture lacks, as far as it tells
}

// Why says why there are no proofs.
type Why uint8

// The reasons.
const (
	NoReason     Why = iota // there are proofs
	NoTraffic               // no queries, no connections
	OnlyToServer            // the servers' packets are not in the capture
	OnlyToClient            // the clients' packets are not in it
	Unchallenged            // the servers answer whoever asks
	NoneReturned            // challenges were given, none came back
)

// Why returns the reason for an empty list.
func (s *Summary) Why() Why {
	x := &s.Seen
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
	s := &Summary{Seen: c.seen, Forgotten: c.forgotten, Overlooked: c.overlooked}
	for h, x := range c.proven.All() {
		if !c.hollow(x) {
			s.Sources = append(s.Sources, x.report(h))
		}
	}
	slices.SortFunc(s.Sources, func(a, b Source) int { return a.Addr.Compare(b.Addr) })
	for e, g := range c.servers.All() {
		if g.shared {
			s.Shared = append(s.Shared, e.AddrPort())
		}
	}
	slices.SortFunc(s.Shared, func(a, b netip.AddrPort) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Port(), b.Port()))
	})
	return s
}

func (x *source) report(h track.Host) Source {
	out := Source{Addr: h.Addr(), First: min(x.first, x.last), Last: x.last, How: x.how, Proofs: x.proofs, More: x.more}
	for _, e := range x.servers[:x.n] {
		out.Servers = append(out.Servers, Server{e.AddrPort(), e.tcp})
	}
	return out
}

// Words are the ways by their names in output.
func (h How) Words() []string {
	var words []string
	for i, w := range [...]string{"challenge", "handshake"} {
		if h&(1<<i) != 0 {
			words = append(words, w)
		}
	}
	return words
}
