package tcpstream

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
