package flood

import (
	"cmp"
	"slices"

	"qsniff/internal/flood/measure"
	"qsniff/internal/track"
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
		dst = append(dst, newSource(x.Addr, uint64(x.Low), uint64(x.High), &x.Activity, hasProofs))
	}
	return dst
}

// appendStretch is appendTop for the hosts of a stretch.
func appendStretch(dst []Source, list []measure.StretchHost, hasProofs bool) []Source {
	for i := range list[:min(len(list), listedSources)] {
		x := &list[i]
		dst = append(dst, newSource(x.Addr, x.Low, x.High, &x.Activity, hasProofs))
	}
	return dst
}

func newSource(host track.Host, low, high uint64, a *measure.Activity, hasProofs bool) Source {
	ports := int(min(uint64(a.Ports.Count()), high)) // an estimate: each packet has one port
	return Source{Addr: host.Addr(), Low: low, High: high, Verified: hasProofs && (a.Proven || a.HasEchoed), Ports: ports, TTL: int(a.TTL)}
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
