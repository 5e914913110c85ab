package tcpstream

// deliver offers b, which is next in order and came with frame, to the sink after the
// bytes that wait, and keeps what the sink leaves.
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
		b = b[a.callData(c, side, b, h.next-uint32(len(b)), a.pieceOf(b, frame, nanos)):]
	}
	if c.isIgnored || len(b) == 0 {
		return
	}
	if !a.startWaiting(c, h, b, frame, nanos) {
		a.Counters.GivenUp += uint64(len(b))
		h.need = 0
		a.callBreak(c, side, Break{Why: GivenUp}, b, h.next-uint32(len(b)), a.pieceOf(b, frame, nanos))
	}
}

// pieceOf returns the pieces of bytes that came with one frame.
func (a *Assembler) pieceOf(b []byte, frame uint64, nanos int64) []TimedPiece {
	if len(b) == 0 {
		return nil
	}
	a.one[0] = TimedPiece{Frame: frame, Len: uint32(len(b)), Nanos: nanos}
	return a.one[:]
}

// startWaiting lets b wait in h, where nothing waits yet. It reports whether there was
// room.
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
	a.mem.append(i, b, TimedPiece{Frame: frame, Nanos: nanos})
	h.waits = i
	h.kept += len(b)
	return true
}

// appendWaiting appends b to the bytes that wait in h. It reports whether there was room.
func (a *Assembler) appendWaiting(c *Conn, h *half, b []byte, frame uint64, nanos int64) bool {
	if h.kept+len(b) > a.lim.DirBytes || !a.ensureRoomAfter(c, h.waits, len(b)) {
		return false
	}
	a.mem.append(h.waits, b, TimedPiece{Frame: frame, Nanos: nanos})
	h.kept += len(b)
	return true
}

// offer passes the bytes that wait to the sink, if there are as many as it needs, and
// drops those that it consumes.
func (a *Assembler) offer(c *Conn, side uint8) {
	h := &c.halves[side]
	i := h.waits
	if int(a.mem.items[i].n) < h.need {
		return
	}
	done := a.callData(c, side, a.mem.bytes(i), a.mem.items[i].seq, a.mem.piecesOf(i))
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

// callData calls Data and returns how many bytes the sink consumed.
func (a *Assembler) callData(c *Conn, side uint8, b []byte, seq uint32, pieces []TimedPiece) int {
	c.wasOffered = true
	a.chunk = Chunk{Data: b, Seq: seq, Pieces: pieces}
	done, need := a.sink.Data(c, c.dir(side), &a.chunk)
	c.halves[side].need = max(need, 0)
	return min(max(done, 0), len(b))
}

// callBreak calls Break.
func (a *Assembler) callBreak(c *Conn, side uint8, br Break, b []byte, seq uint32, pieces []TimedPiece) {
	a.chunk = Chunk{Data: b, Seq: seq, Pieces: pieces}
	a.sink.Break(c, c.dir(side), &a.chunk, br)
}

// interrupt reports a break after the bytes that wait to the sink, and drops them.
func (a *Assembler) interrupt(c *Conn, side uint8, br Break) {
	if c.isIgnored {
		return
	}
	h := &c.halves[side]
	h.need = 0
	i := h.waits
	if i == 0 {
		a.callBreak(c, side, br, nil, h.next, nil)
		return
	}
	a.callBreak(c, side, br, a.mem.bytes(i), a.mem.items[i].seq, a.mem.piecesOf(i))
	if c.isIgnored {
		return
	}
	h.kept -= int(a.mem.items[i].n)
	a.mem.release(i)
	h.waits = 0
}

// giveUpWaiting drops the bytes that wait, because there is no room for more.
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

// endDirection skips all holes of a direction, delivers the bytes after them and ends it
// for reason why, or as Finished if that reaches its FIN.
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

// releaseAll frees all that h keeps.
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
