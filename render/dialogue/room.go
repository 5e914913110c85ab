package dialogue

import (
	"cmp"
	"slices"

	"qsniff/render"
)

// shrink makes room where turns take too much memory.
func (c *Collector) shrink(dst []byte) []byte {
	for c.bytes > c.maxBytes {
		dst = c.giveUp(dst, false)
	}
	return dst
}

// giveUp writes the oldest dialogue as far as it got. A connection stays open unless
// its place is needed.
func (c *Collector) giveUp(dst []byte, place bool) []byte {
	var d *dialogue
	for _, x := range [...]*dialogue{c.exchanges.first, c.closed.first, c.streams.first} {
		if x != nil && (d == nil || x.seq < d.seq) {
			d = x
		}
	}
	s := &d.summary
	s.Open = d.in == &c.streams || d.in == &c.exchanges && (s.Outcome == render.Undecided || s.Outcome == render.Challenged) && !d.over
	if s.Open {
		c.early++
	}
	dst = c.write(dst, d)
	if place || d.in != &c.streams {
		c.drop(d)
		return dst
	}
	c.forget(d)
	d.in.remove(d)
	c.seq++
	d.seq = c.seq
	*s = render.Dialogue{ID: s.ID, Stream: true, Server: s.Server, Client: s.Client, Proto: s.Proto, Type: s.Type,
		First: s.Last, Last: s.Last, Took: -1, Trip: -1, Continues: true}
	c.streams.push(d)
	return dst
}

// write appends d, if it is wanted.
func (c *Collector) write(dst []byte, d *dialogue) []byte {
	if !c.wants(d) || d.turns.turns == 0 { // nothing came of a connection since it had to make room
		return dst
	}
	c.found = true
	turns := c.store.all(&d.turns)
	if d.key.stream {
		order(turns)
	}
	c.view, c.view.Turns = d.summary, c.view.Turns[:0]
	for i := range turns {
		c.view.Turns = append(c.view.Turns, turns[i].Turn)
	}
	dst = c.opt.Renderer.AppendDialogue(dst, &c.view)
	clear(c.view.Turns) // they refer to texts
	if c.store.shown(); cap(c.view.Turns) > keepBytes/turnBytes {
		c.view.Turns = nil
	}
	if c.Flush != nil && len(dst) >= flushBytes {
		dst = c.Flush(dst)
	}
	return dst
}

// order puts the turns of a connection in the order of their packets: a message is
// known late where others had to come for its borders to be found. A record stays in
// front of the message that followed it.
func order(turns []turn) {
	at := ^uint64(0)
	for i := len(turns) - 1; i >= 0; i-- {
		t := &turns[i]
		if !t.Record {
			at = t.Frame
		}
		t.at = at
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.at, b.at) })
}

// wants reports whether d is to be written, and else remembers which ids are near.
func (c *Collector) wants(d *dialogue) bool {
	f, id := c.opt.Frame, d.key.id
	switch {
	case f == 0 || id == f || d.wanted:
		return true
	case id < f:
		c.near[0] = max(c.near[0], id)
	case c.near[1] == 0 || id < c.near[1]:
		c.near[1] = id
	}
	return false
}

// drop removes d.
func (c *Collector) drop(d *dialogue) {
	c.forget(d)
	d.in.remove(d)
	c.n--
	if c.index[d.key] == d {
		delete(c.index, d.key)
	}
	if c.ends[d.ends] == d {
		delete(c.ends, d.ends)
	}
	c.free = append(c.free, d)
}

// forget takes the turns of d out of the books.
func (c *Collector) forget(d *dialogue) {
	c.bytes -= d.turns.bytes + turnBytes*d.turns.turns
	c.store.drop(&d.turns, func(frame uint64) {
		if c.frames[frame] == d {
			delete(c.frames, frame)
		}
	})
}
