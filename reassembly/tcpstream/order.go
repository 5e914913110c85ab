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

// keepAfterHole keeps the bytes of p, which lie after a hole, in runs. It returns false if
// there is no room for all of them; the first ones may be kept then.
func (a *Assembler) keepAfterHole(c *Conn, h *half, p *segmentRest) bool {
	if h.kept+len(p.data) > a.lim.DirBytes {
		return false
	}
	for {
		before, after := a.findRuns(h, p.seq)
		if before != 0 && int32(a.mem.items[before].end()-p.seq) > 0 {
			p.trim(a.mem.items[before].end())
			if p.isEmpty() {
				return true
			}
			continue
		}
		n := uint32(len(p.data))
		if after != 0 {
			n = min(n, a.mem.items[after].seq-p.seq)
		}
		if n == 0 {
			return a.noteCut(c, h, before, p)
		}
		if !a.keepBetweenRuns(c, h, before, after, p, n) {
			return false
		}
		p.trim(p.seq + n)
		if p.isEmpty() {
			return true
		}
	}
}

// findRuns returns the last run that begins at seq or before, and the run after it; 0 is
// none.
func (a *Assembler) findRuns(h *half, seq uint32) (before, after uint32) {
	after = h.runs
	for after != 0 && int32(a.mem.items[after].seq-seq) <= 0 {
		before, after = after, a.mem.items[after].next
	}
	return before, after
}

// keepBetweenRuns keeps the first n bytes of p, which lie between the runs before and
// after, each of which may be 0: it extends one of them, or inserts a run. It returns
// false if there is no room.
func (a *Assembler) keepBetweenRuns(c *Conn, h *half, before, after uint32, p *segmentRest, n uint32) bool {
	b := p.data[:n]
	switch {
	case before != 0 && a.mem.items[before].end() == p.seq:
		if !a.ensureRoomAfter(c, before, len(b)) {
			return false
		}
		a.mem.append(before, b, p.piece())
	case after != 0 && a.mem.items[after].seq == p.seq+n && a.mem.items[after].n > 0:
		if !a.ensureRoomBefore(c, after, len(b)) {
			return false
		}
		a.mem.prepend(after, b, p.piece())
		after, before = a.mem.items[after].next, after
	default:
		i := a.insertRun(c, h, before, p.seq, len(b))
		if i == 0 {
			return false
		}
		a.mem.append(i, b, p.piece())
		before = i
	}
	h.kept += len(b)
	a.joinRuns(c, h, before, after)
	return true
}

// joinRuns appends run j to run i if they touch. They stay two if there is no memory to
// join them.
func (a *Assembler) joinRuns(c *Conn, h *half, i, j uint32) {
	if j == 0 || a.mem.items[i].end() != a.mem.items[j].seq || !a.ensureRoomAfter(c, i, int(a.mem.items[j].n)) {
		return
	}
	r, s := &a.mem.items[i], &a.mem.items[j]
	r.next = s.next
	r.since = min(r.since, s.since)
	if r.acked == never || s.acked != never && s.acked < r.acked {
		r.acked = s.acked
	}
	h.nruns--
	a.mem.appendSpan(i, j)
}

// insertRun inserts an empty run, with a buffer for n bytes, after the run before and
// returns it; 0 if there is no room for it.
func (a *Assembler) insertRun(c *Conn, h *half, before uint32, seq uint32, n int) uint32 {
	if h.nruns == maxRuns {
		return 0
	}
	i := a.allocSpan(c, n)
	if i == 0 {
		return 0
	}
	r := &a.mem.items[i]
	r.seq, r.sent = seq, seq
	r.since = a.now
	if h.hasAck && int32(h.acked-seq) >= 0 {
		r.acked = a.now
	}
	link := &h.runs
	if before != 0 {
		link = &a.mem.items[before].next
	}
	r.next = *link
	*link = i
	h.nruns++
	return i
}

// noteCut records the bytes of p that the snap length cut, in the run before them or in
// one without bytes. It returns false if there is no room for that.
func (a *Assembler) noteCut(c *Conn, h *half, before uint32, p *segmentRest) bool {
	if before == 0 || int32(p.seq-a.mem.items[before].sent) > 0 {
		before = a.insertRun(c, h, before, p.seq, 0)
		if before == 0 {
			return false
		}
	}
	if r := &a.mem.items[before]; int32(p.sent-r.sent) > 0 {
		r.sent = p.sent
	}
	return true
}

// hole is a stretch of missing bytes before a run or a FIN of a direction.
type hole struct {
	len   uint32
	since int64 // when the first segment after it came
	acked int64 // when the other end had acknowledged all of it, or never
}

// firstHole returns the first hole of a direction; ok is false if there is none.
func (a *Assembler) firstHole(h *half) (f hole, ok bool) {
	if h.runs != 0 {
		r := &a.mem.items[h.runs]
		return hole{r.seq - h.next, r.since, r.acked}, true
	}
	if h.hasFIN && int32(h.finSeq-h.next) > 0 {
		return hole{h.finSeq - h.next, h.finSince, h.finAcked}, true
	}
	return hole{}, false
}

// isDue reports whether a hole has waited long enough to be skipped. As long as bytes
// arrive at its start, it waits on: the sender still sends them, and what lies after the
// hole may be forged.
func (a *Assembler) isDue(h *half, f hole) bool {
	if f.acked != never && a.now-f.acked >= ackWait {
		return true
	}
	return a.now-max(f.since, h.filled) >= holeWait
}

// runTimers skips the holes that are due and closes the connections that have expired.
func (a *Assembler) runTimers() {
	a.timersRan = a.now
	a.walk = a.walk[:0]
	for c := a.holding.oldest; c != nil; c = c.links[byHolding].next {
		a.walk = append(a.walk, c)
	}
	for _, c := range a.walk { // a copy of the list, which skipOverdueHoles changes
		a.skipOverdueHoles(c)
	}
	for cl := range a.classes {
		l := &a.classes[cl]
		for l.oldest != nil && a.now-l.oldest.last >= a.maxSilence(class(cl)) {
			if !l.oldest.isOver() {
				a.Counters.Expired++
			}
			a.close(l.oldest, Expired)
		}
	}
}

// skipOverdueHoles skips the holes of c that are due.
func (a *Assembler) skipOverdueHoles(c *Conn) {
	for _, side := range c.sides() {
		h := &c.halves[side]
		for !c.isIgnored {
			f, ok := a.firstHole(h)
			if !ok || !a.isDue(h, f) {
				break
			}
			a.skip(c, side, Lost, f.len)
			a.endAtFIN(c, side)
		}
	}
	a.updateLists(c)
}

// Two segments may claim the same bytes with another content: what a program reads is then a matter of its
// system. Here it is what Linux gives it, whose queue of segments after a hole works so (net/ipv4/tcp_input.c,
// tcp_data_queue_ofo; TestLiveKernel holds these rules against the kernel that it runs on):
//
//   - bytes in order have been received: later copies of them are dropped;
//   - a segment after a hole that begins right where another one ends becomes part of that;
//   - one that begins where another one does takes its place if it is longer, else it is dropped;
//   - when the hole is filled, segments are read in the order of their first bytes, and each brings what
//     those before it did not.
//
// So of two copies that wait, that of the segment counts which begins first, and at the same byte the longer
// one, or else the earlier one. Each piece of a run therefore has the number of the first byte of what holds
// it in that queue, which may lie before what the piece itself brought.

// piece returns a piece for the bytes of a segment that are kept.
func (p *segmentRest) piece() TimedPiece {
	return TimedPiece{Frame: p.frame, Nanos: p.nanos, start: p.start}
}

// joinBefore makes p part of the segment that ends where p begins, if one does. Where another segment has
// that byte, too, the kernel finds the one that is nearer to the root of its tree, mostly the older one.
func (m *spans) joinBefore(h *half, p *segmentRest) {
	for i := h.runs; i != 0; i = m.items[i].next {
		r := &m.items[i]
		at := p.start - r.seq
		if int32(at) <= 0 || at > r.n {
			continue
		}
		list := m.piecesOf(i)
		first := 0 // of the pieces of one segment
		for k, piece := range list {
			if piece.start != list[first].start {
				first = k
			}
			if piece.Off+piece.Len != at {
				continue
			}
			isInside := k+1 < len(list) && list[k+1].start == piece.start
			isHeld := k+1 < len(list) && int32(list[k+1].start-p.start) <= 0
			if !isInside && (!isHeld || list[first].Frame < list[k+1].Frame) {
				p.start = piece.start
			}
			return
		}
		return
	}
}

// overwriteRuns replaces the bytes of runs in whose place the receiver reads those of p.
func (a *Assembler) overwriteRuns(h *half, p *segmentRest) {
	if h.runs == 0 {
		return
	}
	a.mem.joinBefore(h, p)
	end := p.seq + uint32(len(p.data))
	for i := h.runs; i != 0; i = a.mem.items[i].next {
		r := &a.mem.items[i]
		if int32(end-r.seq) <= 0 {
			return
		}
		if int32(r.end()-p.seq) > 0 && r.n > 0 {
			if a.split == nil {
				a.split = make([]TimedPiece, piecesPerUnit<<maxOrder)
			}
			a.mem.overwrite(i, p, a.split)
		}
	}
}

// overwrite replaces those bytes of span i that p has and wins. Where there is no room for more pieces the
// old ones stay, with the frames that first brought the bytes. room is for as many as a span may have.
func (m *spans) overwrite(i uint32, p *segmentRest, room []TimedPiece) {
	s, list, ours := &m.items[i], m.piecesOf(i), m.bytes(i)
	n, hasRoom := 0, true
	limit := piecesPerUnit << s.order
	add := func(piece TimedPiece) {
		if piece.Len == 0 || !hasRoom {
			return
		}
		if n > 0 && room[n-1].Frame == piece.Frame && room[n-1].start == piece.start {
			room[n-1].Len += piece.Len
			return
		}
		if hasRoom = n < limit; hasRoom {
			room[n] = piece
			n++
		}
	}
	for k, old := range list {
		lo, hi := s.seq+old.Off, s.seq+old.Off+old.Len
		from, to := lo, hi // the bytes that p replaces
		if int32(p.seq-from) > 0 {
			from = p.seq
		}
		if end := p.seq + uint32(len(p.data)); int32(end-to) < 0 {
			to = end
		}
		if int32(to-from) <= 0 || !p.wins(old.start, s.seq+endOfStart(list, k)) {
			add(old)
			continue
		}
		mine, theirs := ours[from-s.seq:to-s.seq], p.data[from-p.seq:to-p.seq]
		middle := old
		if string(mine) != string(theirs) {
			middle = p.piece()
			copy(mine, theirs)
		}
		middle.Off, middle.Len, middle.start = from-s.seq, to-from, p.start
		left, right := old, old
		left.Len = from - lo
		right.Off, right.Len = to-s.seq, hi-to
		add(left)
		add(middle)
		add(right)
	}
	if hasRoom {
		s.pieces = uint32(n)
		copy(m.piecesOf(i), room[:n])
	}
}

// endOfStart returns where what holds piece k ends, as an offset: at the last of the pieces that begin at
// the same byte.
func endOfStart(list []TimedPiece, k int) uint32 {
	for k+1 < len(list) && list[k+1].start == list[k].start {
		k++
	}
	return list[k].Off + list[k].Len
}

// wins reports whether the receiver reads the bytes of p where it also has those of a segment that is from
// start to end.
func (p *segmentRest) wins(start, end uint32) bool {
	if d := int32(p.start - start); d != 0 {
		return d < 0
	}
	return int32(p.sent-end) > 0
}

// findConflicts reports the bytes of p that differ from those that are kept to the sink.
func (a *Assembler) findConflicts(c *Conn, side uint8, p *segmentRest) {
	h, x := &c.halves[side], Dispute{Frame: p.frame}
	if h.waits != 0 {
		a.addDiffering(&x, h.waits, p)
	}
	for i := h.runs; i != 0; i = a.mem.items[i].next {
		a.addDiffering(&x, i, p)
	}
	if x.N > 0 {
		a.Counters.Conflicts++
		a.sink.Conflict(c, c.dir(side), x)
	}
}

// addDiffering adds the bytes of p and span i to x that have the same number and differ.
func (a *Assembler) addDiffering(x *Dispute, i uint32, p *segmentRest) {
	ours, theirs, seq := a.mem.bytes(i), p.data, p.seq
	if d := int32(a.mem.items[i].seq - p.seq); d >= 0 {
		theirs, seq = theirs[min(int(d), len(theirs)):], seq+uint32(d)
	} else {
		ours = ours[min(-int(d), len(ours)):]
	}
	for k := range min(len(ours), len(theirs)) {
		if ours[k] != theirs[k] {
			x.add(seq + uint32(k))
		}
	}
}
