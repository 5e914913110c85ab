package tcpstream

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
