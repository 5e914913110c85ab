package campaign

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"qsniff/internal/fleet"
)

// networkCounts counts the queries of networks, at most windowNetworks of them: as there is no room for
// all, those with the least are evicted.
type networkCounts map[fleet.Sealed]uint64

// add adds the busiest networks of a server.
func (c networkCounts) add(list []fleet.Network) {
	for i := range list {
		c[list[i].Prefix] += uint64(list[i].Queries)
	}
	if len(c) > 2*windowNetworks {
		c.shrink()
	}
}

// shrink keeps the windowNetworks busiest.
func (c networkCounts) shrink() {
	for _, x := range c.sorted()[windowNetworks:] {
		delete(c, x.prefix)
	}
}

type networkCount struct {
	prefix  fleet.Sealed
	queries uint64
}

// sorted returns all networks, the busiest first.
func (c networkCounts) sorted() []networkCount {
	list := make([]networkCount, 0, len(c))
	for p, n := range c {
		list = append(list, networkCount{p, n})
	}
	slices.SortFunc(list, func(a, b networkCount) int {
		return cmp.Or(cmp.Compare(b.queries, a.queries), bytes.Compare(a.prefix[:], b.prefix[:]))
	})
	return list
}

// top returns the n busiest as messages have them.
func (c networkCounts) top(n int) []fleet.Network {
	list := c.sorted()
	top := make([]fleet.Network, min(n, len(list)))
	for i := range top {
		top[i] = fleet.Network{Prefix: list[i].prefix, Queries: uint32(min(list[i].queries, math.MaxUint32))}
	}
	return top
}
