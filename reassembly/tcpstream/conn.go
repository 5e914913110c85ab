package tcpstream

import (
	"bytes"
	"net/netip"

	"qsniff/capture/packet"
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

// rivalSYN is a SYN or SYN-ACK of another connection between the ends of one that has not
// ended as far as the capture shows. It may be forged, so the old connection is replaced
// only when the other end agrees to it or the same end sends data with its numbers.
type rivalSYN struct {
	isSet    bool
	isSYNACK bool // a SYN-ACK
	side     uint8
	isn      uint32
	ack      uint32 // of a SYN-ACK
}

func rivalOf(side uint8, t *packet.TCPHeader) rivalSYN {
	return rivalSYN{isSet: true, isSYNACK: t.Flags&packet.FlagACK != 0, side: side, isn: t.Seq, ack: t.Ack}
}

// ends are the two ends of a connection by side.
type ends [2]netip.AddrPort

func (c *Conn) ends() ends { return ends{c.Ends[c.flip], c.Ends[c.flip^1]} }

// findOrBegin returns the connection that s belongs to, nil if s is not to be used. If
// there is none, a SYN or a segment with data begins one: a flood of anything else costs
// no memory.
func (a *Assembler) findOrBegin(k key, side uint8, s *Segment) *Conn {
	syn := s.TCP.Flags&packet.FlagSYN != 0
	slot := a.index.Peek(k)
	if slot == nil {
		return a.beginConn(k, side, s)
	}
	c := a.conns[*slot]
	switch {
	case syn:
		return a.handleSYN(c, k, side, s)
	case c.rival.isSet && c.confirmsRival(side, s):
		return a.replace(c, k, c.rival)
	}
	return c
}

// beginConn begins a connection with the first segment that the capture has of it. It
// returns nil if s cannot begin one.
func (a *Assembler) beginConn(k key, side uint8, s *Segment) *Conn {
	e := ends{s.Src, s.Dst}
	if side == 1 {
		e = ends{s.Dst, s.Src}
	}
	switch {
	case s.TCP.Flags&packet.FlagSYN != 0:
		return a.beginWithSYN(k, e, rivalOf(side, &s.TCP))
	case s.TCP.Flags&packet.FlagRST == 0 && max(s.Wire, len(s.Data)) > 0:
		c := a.newConn(k)
		c.flip = side
		c.Ends = e
		if side == 1 {
			c.Ends = ends{s.Src, s.Dst}
		}
		return c
	}
	a.Counters.Stray++
	return nil
}

// beginWithSYN begins a connection between e with a SYN or SYN-ACK.
func (a *Assembler) beginWithSYN(k key, e ends, r rivalSYN) *Conn {
	c := a.newConn(k)
	opener := r.side
	if r.isSYNACK {
		opener ^= 1
		c.halves[opener].setNumbers(r.ack-1, true)
	}
	c.halves[r.side].setNumbers(r.isn, true)
	c.flip, c.OpenerKnown = opener, true
	c.Ends = ends{e[opener], e[opener^1]}
	return c
}

// handleSYN returns the connection that a SYN or SYN-ACK between the ends of c belongs
// to: c, if its number fits; a new one, if c has ended, is ignored or was silent for
// reuseIdle, or if the SYN-ACK answers the rival of c. Otherwise the SYN becomes the
// rival of c, and handleSYN returns nil.
func (a *Assembler) handleSYN(c *Conn, k key, side uint8, s *Segment) *Conn {
	h := &c.halves[side]
	r := rivalOf(side, &s.TCP)
	switch {
	case h.hasNumbers && (r.isn == h.isn || !h.hasSYN && h.isn-r.isn <= lateSYN):
		h.hasSYN = true
		c.noteOpener(&r)
		return c
	case !h.hasNumbers && !c.isOver() && (r.isSYNACK || !c.isIgnored):
		h.setNumbers(r.isn, true)
		c.noteOpener(&r)
		return c
	case r.isSYNACK && c.rival.isSet && !c.rival.isSYNACK && c.rival.side != side && r.ack == c.rival.isn+1:
		c = a.replace(c, k, c.rival)
		c.halves[side].setNumbers(r.isn, true)
		return c
	case c.isIgnored, c.isOver(), a.now-c.last >= reuseIdle:
		return a.replace(c, k, r)
	}
	a.Counters.RivalSYNs++
	c.rival = r
	return nil
}

// confirmsRival reports whether s carries the first bytes of the connection that the
// rival of c would begin.
func (c *Conn) confirmsRival(side uint8, s *Segment) bool {
	h := &c.halves[side]
	return side == c.rival.side && s.TCP.Seq == c.rival.isn+1 && max(s.Wire, len(s.Data)) > 0 &&
		!(h.hasNumbers && h.next == s.TCP.Seq)
}

// replace closes c and begins a new connection between the same ends with r.
func (a *Assembler) replace(c *Conn, k key, r rivalSYN) *Conn {
	e := c.ends()
	a.Counters.Reused++
	a.close(c, Reused)
	return a.beginWithSYN(k, e, r)
}

// noteOpener sets OpenerKnown if r, which did not begin c, shows that Ends[0] opened the
// connection. If it shows the opposite, Ends stay as they are, because the sink has them.
func (c *Conn) noteOpener(r *rivalSYN) {
	if (r.side == c.flip) != r.isSYNACK {
		c.OpenerKnown = true
	}
}

// acknowledge notes that the other end has the bytes of h before number ack. Holes that
// it has are skipped after ackWait from now on.
func (a *Assembler) acknowledge(h *half, ack uint32) {
	if h.hasAck && int32(ack-h.acked) <= 0 {
		return
	}
	if d := int32(ack - h.next); !h.hasNumbers || d > window || d < -window {
		return
	}
	h.acked, h.hasAck = ack, true
	for i := h.runs; i != 0; i = a.mem.items[i].next {
		if r := &a.mem.items[i]; r.acked == never && int32(ack-r.seq) >= 0 {
			r.acked = a.now
		}
	}
	if h.hasFIN && h.finAcked == never && int32(ack-h.finSeq) >= 0 {
		h.finAcked = a.now
	}
}

// reset ends both directions of c if the RST in s can be from one of its ends: if its
// number is near the sender's next one. Where no segment of the sender was captured, its
// Ack must be near the other end's next number, since an end without such a connection
// answers a segment with a RST that acknowledges it. If neither number is there to check,
// anybody can have sent the RST, and it is not used.
func (a *Assembler) reset(c *Conn, side uint8, s *Segment) {
	h, other := &c.halves[side], &c.halves[1-side]
	switch {
	case h.hasNumbers:
		if !inResetWindow(s.TCP.Seq, h.next) {
			a.Counters.Outside++
			return
		}
	case other.hasNumbers && s.TCP.Flags&packet.FlagACK == 0:
		a.Counters.Stray++
		return
	case other.hasNumbers:
		if !inResetWindow(s.TCP.Ack, other.next) {
			a.Counters.Outside++
			return
		}
	}
	a.endDirection(c, side, Reset)
	a.endDirection(c, 1-side, Reset)
}

// inResetWindow reports whether seq is within resetWindow of next.
func inResetWindow(seq, next uint32) bool {
	d := int32(seq - next)
	return d >= -resetWindow && d <= resetWindow
}
