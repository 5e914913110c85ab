package tcpstream

import (
	"net/netip"

	"qsniff/capture/packet"
)

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
