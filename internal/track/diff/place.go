package diff

import "qsniff/internal/base/lru"

// Segments with equal bytes are distinguished by their place in the stream. Something between the points may
// change all sequence numbers of a direction by the same amount; that is learned from what is there once.

// shift is what is added to the sequence numbers of a direction from EDGE to HOST.
type shift struct {
	by      uint32
	votes   int
	isKnown bool
}

// learnShifts learns the shifts of directions of which none is known, from contents that each side has at
// one place only.
func (c *comparer) learnShifts() {
	for s := range c.windows {
		c.windows[s].sortKeys(func(d *datagram) (uint64, bool) {
			return runKey(d.hash, &d.src, &d.dst), d.src.isTCP && d.state == pending && !c.shiftOf(d).isKnown
		})
	}
	we, wh := c.windows[Edge].all, c.windows[Host].all
	learned := map[connKey]shift{}
	c.joinRuns(func(edges, hosts []key) {
		e, h := &we[edges[0].at], &wh[hosts[0].at]
		if !isOnePlace(we, edges) || !isOnePlace(wh, hosts) {
			return
		}
		k := connKey{e.src, e.dst}
		v := learned[k]
		switch by := h.seq - e.seq; {
		case v.votes == 0:
			v = shift{by, 1, true}
		case v.by == by:
			v.votes++
		default:
			v.votes--
		}
		learned[k] = v
	})
	for k, v := range learned {
		if v.votes > 0 {
			p, evicted := c.shifts.Put(k)
			if *p = v; evicted != nil {
				c.result.ConnsEvicted++
			}
		}
	}
}

// isOnePlace reports whether all segments of a run are at one place of the stream.
func isOnePlace(w []datagram, run []key) bool {
	for _, k := range run {
		if w[k.at].seq != w[run[0].at].seq {
			return false
		}
	}
	return true
}

// shiftOf returns the shift of the direction of a segment.
func (c *comparer) shiftOf(d *datagram) shift {
	if v := c.shifts.Peek(connKey{d.src, d.dst}); v != nil {
		return *v
	}
	return shift{}
}

// placeOf returns the sequence number that a segment of a side has at HOST, and whether it is known.
func (c *comparer) placeOf(s Side, d *datagram) (uint32, bool) {
	v := c.shiftOf(d)
	if s == Host {
		return d.seq, v.isKnown
	}
	return d.seq + v.by, v.isKnown
}

// isPlace reports whether a segment of EDGE and one of HOST may be at the same place of their stream.
func (c *comparer) isPlace(e, h *datagram) bool {
	at, isKnown := c.placeOf(Edge, e)
	return !isKnown || at == h.seq
}

// runOf returns the run of a datagram: content and ends, of a segment its place in the stream too, and at first the
// IP ID, which only a copy shares.
func (c *comparer) runOf(s Side, d *datagram, withID bool) (uint64, bool) {
	hash := d.hash
	if d.src.isTCP {
		if withID && d.ipid == 0 {
			return 0, false
		}
		if at, isKnown := c.placeOf(s, d); isKnown {
			hash = lru.Mix(hash, uint64(at))
		}
		if withID {
			hash = lru.Mix(hash, 1<<32|uint64(d.ipid))
		}
	}
	return runKey(hash, &d.src, &d.dst), d.isFree() && d.class != Duplicated && (!withID || d.src.isTCP)
}

// setCopiesAside finds the copies of segments that were paired by their IP ID: they are no counterpart of a segment
// with the same bytes that was sent again.
func (c *comparer) setCopiesAside() {
	for s := range c.windows {
		w := &c.windows[s]
		w.sortKeys(func(d *datagram) (uint64, bool) {
			return runKey(d.hash^uint64(d.ipid)<<32^uint64(d.seq), &d.src, &d.dst), d.src.isTCP && d.ipid != 0
		})
		for keys := w.keys; len(keys) > 0; {
			var run []key
			run, keys = nextRun(keys)
			isPaired := false
			for _, k := range run {
				isPaired = isPaired || w.all[k.at].mate >= 0 || w.all[k.at].state == wasPaired
			}
			for _, k := range run {
				if d := &w.all[k.at]; isPaired && d.isFree() {
					d.class = Duplicated
				}
			}
		}
	}
}

// pairMoved pairs what is left of segments with equal bytes that are at another place, as after a segment whose
// length was changed: those that are there once, in the usual time.
func (c *comparer) pairMoved() {
	for s := range c.windows {
		c.windows[s].sortKeys(func(d *datagram) (uint64, bool) {
			return runKey(d.hash, &d.src, &d.dst), d.isData() && d.isFree() && d.class != Duplicated
		})
	}
	we, wh := c.windows[Edge].all, c.windows[Host].all
	c.joinRuns(func(edges, hosts []key) {
		if len(edges)+len(hosts) > 2 {
			return
		}
		e, h := edges[0].at, hosts[0].at
		if off, ok := c.align.deviation(&we[e], &wh[h]); ok && off <= int64(c.opt.Late) {
			we[e].mate, wh[h].mate = h, e
			wh[h].class = we[e].class
		}
	})
}
