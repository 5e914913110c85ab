package tcpstream

// hole is the first one of a direction: bytes that are missing before a run or
// a FIN.
type hole struct {
	len   uint32
	since int64
	acked int64 // never if the other end did not acknowledge all of it
}

// firstHole returns it; ok is false if nothing is missing.
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

// isDue reports whether a hole has waited long enough. As long as its start is being
// filled, the sender is at work, and what follows it may be forged.
func (a *Assembler) isDue(h *half, f hole) bool {
	if f.acked != never && a.now-f.acked >= ackWait {
		return true
	}
	return a.now-max(f.since, h.filled) >= holeWait
}

// runTimers gives up the holes and connections whose time is over.
func (a *Assembler) runTimers() {
	a.timersRan = a.now
	a.walk = a.walk[:0]
	for c := a.holding.oldest; c != nil; c = c.links[byHolding].next {
		a.walk = append(a.walk, c)
	}
	for _, c := range a.walk { // none is closed here, and which ones hold may change
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

// skipOverdueHoles gives up the holes of c whose time is over.
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
