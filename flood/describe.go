package flood

import (
	"cmp"
	"slices"

	"qsniff/flood/sketch"
	"qsniff/track"
)

// describe fills in what the incident shows now.
func (d *Detector) describe(t *target, c *course, v call) {
	in := c.in
	in.Confidence = max(in.Confidence, v.confidence)
	if n := len(in.History); n > 0 && v.kind == in.Kind {
		in.Confidence = v.confidence
	}
	c.merge(t.pane())
	c.total()
	of := func(p *pane) *sketch.Top[track.Host, seen] { return p.top }
	switch c.family {
	case ofGuesses:
		of = func(p *pane) *sketch.Top[track.Host, seen] { return p.badTop }
	case ofNonsense:
		of = func(p *pane) *sketch.Top[track.Host, seen] { return p.junkTop }
	}
	d.book.list = d.busiest(t, d.book.list, of)
	in.Top = topOf(in.Top[:0], d.book.list, t.challenged > 0 && t.cut == 0)
	d.book.nets = prefixesOf(d.book.nets[:0], t, c.family)
	in.Prefixes = append(in.Prefixes[:0], d.book.nets[:min(len(d.book.nets), listedPrefixes)]...)
	d.evidence(t, c)
}

// listed is how many sources and prefixes an incident names.
const (
	listedSources  = 8
	listedPrefixes = 4
)

func topOf(dst []Source, list []busy, known bool) []Source {
	for i := range list[:min(len(list), listedSources)] {
		x := &list[i]
		dst = append(dst, Source{Addr: x.addr.Addr(), Low: uint64(x.low), High: uint64(x.high),
			Verified: known && x.seen.proven, Ports: x.seen.ports.Count(), TTL: int(x.seen.ttl)})
	}
	return dst
}

func prefixesOf(dst []Prefix, t *target, family int) []Prefix {
	if family != ofQueries && family != ofLoad {
		return dst
	}
	t.pane().prefixes.Each(func(it *sketch.Item[track.Host, hosts], low, high uint32) {
		dst = append(dst, Prefix{Prefix: network(it.Key), Low: uint64(low), High: uint64(high), Hosts: it.Value.hosts.Count()})
	})
	slices.SortFunc(dst, func(a, b Prefix) int {
		return cmp.Or(cmp.Compare(b.Low, a.Low), a.Prefix.Addr().Compare(b.Prefix.Addr()))
	})
	return dst
}
