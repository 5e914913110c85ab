package tcpstream

import (
	"bytes"
	"net/netip"

	"qsniff/internal/base/lru"
)

// Conn is one connection. It is valid until Close for it has returned.
type Conn struct {
	// Ends are the two ends. Ends[0] opened the connection if OpenerKnown is set;
	// otherwise it sent the first segment that was captured.
	Ends [2]netip.AddrPort
	// OpenerKnown is set if a SYN or SYN-ACK in the capture shows that Ends[0] opened
	// the connection. It may become true later, but one that shows the opposite
	// changes nothing: ends that the Sink has seen are not exchanged.
	OpenerKnown bool
	// Slot is below Limits.Conns and unique among the connections that are not
	// closed. The Sink may use it as an index.
	Slot int
	// Segments counts the segments of the connection, DataSegments those with data.
	Segments, DataSegments uint32

	flip          uint8 // the side of Ends[0]
	class         class
	isIgnored     bool
	wasOffered    bool // the sink was offered bytes of it
	isEstablished bool // a segment without SYN and RST came
	last          int64
	halves        [2]half // by side
	rival         rivalSYN
	links         [2]links
}

// dir returns the direction of what the end at side sends. A side is an end's index in
// the key, a direction its index in Ends.
func (c *Conn) dir(side uint8) int { return int(side ^ c.flip) }

// sides returns the sides of directions 0 and 1.
func (c *Conn) sides() [2]uint8 { return [2]uint8{c.flip, c.flip ^ 1} }

// HasBothSYNs reports whether the capture has the SYNs of both ends: then it has the
// connection from its start on.
func (c *Conn) HasBothSYNs() bool { return c.halves[0].hasSYN && c.halves[1].hasSYN }

// IsOpening reports whether no segment but SYNs and resets was captured of the connection.
func (c *Conn) IsOpening() bool { return !c.isEstablished }

// HasUndelivered reports whether bytes of direction dir were sent that the Sink was not
// offered yet: they wait after a hole, or the other end has acknowledged them.
func (c *Conn) HasUndelivered(dir int) bool {
	h := &c.halves[c.sides()[dir]]
	next := h.next
	if h.isOver && h.finSeq == next {
		next++ // a FIN takes a number
	}
	return h.runs != 0 || h.hasAck && int32(h.acked-next) > 0
}

// isOver reports whether both directions have ended.
func (c *Conn) isOver() bool { return c.halves[0].isOver && c.halves[1].isOver }

// half is one half of a connection: what one end sends.
type half struct {
	hasNumbers bool // the numbers are
	hasSYN     bool // isn is from a SYN; otherwise from the first segment
	hasFIN     bool // a FIN came, and finSeq was not reached yet
	isOver     bool

	isn    uint32 // number before the first byte
	next   uint32 // number of the next byte in order
	acked  uint32 // highest acknowledgement by the other end, if hasAck
	hasAck bool

	nruns  uint8
	waits  uint32 // span of the bytes in order that the sink left; 0 if none
	runs   uint32 // spans after holes, by number
	kept   int    // bytes in all of these
	need   int    // bytes in order that the sink wants to see before it is asked again
	filled int64  // when bytes last came in order

	finSeq   uint32 // number of the FIN
	finSince int64
	finAcked int64
}

// setNumbers sets the number before the first byte, from a SYN or else from the first
// segment.
func (h *half) setNumbers(isn uint32, syn bool) {
	h.hasNumbers, h.hasSYN = true, syn
	h.isn, h.next = isn, isn+1
}

// key is an unordered pair of ends. An IPv4 address is another one than the IPv6
// address that it is mapped to.
type key struct {
	a, b         [16]byte
	aPort, bPort uint16
	v4           uint8 // bit 0: a is IPv4, bit 1: b is
}

// Hash implements lru.Key.
func (k key) Hash(seed uint64) uint64 {
	h := lru.MixBytes(lru.MixBytes(seed, k.a[:]), k.b[:])
	return lru.Mix(h, uint64(k.aPort)|uint64(k.bPort)<<16|uint64(k.v4)<<32)
}

// keyOf returns the key of a pair, and the side of src: 0 for a, 1 for b.
func keyOf(src, dst netip.AddrPort) (k key, side uint8) {
	k = key{a: src.Addr().As16(), b: dst.Addr().As16(), aPort: src.Port(), bPort: dst.Port()}
	if src.Addr().Is4() {
		k.v4 |= 1
	}
	if dst.Addr().Is4() {
		k.v4 |= 2
	}
	order := bytes.Compare(k.a[:], k.b[:])
	if order == 0 {
		order = int(k.aPort) - int(k.bPort)
	}
	if order == 0 {
		order = int(k.v4&1) - int(k.v4>>1)
	}
	if order <= 0 {
		return k, 0
	}
	k.a, k.b = k.b, k.a
	k.aPort, k.bPort = k.bPort, k.aPort
	k.v4 = k.v4>>1 | k.v4&1<<1
	return k, 1
}

// class orders connections by what is lost if one is evicted, the least first.
type class uint8

const (
	opening class = iota // nothing but SYNs, or ended without a byte
	silent               // without a byte
	ended                // both directions
	ignored
	active
	numClasses
)

func (c *Conn) classify() class {
	switch {
	case c.isIgnored:
		return ignored
	case c.isOver() && c.wasOffered:
		return ended
	case c.wasOffered:
		return active
	case c.isEstablished && !c.isOver():
		return silent
	}
	return opening
}

// maxSilence returns the nanoseconds after which a silent connection of a class expires.
func (a *Assembler) maxSilence(cl class) int64 {
	switch cl {
	case opening:
		return int64(a.lim.HalfOpen)
	case ended:
		return linger
	}
	return int64(a.lim.Idle)
}

// links are a connection's neighbours in a list.
type links struct {
	prev, next *Conn // towards the oldest, towards the newest
	inList     bool
}

// Indexes into Conn.links: each connection is in the list of its class, and may be in
// Assembler.holding.
const (
	byClass = iota
	byHolding
)

// list is a chain of connections in the order of their last segments.
type list struct {
	oldest, newest *Conn
	which          int
}

func (l *list) append(c *Conn) {
	k := &c.links[l.which]
	*k = links{prev: l.newest, inList: true}
	if l.newest == nil {
		l.oldest = c
	} else {
		l.newest.links[l.which].next = c
	}
	l.newest = c
}

func (l *list) remove(c *Conn) {
	k := &c.links[l.which]
	if k.prev == nil {
		l.oldest = k.next
	} else {
		k.prev.links[l.which].next = k.next
	}
	if k.next == nil {
		l.newest = k.prev
	} else {
		k.next.links[l.which].prev = k.prev
	}
	*k = links{}
}

// renew makes c the newest of its list.
func (l *list) renew(c *Conn) {
	if l.newest != c {
		l.remove(c)
		l.append(c)
	}
}

// markUsed makes c, of which a segment came, the newest of its lists.
func (a *Assembler) markUsed(c *Conn) {
	c.last = a.now
	a.classes[c.class].renew(c)
	if c.links[byHolding].inList {
		a.holding.renew(c)
	}
}

// updateLists moves c to the list of its class, and into the holding list or out of it,
// after what its class and holding depend on may have changed.
func (a *Assembler) updateLists(c *Conn) {
	if cl := c.classify(); cl != c.class {
		a.classes[c.class].remove(c)
		c.class = cl
		a.classes[cl].append(c)
	}
	holds := c.halves[0].isHolding() || c.halves[1].isHolding()
	switch in := c.links[byHolding].inList; {
	case holds && !in:
		a.holding.append(c)
	case !holds && in:
		a.holding.remove(c)
	}
}

// isHolding reports whether h keeps bytes or waits for those before a FIN.
func (h *half) isHolding() bool { return h.waits|h.runs != 0 || h.hasFIN }

// MoreConns returns for how many connections memory is allocated where that for n is used up.
func MoreConns(n int) int { return min(max(connsAtFirst, n), connsAtOnce) }

// newConn enters a connection for k, whose Ends the caller sets. If the table is full, it
// evicts another one.
func (a *Assembler) newConn(k key) *Conn {
	if a.index.Len() == a.lim.Conns {
		for i := range a.classes {
			if victim := a.classes[i].oldest; victim != nil {
				a.Counters.Evicted++
				a.close(victim, Evicted)
				break
			}
		}
	}
	c := a.unused
	if c != nil {
		a.unused = c.links[byClass].next
	} else {
		if len(a.fresh) == 0 {
			a.fresh = make([]Conn, min(MoreConns(len(a.conns)), a.lim.Conns-len(a.conns)))
		}
		c, a.fresh = &a.fresh[0], a.fresh[1:]
		c.Slot = len(a.conns)
		a.conns = append(a.conns, c)
	}
	*c = Conn{Slot: c.Slot, last: a.now}
	slot, _ := a.index.Put(k)
	*slot = uint32(c.Slot)
	a.classes[opening].append(c)
	a.Counters.Conns++
	return c
}

// close ends the directions of c that have not ended, for reason why, and removes c.
func (a *Assembler) close(c *Conn, why Reason) {
	for _, side := range c.sides() {
		a.endDirection(c, side, why)
	}
	a.sink.Close(c)
	k, _ := keyOf(c.Ends[0], c.Ends[1])
	a.index.Delete(k)
	a.classes[c.class].remove(c)
	if c.links[byHolding].inList {
		a.holding.remove(c)
	}
	c.links[byClass].next = a.unused
	a.unused = c
}
