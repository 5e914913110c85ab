package diff

import (
	"cmp"
	"net/netip"
	"slices"

	"qsniff/internal/base/lru"
)

// connKey is a connection, its client first, or a direction of one, its sender first.
type connKey struct{ from, to end }

// Hash implements lru.Key.
func (k connKey) Hash(seed uint64) uint64 { return lru.Mix(k.from.Hash(seed), k.to.Hash(seed)) }

// conn is what both captures show of a connection.
type conn struct {
	frames   [2]uint64 // the first one at each side
	segments [2]uint64
	nanos    int64
	isJudged bool // the other capture covers a segment of it
	answered bool
}

// Connection is one that is at one point only.
type Connection struct {
	Side           Side
	Server, Client netip.AddrPort // as that capture has them
	Frame          uint64         // the first one
	Nanos          int64          // in the clock of HOST
	Segments       uint64
	// IsAnswered is set where the server, or something in its place, accepted the connection.
	IsAnswered bool
}

// Connections are those of servers over TCP.
type Connections struct {
	Both     uint64 // at both points
	Only     [2]uint64
	OneSided []Connection // the first maxOneSided of these
}

// countConnection counts a segment for its connection.
func (c *comparer) countConnection(s Side, d *datagram) {
	if !d.src.isTCP {
		return
	}
	k := connKey{d.src, d.dst}
	if d.way == ToClient {
		k = connKey{d.dst, d.src}
	}
	v, evicted := c.conns.Put(k)
	if evicted != nil {
		c.result.ConnsEvicted++
		c.listConnection(evicted.Key, &evicted.Val)
	}
	if v.frames[s] == 0 {
		v.frames[s] = d.frame
	}
	if v.nanos == 0 || d.nanos < v.nanos {
		v.nanos = d.nanos
	}
	v.segments[s]++
	v.isJudged = v.isJudged || d.class != Outside
	v.answered = v.answered || d.kind == kindSYNACK
}

// listConnections ends all connections.
func (c *comparer) listConnections() {
	for k, v := range c.conns.All() {
		c.listConnection(k, v)
	}
	slices.SortFunc(c.result.Connections.OneSided, func(a, b Connection) int {
		return cmp.Or(cmp.Compare(a.Nanos, b.Nanos), cmp.Compare(a.Side, b.Side), cmp.Compare(a.Frame, b.Frame))
	})
}

// listConnection counts a connection that has ended, and lists it if one point alone has it.
func (c *comparer) listConnection(k connKey, v *conn) {
	all := &c.result.Connections
	s := Edge
	switch {
	case v.frames[Edge] > 0 && v.frames[Host] > 0:
		all.Both++
		return
	case !v.isJudged:
		return
	case v.frames[Edge] == 0:
		s = Host
	}
	all.Only[s]++
	if len(all.OneSided) < maxOneSided {
		all.OneSided = append(all.OneSided, Connection{s, c.names.nameAt(s, k.to).addrPort(), c.names.nameAt(s, k.from).addrPort(),
			v.frames[s], v.nanos, v.segments[s], v.answered})
	}
}
