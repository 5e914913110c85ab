package tcpstream

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
