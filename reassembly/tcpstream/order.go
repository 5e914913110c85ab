package tcpstream

import "qsniff/capture/packet"

// segmentRest is the bytes of a segment that were not used yet.
type segmentRest struct {
	start uint32 // number of the first byte of the segment
	seq   uint32 // number of data[0]
	sent  uint32 // number after the last byte as sent
	data  []byte
	frame uint64
	nanos int64
}

func (p *segmentRest) isEmpty() bool { return p.seq == p.sent }

// trim drops the bytes before number seq.
func (p *segmentRest) trim(seq uint32) {
	n := int32(seq - p.seq)
	if n <= 0 {
		return
	}
	if int32(seq-p.sent) >= 0 {
		p.seq, p.data = p.sent, nil
		return
	}
	p.seq = seq
	p.data = p.data[min(int(n), len(p.data)):]
}

// receiveData delivers or keeps the bytes of a segment, and notes its FIN. Bytes that
// come next in order revive a direction that had ended: its FIN or RST was forged.
func (a *Assembler) receiveData(c *Conn, side uint8, s *Segment) {
	h := &c.halves[side]
	wire := max(s.Wire, len(s.Data))
	fin := s.TCP.Flags&packet.FlagFIN != 0
	if wire == 0 && !fin {
		return
	}
	p := segmentRest{seq: s.TCP.Seq, data: s.Data, frame: s.Frame, nanos: a.now}
	if s.TCP.Flags&packet.FlagSYN != 0 {
		p.seq++
	}
	p.start, p.sent = p.seq, p.seq+uint32(wire)
	if !h.hasNumbers {
		h.setNumbers(p.seq-1, false)
	}
	d := int32(p.seq - h.next)
	if d > window || d < -window || wire > window {
		a.Counters.Outside++
		return
	}
	if h.isOver && (d != 0 || wire == 0) {
		if d < 0 && wire > 0 {
			a.Counters.Retransmitted++
		}
		return
	}
	h.isOver = false
	if fin && int32(p.sent-h.next) >= 0 && (!h.hasFIN || int32(p.sent-h.finSeq) < 0) {
		h.hasFIN, h.finSeq, h.finSince, h.finAcked = true, p.sent, a.now, never
		if h.hasAck && int32(h.acked-p.sent) >= 0 {
			h.finAcked = a.now
		}
	}
	if wire > 0 {
		a.placeData(c, side, &p)
	}
	a.endAtFIN(c, side)
}

// endAtFIN ends a direction whose FIN is next in order. If bytes came in its place, the
// FIN was forged and is dropped.
func (a *Assembler) endAtFIN(c *Conn, side uint8) {
	h := &c.halves[side]
	if !h.hasFIN {
		return
	}
	switch d := int32(h.finSeq - h.next); {
	case d == 0:
		a.endDirection(c, side, Finished)
	case d < 0:
		h.hasFIN = false
	}
}

// placeData delivers the bytes of a segment that are next in order, keeps those after a
// hole, and drops those that came before.
func (a *Assembler) placeData(c *Conn, side uint8, p *segmentRest) {
	h := &c.halves[side]
	a.findConflicts(c, side, p)
	a.overwriteRuns(h, p)
	if !c.isIgnored && int32(p.sent-h.next) <= 0 {
		a.Counters.Retransmitted++
		return
	}
	for !c.isIgnored {
		p.trim(h.next)
		if p.isEmpty() {
			return
		}
		if p.seq != h.next {
			if kept, some := h.kept, len(p.data) > 0; a.keepAfterHole(c, h, p) {
				if some && h.kept == kept {
					a.Counters.Retransmitted++
				} else {
					a.Counters.OutOfOrder++
				}
				return
			}
			a.skip(c, side, Lost, a.limitToRun(h, p.seq-h.next))
			continue
		}
		n := a.limitToRun(h, p.sent-p.seq)
		if rest := *p; n < p.sent-p.seq {
			rest.trim(h.next + n)
			if a.keepAfterHole(c, h, &rest) { // it may have bytes that the snap length cut in the run
				p.sent = p.seq + n
				p.data = p.data[:min(int(n), len(p.data))]
			}
		}
		if k := min(n, uint32(len(p.data))); k > 0 {
			h.next += k
			h.filled = a.now
			a.Counters.Bytes += uint64(k)
			a.deliver(c, side, p.data[:k], p.frame, p.nanos)
			a.deliverRuns(c, side)
			continue
		}
		a.skip(c, side, Cut, n)
	}
}

// limitToRun returns n, or the distance from the next number to the first run if that is
// less.
func (a *Assembler) limitToRun(h *half, n uint32) uint32 {
	if h.runs == 0 {
		return n
	}
	return min(n, a.mem.items[h.runs].seq-h.next)
}

// deliverRuns delivers the runs that have become next in order.
func (a *Assembler) deliverRuns(c *Conn, side uint8) {
	h := &c.halves[side]
	for !c.isIgnored && h.runs != 0 && a.mem.items[h.runs].seq == h.next {
		i := h.runs
		r := &a.mem.items[i]
		n, cut := r.n, r.sent-r.end()
		h.runs = r.next
		h.nruns--
		h.next += n
		a.Counters.Bytes += uint64(n)
		switch {
		case n == 0:
			a.mem.release(i)
		case h.waits == 0:
			h.waits = i
		case a.ensureRoomAfter(c, h.waits, int(n)):
			a.mem.appendSpan(h.waits, i)
		default:
			a.replaceWaiting(c, side, i)
		}
		if h.waits != 0 && n > 0 {
			a.offer(c, side)
		}
		if cut = a.limitToRun(h, cut); cut > 0 && !c.isIgnored {
			a.skip(c, side, Cut, cut)
		}
	}
}

// replaceWaiting gives up the bytes that wait; those of run i wait instead.
func (a *Assembler) replaceWaiting(c *Conn, side uint8, i uint32) {
	a.giveUpWaiting(c, side)
	if c.isIgnored {
		a.mem.release(i)
		return
	}
	c.halves[side].waits = i
}
