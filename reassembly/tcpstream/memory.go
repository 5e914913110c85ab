package tcpstream

// allocSpan returns a span for c with a buffer for n bytes. If there is no memory, other
// connections give up their bytes; allocSpan returns 0 if no other has any.
func (a *Assembler) allocSpan(c *Conn, n int) uint32 {
	i := a.mem.newSpan()
	for i == 0 {
		if !a.makeRoom(c) {
			return 0
		}
		i = a.mem.newSpan()
	}
	if n == 0 {
		return i
	}
	order := orderFor(n)
	unit, ok := a.allocBuffer(c, order)
	if !ok {
		a.mem.release(i)
		return 0
	}
	a.mem.moveTo(i, unit, order, false)
	return i
}

// allocBuffer returns a buffer of the order, in the same way; ok is false if there is none.
func (a *Assembler) allocBuffer(c *Conn, order uint8) (unit uint32, ok bool) {
	for {
		if unit, ok = a.mem.takeBuffer(order); ok || !a.makeRoom(c) {
			return unit, ok
		}
	}
}

// ensureRoomAfter makes room for n bytes after those of span i, together at most
// maxBuffer, and reports whether it could. Bytes are moved only when as many were consumed
// or the buffer doubles, so that the cost of a byte does not depend on how many wait.
func (a *Assembler) ensureRoomAfter(c *Conn, i uint32, n int) bool {
	s := &a.mem.items[i]
	total := int(s.n) + n
	if s.hasBuffer && int(s.off)+total <= s.room() {
		return true
	}
	if s.hasBuffer && total <= s.room() && (s.off >= s.n || s.order == a.mem.largest) {
		a.mem.shiftTo(i, false)
		return true
	}
	return a.grow(c, i, total, false)
}

// ensureRoomBefore does the same for n bytes before those of span i.
func (a *Assembler) ensureRoomBefore(c *Conn, i uint32, n int) bool {
	s := &a.mem.items[i]
	total := int(s.n) + n
	if int(s.off) >= n {
		return true
	}
	if total <= s.room() && (s.room() >= 2*total || s.order == a.mem.largest) {
		a.mem.shiftTo(i, true)
		return true
	}
	return a.grow(c, i, total, true)
}

// grow moves span i to a larger buffer, for total bytes, with its bytes at the front or at
// the back. It reports whether they have the room then.
func (a *Assembler) grow(c *Conn, i uint32, total int, back bool) bool {
	s := &a.mem.items[i]
	order := orderFor(total)
	if s.hasBuffer && order <= s.order {
		order = s.order + 1
	}
	if s.hasBuffer && total <= s.room() { // a larger one saves moves only: no other gives up bytes for it
		if unit, ok := a.mem.takeBuffer(order); ok {
			a.mem.moveTo(i, unit, order, back)
		} else {
			a.mem.shiftTo(i, back)
		}
		return true
	}
	unit, ok := a.allocBuffer(c, order)
	if ok {
		a.mem.moveTo(i, unit, order, back)
	}
	return ok
}

// makeRoom gives up all bytes of the connection that has been silent longest of those
// that keep bytes, other than c. It returns false if there is none.
func (a *Assembler) makeRoom(c *Conn) bool {
	victim := a.holding.oldest
	if victim == c && victim != nil {
		victim = victim.links[byHolding].next
	}
	if victim == nil {
		return false
	}
	for _, side := range victim.sides() {
		a.giveUpDirection(victim, side)
	}
	a.updateLists(victim)
	return true
}

// giveUpDirection drops the bytes that a direction keeps. The direction goes on after the
// last of them.
func (a *Assembler) giveUpDirection(c *Conn, side uint8) {
	h := &c.halves[side]
	if !h.isHolding() {
		return
	}
	end := h.next
	for i := h.runs; i != 0; i = a.mem.items[i].next {
		end = a.mem.items[i].sent
	}
	fin, finSeq := h.hasFIN && int32(h.finSeq-end) >= 0, h.finSeq
	if fin {
		end = finSeq
	}
	a.Counters.GivenUp += uint64(h.kept)
	missing := end - h.next
	h.next = end
	a.interrupt(c, side, Break{Why: GivenUp, Len: uint64(missing)})
	a.releaseAll(h)
	if fin {
		a.endDirection(c, side, Finished)
	}
}
