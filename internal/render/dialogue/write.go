package dialogue

import (
	"cmp"
	"slices"

	"qsniff/internal/render"
)

// writeOverBudget writes the oldest dialogues until turns take at most maxBytes.
func (c *Collector) writeOverBudget(dst []byte) []byte {
	for c.bytes > c.maxBytes {
		dst = c.writeOldest(dst, false)
	}
	return dst
}

// writeOldest writes the oldest dialogue as far as it got, and removes it. A connection
// stays open, without the turns that were written, unless needsPlace is set.
func (c *Collector) writeOldest(dst []byte, needsPlace bool) []byte {
	var d *dialogue
	for _, x := range [...]*dialogue{c.exchanges.first, c.closed.first, c.streams.first} {
		if x != nil && (d == nil || x.seq < d.seq) {
			d = x
		}
	}
	s := &d.summary
	s.IsUnfinished = d.in == &c.streams || d.in == &c.exchanges && (s.Outcome == render.Undecided || s.Outcome == render.Challenged) && !d.isOver
	dst = c.write(dst, d)
	if needsPlace || d.in != &c.streams {
		c.remove(d)
		return dst
	}
	c.releaseTurns(d)
	d.in.remove(d)
	c.seq++
	d.seq = c.seq
	*s = render.Dialogue{ID: s.ID, IsStream: true, Server: s.Server, Client: s.Client, Proto: s.Proto, Type: s.Type,
		First: s.Last, Last: s.Last, RTT: -1, ChallengeRTT: -1, HasEarlier: true}
	c.streams.append(d)
	return dst
}

// write appends d, if it is wanted.
func (c *Collector) write(dst []byte, d *dialogue) []byte {
	if !c.isWanted(d) || !c.decide(d) || d.turns.count == 0 { // a connection has none after writeOldest
		return dst
	}
	c.isFound = true
	if d.summary.IsUnfinished {
		c.writtenEarly++
	}
	turns := c.store.collect(&d.turns)
	if d.key.isStream {
		sortTurns(turns)
	}
	c.shown, c.shown.Turns = d.summary, c.shown.Turns[:0]
	if seen := c.visits.Peek(visitKeyOf(c.shown.Server, c.shown.Client)); seen != nil && !d.key.isStream {
		c.shown.Signs = *seen
	}
	for i := range turns {
		c.shown.Turns = append(c.shown.Turns, turns[i].Turn)
	}
	dst = c.opt.Renderer.AppendDialogue(dst, &c.shown)
	clear(c.shown.Turns) // they refer to texts
	if c.store.trim(); cap(c.shown.Turns) > keepBytes/turnBytes {
		c.shown.Turns = nil
	}
	if c.Flush != nil && len(dst) >= flushBytes {
		dst = c.Flush(dst)
	}
	return dst
}

// sortTurns sorts the turns of a connection by frame: a message comes late where others
// had to arrive before its borders could be found. A record stays before the message
// that followed it.
func sortTurns(turns []turn) {
	at := ^uint64(0)
	for i := len(turns) - 1; i >= 0; i-- {
		t := &turns[i]
		if !t.IsRecord {
			at = t.Frame
		}
		t.orderFrame = at
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.orderFrame, b.orderFrame) })
}

// decide reports whether the filter chooses a turn of d.
func (c *Collector) decide(d *dialogue) bool {
	for i := range d.late {
		if d.isChosen {
			break
		}
		d.isChosen = c.IsChosen(d.late[i].late, d.late[i].exchange)
	}
	return d.isChosen
}

// isWanted reports whether d is to be written. Where it is not, its id may become one of
// those that Nearest returns.
func (c *Collector) isWanted(d *dialogue) bool {
	f, id := c.opt.Frame, d.key.id
	switch {
	case f == 0 || id == f || d.isWanted:
		return true
	case id < f:
		c.nearest[0] = max(c.nearest[0], id)
	case c.nearest[1] == 0 || id < c.nearest[1]:
		c.nearest[1] = id
	}
	return false
}

// remove releases d and its turns.
func (c *Collector) remove(d *dialogue) {
	c.releaseTurns(d)
	d.in.remove(d)
	c.count--
	if c.index[d.key] == d {
		delete(c.index, d.key)
	}
	if c.ends[d.ends] == d {
		delete(c.ends, d.ends)
	}
	c.free = append(c.free, d)
}

// releaseTurns releases the turns of d, and the entries of their frames.
func (c *Collector) releaseTurns(d *dialogue) {
	c.bytes -= d.turns.bytes - d.text + turnBytes*d.turns.count
	c.releaseTexts(d)
	c.store.release(&d.turns, func(frame uint64) {
		if c.frames[frame] == d {
			delete(c.frames, frame)
		}
	})
}

const (
	// limit: turnBytes is what a turn takes besides its text: itself, and half a block.
	turnBytes = 192

	// limit: flushBytes is how many bytes of output are collected before they are written: where
	// nothing came for a minute, 4,096 dialogues of 5 KiB are over at the next packet.
	flushBytes = 64 << 10
)
