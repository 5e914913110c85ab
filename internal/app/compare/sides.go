package compare

import (
	"fmt"
	"net/netip"
	"time"

	"qsniff/internal/base/hostset"
	"qsniff/internal/render"
)

// Sides are the two that are compared.
type Sides struct {
	Names  [2]string // as the user gave them
	labels [2]string // what sentences call them
	verbs  verbs

	server, client [2]*hostset.Set // nil: any
	splitAt        int64           // Unix nanoseconds at which the second side begins; 0: both have all times
}

// verbs are the words of sentences that depend on whether servers or clients are compared.
type verbs struct {
	answersNone, answers string // "answers none of", "answers"
	answersAfter, atOnce string // "answers %s only after a challenge", "answers at once"
	sends, takes         string
	ofClients            bool
}

var (
	ofServers = verbs{"answers none of", "answers", "answers %s only after a challenge", "answers at once", "sends", "takes", false}
	ofClients = verbs{"gets no answer to", "gets answers to", "gets an answer to %s only after a challenge", "gets one at once", "gets", "waits", true}
)

// Servers returns the sides of two servers: addresses, networks, or addresses with a port.
func Servers(a, b string) (*Sides, error) {
	s := &Sides{Names: [2]string{a, b}, labels: [2]string{"A", "B"}, verbs: ofServers}
	return s, s.parse(&s.server)
}

// Clients returns the sides of two clients. Exchanges with other servers than those do not count; nil: all do.
func Clients(a, b string, servers *hostset.Set) (*Sides, error) {
	s := &Sides{Names: [2]string{a, b}, labels: [2]string{"client A", "client B"}, verbs: ofClients, server: [2]*hostset.Set{servers, servers}}
	return s, s.parse(&s.client)
}

// Times returns the sides of one server before a time, in Unix nanoseconds, and from then on.
func Times(server string, at int64) (*Sides, error) {
	s := &Sides{Names: [2]string{server, server}, labels: [2]string{"the server before", "the server afterwards"}, verbs: ofServers, splitAt: at}
	ours, err := parseOne(server)
	s.server = [2]*hostset.Set{ours, ours}
	moment := time.Unix(0, at).UTC().Format("2006-01-02 15:04:05 UTC")
	s.Names[0], s.Names[1] = server+" before "+moment, server+" from "+moment+" on"
	return s, err
}

// parse makes the sets that the names stand for.
func (s *Sides) parse(sets *[2]*hostset.Set) (err error) {
	for i, name := range s.Names {
		if sets[i], err = parseOne(name); err != nil {
			return err
		}
	}
	for i := range s.Names {
		for _, end := range sets[i].Ends() {
			if sets[1-i].Has(end) {
				return fmt.Errorf("%s and %s have %s in common", s.Names[0], s.Names[1], end)
			}
		}
		if p, err := netip.ParsePrefix(s.Names[i]); err == nil && sets[1-i].Overlaps(p, 0) {
			return fmt.Errorf("%s and %s overlap", s.Names[0], s.Names[1])
		}
		if p, err := netip.ParseAddr(s.Names[i]); err == nil && sets[1-i].HasHost(p) {
			return fmt.Errorf("%s and %s have %s in common", s.Names[0], s.Names[1], p)
		}
	}
	return nil
}

func parseOne(name string) (*hostset.Set, error) {
	set, err := hostset.Parse(name)
	if err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	return set, nil
}

// mayHave reports whether one of the sides, at one of its times, has what these ends say to each other.
func (s *Sides) mayHave(server, client netip.AddrPort) bool {
	return s.has(0, server, client) || s.has(1, server, client)
}

func (s *Sides) has(i int, server, client netip.AddrPort) bool {
	return (s.server[i] == nil || s.server[i].Has(server)) && (s.client[i] == nil || s.client[i].Has(client))
}

// of returns the side that a dialogue belongs to, or -1.
func (s *Sides) of(d *render.Dialogue) int {
	if s.splitAt != 0 {
		switch {
		case !s.has(0, d.Server, d.Client):
			return -1
		case d.First < s.splitAt:
			return 0
		}
		return 1
	}
	for i := range s.Names {
		if s.has(i, d.Server, d.Client) {
			return i
		}
	}
	return -1
}
