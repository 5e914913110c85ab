package diff

import (
	"sort"

	"qsniff/internal/base/lru"
	"qsniff/reassembly/split"
)

// partSet is a message that came whole in parts, by an engine's split format.
type partSet struct {
	hash   uint64   // of the message, as datagram.hash is of one that is not split
	frames []uint64 // of its parts, ascending
}

// reframed is a message that has other datagrams at one point than at the other.
type reframed struct {
	other uint64    // frame of its first datagram at the other point
	count [2]uint16 // of its datagrams at each point
	kind  uint16    // that of the whole message, where it is in one datagram
	size  uint16    // of the first datagram at EDGE
	ttl   uint8     // and its time to live
}

// keepSet remembers a message that came in parts, for pairReframed.
func (w *window) keepSet(r *reader, s *split.Set) {
	if s.Outcome != split.Complete {
		return
	}
	if len(w.sets) >= maxSets {
		w.noSets++
		return
	}
	x := partSet{hash: lru.Mix(lru.MixBytes(r.seed, s.Data), uint64(len(s.Data)))}
	for i := range s.Parts {
		x.frames = append(x.frames, s.Parts[i].Frame)
	}
	sort.Slice(x.frames, func(i, j int) bool { return x.frames[i] < x.frames[j] })
	w.sets = append(w.sets, x)
}

// freePart returns the index of a datagram that is not judged and has no counterpart yet.
func (w *window) freePart(frame uint64) (int, bool) {
	i := sort.Search(len(w.all), func(i int) bool { return w.all[i].frame >= frame })
	return i, i < len(w.all) && w.all[i].frame == frame && w.all[i].isFree()
}

// freeParts returns the indices of the parts of a set, if all are free.
func (w *window) freeParts(x *partSet) (all []int) {
	for _, frame := range x.frames {
		i, ok := w.freePart(frame)
		if !ok {
			return nil
		}
		all = append(all, i)
	}
	return all
}

// pairReframed finds the messages that came in parts at one point, and in one datagram, or in other parts,
// at the other: their bytes are equal, their datagrams are not.
func (c *comparer) pairReframed() {
	for s := range c.windows {
		w, other := &c.windows[s], &c.windows[1-s]
		if len(w.sets) == 0 {
			continue
		}
		wholes := map[uint64][]int{} // by run, in order of time
		for i := range other.all {
			if d := &other.all[i]; d.isFree() {
				k := runKey(d.hash, &d.src, &d.dst)
				wholes[k] = append(wholes[k], i)
			}
		}
		for i := range w.sets {
			parts := w.freeParts(&w.sets[i])
			if parts == nil {
				continue
			}
			first := &w.all[parts[0]]
			k := runKey(w.sets[i].hash, &first.src, &first.dst)
			for n, at := range wholes[k] {
				if c.isWithinWait(Side(s), first, &other.all[at]) {
					c.joinReframed(Side(s), parts, []int{at})
					wholes[k] = append(wholes[k][:n:n], wholes[k][n+1:]...)
					break
				}
			}
		}
	}
	c.pairResplit()
}

// pairResplit finds the messages that have other parts at one point than at the other.
func (c *comparer) pairResplit() {
	hosts := map[uint64][]int{}
	for i := range c.windows[Host].sets {
		x := &c.windows[Host].sets[i]
		hosts[x.hash] = append(hosts[x.hash], i)
	}
	for i := range c.windows[Edge].sets {
		x := &c.windows[Edge].sets[i]
		for _, j := range hosts[x.hash] {
			edge, host := c.windows[Edge].freeParts(x), c.windows[Host].freeParts(&c.windows[Host].sets[j])
			if edge == nil || host == nil {
				continue
			}
			e, h := &c.windows[Edge].all[edge[0]], &c.windows[Host].all[host[0]]
			if e.src == h.src && e.dst == h.dst && c.isWithinWait(Edge, e, h) {
				c.joinReframed(Edge, edge, host)
				break
			}
		}
	}
}

// isWithinWait reports whether two datagrams, the first of side s, may be one by their times.
func (c *comparer) isWithinWait(s Side, a, b *datagram) bool {
	if s == Host {
		a, b = b, a
	}
	_, ok := c.align.deviation(a, b)
	return ok
}

// joinReframed makes datagrams of both sides one message. The first one at HOST is listed.
func (c *comparer) joinReframed(s Side, ours, others []int) {
	at := [2][]int{ours, others}
	if s == Host {
		at = [2][]int{others, ours}
	}
	for side := range at {
		w, other := c.windows[side].all, c.windows[1-side].all
		for _, i := range at[side] {
			w[i].request, w[i].class, w[i].isReframed = other[at[1-side][0]].frame, Reframed, true
		}
	}
	e, h := &c.windows[Edge].all[at[Edge][0]], &c.windows[Host].all[at[Host][0]]
	kind := h.kind
	if len(at[Host]) > 1 {
		kind = e.kind
	}
	c.reframed[h.frame] = reframed{e.frame, [2]uint16{uint16(len(at[Edge])), uint16(len(at[Host]))}, kind, e.wire, e.ttl}
}

// dropSets removes the sets that have no part in the window any more, or were paired.
func (w *window) dropSets() {
	kept := w.sets[:0]
	for i := range w.sets {
		if len(w.all) > 0 && w.sets[i].frames[len(w.sets[i].frames)-1] >= w.all[0].frame {
			if _, ok := w.freePart(w.sets[i].frames[0]); ok {
				kept = append(kept, w.sets[i])
			}
		}
	}
	clear(w.sets[len(kept):])
	w.sets = kept
}

// limit: maxSets is how many messages in parts are remembered until their parts are judged, to recognise them
// in other datagrams. Chosen: a thousand replies a second.
const maxSets = 1 << 11
