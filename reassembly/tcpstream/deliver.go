package tcpstream

import "qsniff/reassembly"

// deliver offers bytes that are next in order, and keeps what the sink leaves.
func (a *Assembler) deliver(c *Conn, side uint8, b []byte, frame uint64, nanos int64) {
	h := &c.halves[side]
	if h.waits != 0 {
		if a.appendWaiting(c, h, b, frame, nanos) {
			a.offer(c, side)
			return
		}
		a.giveUpWaiting(c, side)
		if c.isIgnored {
			return
		}
	}
	if len(b) >= h.need {
		b = b[a.callData(c, side, b, a.pieceOf(b, frame, nanos)):]
	}
	if c.isIgnored || len(b) == 0 {
		return
	}
	if !a.startWaiting(c, h, b, frame, nanos) {
		a.Counters.GivenUp += uint64(len(b))
		h.need = 0
		a.callBreak(c, side, Break{Why: GivenUp}, b, a.pieceOf(b, frame, nanos))
	}
}

// pieceOf is the list for bytes that came with one frame.
func (a *Assembler) pieceOf(b []byte, frame uint64, nanos int64) []TimedPiece {
	if len(b) == 0 {
		return nil
	}
	a.one[0] = TimedPiece{reassembly.Piece{Frame: frame, Len: uint32(len(b))}, nanos}
	return a.one[:]
}

// startWaiting begins the bytes that wait in h with b. It reports whether there is room.
func (a *Assembler) startWaiting(c *Conn, h *half, b []byte, frame uint64, nanos int64) bool {
	if h.kept+len(b) > a.lim.DirBytes {
		return false
	}
	i := a.allocSpan(c, len(b))
	if i == 0 {
		return false
	}
	s := &a.mem.items[i]
	s.seq = h.next - uint32(len(b))
	a.mem.append(i, b, frame, nanos)
	h.waits = i
	h.kept += len(b)
	return true
}

// appendWaiting adds b to the bytes that wait in h, and reports whether there is room.
func (a *Assembler) appendWaiting(c *Conn, h *half, b []byte, frame uint64, nanos int64) bool {
	if h.kept+len(b) > a.lim.DirBytes || !a.ensureRoomAfter(c, h.waits, len(b)) {
		return false
	}
	a.mem.append(h.waits, b, frame, nanos)
	h.kept += len(b)
	return true
}

// offer shows the sink the bytes that wait, if there are as many as it wants.
func (a *Assembler) offer(c *Conn, side uint8) {
	h := &c.halves[side]
	i := h.waits
	if int(a.mem.items[i].n) < h.need {
		return
	}
	done := a.callData(c, side, a.mem.bytes(i), a.mem.piecesOf(i))
	if c.isIgnored {
		return
	}
	h.kept -= done
	if done == int(a.mem.items[i].n) {
		a.mem.release(i)
		h.waits = 0
		return
	}
	a.mem.consume(i, done)
}

// callData calls Data and returns how many bytes the sink is through with.
func (a *Assembler) callData(c *Conn, side uint8, b []byte, pieces []TimedPiece) int {
	c.wasOffered = true
	a.chunk = Chunk{Data: b, Pieces: pieces}
	done, need := a.sink.Data(c, c.dir(side), &a.chunk)
	c.halves[side].need = max(need, 0)
	return min(max(done, 0), len(b))
}

// callBreak calls Break.
func (a *Assembler) callBreak(c *Conn, side uint8, br Break, b []byte, pieces []TimedPiece) {
	a.chunk = Chunk{Data: b, Pieces: pieces}
	a.sink.Break(c, c.dir(side), &a.chunk, br)
}

// interrupt tells the sink of a break after the bytes that wait, and drops those.
func (a *Assembler) interrupt(c *Conn, side uint8, br Break) {
	if c.isIgnored {
		return
	}
	h := &c.halves[side]
	h.need = 0
	i := h.waits
	if i == 0 {
		a.callBreak(c, side, br, nil, nil)
		return
	}
	a.callBreak(c, side, br, a.mem.bytes(i), a.mem.piecesOf(i))
	if c.isIgnored {
		return
	}
	h.kept -= int(a.mem.items[i].n)
	a.mem.release(i)
	h.waits = 0
}

// giveUpWaiting drops the bytes that wait, because the direction has no room for more.
func (a *Assembler) giveUpWaiting(c *Conn, side uint8) {
	a.Counters.GivenUp += uint64(a.mem.items[c.halves[side].waits].n)
	a.interrupt(c, side, Break{Why: GivenUp})
}

// skip declares n bytes missing and goes on after them.
func (a *Assembler) skip(c *Conn, side uint8, why Reason, n uint32) {
	if why == Cut {
		a.Counters.Cut++
		a.Counters.CutBytes += uint64(n)
	} else {
		a.Counters.Gaps++
		a.Counters.GapBytes += uint64(n)
	}
	c.halves[side].next += n
	a.interrupt(c, side, Break{Why: why, Len: uint64(n)})
	a.deliverRuns(c, side)
}

// endDirection delivers what is after holes and ends a direction. A FIN that is reached in
// doing so is the better reason.
func (a *Assembler) endDirection(c *Conn, side uint8, why Reason) {
	h := &c.halves[side]
	if h.isOver {
		return
	}
	for !c.isIgnored {
		hole, ok := a.firstHole(h)
		if !ok {
			break
		}
		a.skip(c, side, Lost, hole.len)
	}
	if h.hasFIN && h.finSeq == h.next {
		why = Finished
	}
	h.hasFIN, h.isOver = false, true
	a.interrupt(c, side, Break{Why: why})
}

// releaseAll releases all that h keeps.
func (a *Assembler) releaseAll(h *half) {
	if h.waits != 0 {
		a.mem.release(h.waits)
	}
	for i := h.runs; i != 0; {
		next := a.mem.items[i].next
		a.mem.release(i)
		i = next
	}
	h.waits, h.runs, h.nruns, h.kept, h.need, h.hasFIN = 0, 0, 0, 0, 0, false
}
