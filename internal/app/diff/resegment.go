package diff

import (
	"cmp"
	"slices"
)

// pairResegmented finds the bytes of connections that are in other segments at one point than at the other:
// network cards join segments, and so do proxies. Their bytes are equal, their segments are not.
func (c *comparer) pairResegmented() {
	if c.readers[Edge].cut != uncut {
		return
	}
	for s := range c.windows {
		c.windows[s].sortKeys(func(d *datagram) (uint64, bool) {
			return runKey(uint64(d.way), &d.src, &d.dst), d.isFree() && d.isData() && d.class != Duplicated
		})
	}
	c.joinRuns(func(edges, hosts []key) {
		e, h := c.inStream(Edge, edges), c.inStream(Host, hosts)
		for i := 0; i < len(e); {
			used, gone := c.resegmentAt(e[i:], h)
			h = slices.Delete(h, gone[0], gone[1])
			i += max(1, used)
		}
	})
}

// inStream returns the segments of a run in the order of their stream, each place once.
func (c *comparer) inStream(s Side, run []key) (all []int) {
	w := c.windows[s].all
	for _, k := range run {
		all = append(all, int(k.at))
	}
	base := w[all[0]].seq
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(int32(w[a].seq-base), int32(w[b].seq-base)) })
	return slices.CompactFunc(all, func(a, b int) bool { return w[a].seq == w[b].seq })
}

// resegmentAt looks for the segments of HOST that have the same bytes as the first ones of EDGE. It returns how many
// of EDGE these are, and from where to where those of HOST.
func (c *comparer) resegmentAt(e, h []int) (used int, gone [2]int) {
	we, wh := c.windows[Edge].all, c.windows[Host].all
	for j := range h {
		if !c.isWithinWait(Edge, &we[e[0]], &wh[h[j]]) || !c.isPlace(&we[e[0]], &wh[h[j]]) {
			continue
		}
		if n, m := c.equalBytes(e, h[j:]); n > 0 {
			c.joinReframed(Edge, e[:n], h[j:j+m])
			return n, [2]int{j, j + m}
		}
	}
	return 0, gone
}

// equalBytes returns how many of the first segments of both sides have the same bytes, which follow each
// other without a gap.
func (c *comparer) equalBytes(e, h []int) (n, m int) {
	poly := c.readers[Edge].poly
	var sums [2]uint64
	var lengths, counts [2]int
	for range 2 * maxJoined {
		s := Edge
		if lengths[Edge] > lengths[Host] {
			s = Host
		}
		w, at := c.windows[s].all, [2][]int{e, h}[s]
		i := counts[s]
		if i == len(at) || i == maxJoined || i > 0 && w[at[i-1]].seq+uint32(w[at[i-1]].wire) != w[at[i]].seq {
			return 0, 0
		}
		d := &w[at[i]]
		sums[s] = poly.join(sums[s], d.hash, int(d.wire))
		lengths[s], counts[s] = lengths[s]+int(d.wire), i+1
		if lengths[Edge] == lengths[Host] {
			if sums[Edge] != sums[Host] {
				return 0, 0
			}
			return counts[Edge], counts[Host]
		}
	}
	return 0, 0
}
