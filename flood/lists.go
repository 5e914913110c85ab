package flood

import (
	"cmp"
	"slices"

	"qsniff/flood/measure"
	"qsniff/track"
)

// How many sources and networks an incident lists.
const (
	listedSources  = 8
	listedPrefixes = 4
)

// appendTop appends the first listedSources of list. hasProofs reports whether the server
// gives challenges that the capture shows whole, so that Verified may be set.
func appendTop(dst []Source, list []measure.BusyHost, hasProofs bool) []Source {
	for i := range list[:min(len(list), listedSources)] {
		x := &list[i]
		dst = append(dst, Source{Addr: x.Addr.Addr(), Low: uint64(x.Low), High: uint64(x.High),
			Verified: hasProofs && x.Activity.Proven, Ports: x.Activity.Ports.Count(), TTL: int(x.Activity.TTL)})
	}
	return dst
}

// appendPrefixes appends the networks of a server's clients, busiest first.
func appendPrefixes(dst []Prefix, t *measure.Server) []Prefix {
	t.EachPrefix(func(prefix track.Host, low, high uint32, hosts int) {
		dst = append(dst, Prefix{Prefix: measure.Network(prefix), Low: uint64(low), High: uint64(high), Hosts: hosts})
	})
	slices.SortFunc(dst, func(a, b Prefix) int {
		return cmp.Or(cmp.Compare(b.Low, a.Low), a.Prefix.Addr().Compare(b.Prefix.Addr()))
	})
	return dst
}
