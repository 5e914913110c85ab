package diff

import (
	"cmp"
	"context"
	"math"
	"slices"

	"qsniff/internal/base/lru"
	"qsniff/reassembly/ipfrag"
)

// state is how far a datagram in a window is.
type state uint8

const (
	pending   state = iota
	wasPaired       // judged, and kept for those that follow
	wasAlone
)

// window is the datagrams of one capture that are in memory, in the order of the capture.
type window struct {
	all    []datagram
	keys   []key
	room   int
	latest int64 // time of the latest datagram
	isOver bool  // the capture has no more
	pieces map[uint64][]uint64
	// noPieces counts fragments for which pieces has no room, noSets messages in parts for which sets has none.
	noPieces, noSets uint64
	sets             []partSet
}

// key sorts datagrams that may be one: those with the same content and the same ends are a run.
type key struct {
	run   uint64
	nanos int64
	at    int32 // index in the window
}

// runKey returns what datagrams with one content and the same ends have in common.
func runKey(hash uint64, src, dst *end) uint64 {
	h := lru.Mix(lru.Mix16(hash, &src.addr), src.portWord())
	return lru.Mix(lru.Mix16(h, &dst.addr), dst.portWord())
}

// sortKeys fills w.keys with those datagrams for which run returns true, by run and time.
func (w *window) sortKeys(run func(d *datagram) (uint64, bool)) {
	w.keys = w.keys[:0]
	for i := range w.all {
		if k, ok := run(&w.all[i]); ok {
			w.keys = append(w.keys, key{k, w.all[i].nanos, int32(i)})
		}
	}
	slices.SortFunc(w.keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.nanos, b.nanos), cmp.Compare(a.at, b.at))
	})
}

// nextRun returns the first run of keys, and what follows.
func nextRun(keys []key) (run, rest []key) {
	n := 1
	for n < len(keys) && keys[n].run == keys[0].run {
		n++
	}
	return keys[:n], keys[n:]
}

// comparer compares two captures.
type comparer struct {
	opt     *Options
	names   *endMap
	surveys [2]*survey
	readers [2]*reader
	windows [2]window
	align   aligner
	result  *Result
	covered [2][2]int64 // from when to when a capture has packets, in the clock of HOST

	rows    map[rowKey]*Row
	conns   *lru.Table[connKey, conn]
	shifts  *lru.Table[connKey, shift]
	sent    [2]*lru.Table[connKey, sentTo]
	replies *lru.Table[replyKey, seenReply]
	ttls    *lru.Table[end, uint8]
	ids     [2]uint64         // pairs with different IP IDs, and with equal ones
	answers map[uint64]answer // by frame, until they are listed
	// reframed is by the frame of HOST that is listed, until it is.
	reframed map[uint64]reframed
	edges    []int32 // memory of what is aligned
	hosts    []int32
}

// run reads both captures and judges each datagram. Where ctx ends before the captures do, it judges
// what has been waited for, as if both went on.
func (c *comparer) run(ctx context.Context, report func()) {
	for isInterrupted := false; !isInterrupted && c.fill(ctx, report); {
		isInterrupted = ctx.Err() != nil
		horizon := int64(math.MaxInt64)
		for s := range c.windows {
			if w := &c.windows[s]; !w.isOver || isInterrupted && c.readers[s].failure() != nil {
				horizon = min(horizon, w.latest)
			}
		}
		if horizon == math.MinInt64 {
			return // interrupted before the first datagram of one
		}
		cutoff, isEarly := horizon, false
		if horizon != math.MaxInt64 {
			cutoff -= int64(c.opt.Wait)
			for s := range c.windows {
				if least := c.windows[s].quarter(); least > cutoff {
					cutoff, isEarly = least, true
				}
			}
		}
		c.pairEqual()
		if c.names.mapsUnseen {
			c.pairTranslated()
		}
		c.classify()
		c.judge(cutoff, isEarly)
	}
}

// fill reads both captures side by side until a window is full, and reports whether there is
// anything to judge.
func (c *comparer) fill(ctx context.Context, report func()) bool {
	for {
		s := Edge
		e, h := &c.windows[Edge], &c.windows[Host]
		if e.isOver || !h.isOver && h.latest < e.latest {
			s = Host
		}
		w := &c.windows[s]
		if w.isOver || len(w.all) >= w.room {
			return len(e.all)+len(h.all) > 0
		}
		w.isOver = !c.readers[s].read(ctx, func(d *datagram, _ []byte) { c.add(s, d) })
		report()
	}
}

// add adds a datagram to its window, in the clock and with the names of HOST.
func (c *comparer) add(s Side, d *datagram) {
	d.way = c.surveys[s].wayOf(d.src, d.dst, c.opt.Servers)
	c.noteSent(s, d)
	if s == Edge {
		d.nanos = c.result.Clock.toHost(d.nanos)
		d.rename(c.names)
	}
	w := &c.windows[s]
	w.all = append(w.all, *d)
	w.latest = max(w.latest, d.nanos)
}

// rename gives a datagram of EDGE the ends that it has at HOST, as far as they are known.
func (d *datagram) rename(names *endMap) {
	var known bool
	if !d.isSrcKnown {
		if d.src, known = names.lookup(d.src); known {
			d.isSrcKnown = true
		}
	}
	if !d.isDstKnown {
		if d.dst, known = names.lookup(d.dst); known {
			d.isDstKnown = true
		}
	}
}

// keepPieces remembers the frames of a datagram that came in fragments.
func (w *window) keepPieces(frame uint64, d *ipfrag.Datagram) {
	if len(w.pieces) >= maxPieces {
		w.noPieces += uint64(len(d.Pieces) - 1)
		return
	}
	var frames []uint64
	for _, p := range d.Pieces {
		if p.Frame != frame {
			frames = append(frames, p.Frame)
		}
	}
	w.pieces[frame] = frames
}

// quarter returns the time by which a quarter of a full window is over, or the least time if it is
// not full.
func (w *window) quarter() int64 {
	if len(w.all) < w.room {
		return math.MinInt64
	}
	times := make([]int64, 0, len(w.all))
	for i := range w.all {
		if w.all[i].state == pending {
			times = append(times, w.all[i].nanos)
		}
	}
	slices.Sort(times)
	if len(times) == 0 {
		return math.MinInt64
	}
	return times[len(times)/4] + 1
}

// pairEqual pairs datagrams with the same content and the same ends.
func (c *comparer) pairEqual() {
	for s := range c.windows {
		for i := range c.windows[s].all {
			d := &c.windows[s].all[i]
			if d.mate = -1; !d.isReframed {
				d.class = Same
			}
		}
	}
	c.learnShifts()
	c.pairRuns(true)
	c.setCopiesAside()
	c.pairRuns(false)
}

// pairRuns pairs datagrams by their runs.
func (c *comparer) pairRuns(withID bool) {
	for s := range c.windows {
		c.windows[s].sortKeys(func(d *datagram) (uint64, bool) { return c.runOf(Side(s), d, withID) })
	}
	c.joinRuns(func(edges, hosts []key) { c.alignKeys(edges, hosts) })
}

// joinRuns calls f for each run that both windows have.
func (c *comparer) joinRuns(f func(edges, hosts []key)) {
	edges, hosts := c.windows[Edge].keys, c.windows[Host].keys
	for len(edges) > 0 && len(hosts) > 0 {
		switch {
		case edges[0].run < hosts[0].run:
			_, edges = nextRun(edges)
		case edges[0].run > hosts[0].run:
			_, hosts = nextRun(hosts)
		default:
			var e, h []key
			e, edges = nextRun(edges)
			h, hosts = nextRun(hosts)
			f(e, h)
		}
	}
}

// alignKeys pairs the datagrams of a run.
func (c *comparer) alignKeys(edges, hosts []key) {
	c.edges, c.hosts = c.edges[:0], c.hosts[:0]
	for i := range edges {
		c.edges = append(c.edges, edges[i].at)
	}
	for i := range hosts {
		c.hosts = append(c.hosts, hosts[i].at)
	}
	c.align.align(c.windows[Edge].all, c.windows[Host].all, c.edges, c.hosts)
}

// pairTranslated pairs what is left where clients have other names at HOST: first contents that
// are there once, which teach names, then, with these, what became equal, then by time alone.
func (c *comparer) pairTranslated() {
	for _, onlyOnce := range [...]bool{true, false} {
		c.windows[Edge].sortKeys(func(d *datagram) (uint64, bool) { return c.runOfStranger(d, d.isSrcKnown, d.isDstKnown, onlyOnce) })
		c.windows[Host].sortKeys(func(d *datagram) (uint64, bool) {
			return c.runOfStranger(d, c.hasNameAtEdge(d.src), c.hasNameAtEdge(d.dst), onlyOnce)
		})
		we, wh := c.windows[Edge].all, c.windows[Host].all
		c.joinRuns(func(edges, hosts []key) {
			if onlyOnce && len(edges)+len(hosts) > 2 {
				return
			}
			c.alignKeys(edges, hosts)
			for _, k := range edges {
				if e := &we[k.at]; e.mate >= 0 {
					c.names.learn(e.src, wh[e.mate].src)
					c.names.learn(e.dst, wh[e.mate].dst)
				}
			}
		})
		for i := range we {
			if we[i].state == pending {
				we[i].rename(c.names)
			}
		}
		c.pairEqual()
	}
}

// hasNameAtEdge reports whether an end of HOST is known at EDGE.
func (c *comparer) hasNameAtEdge(e end) bool {
	_, isTranslated := c.names.back[e]
	x := c.names.ends[e]
	return isTranslated || x != nil && x.to == e
}

// runOfStranger returns the run of a datagram that is not paired and whose client has no known name
// at the other point: content and server. Of a segment the sequence number counts as content, which
// most translation keeps: of data at first only, of flags, which are equal in all connections, always.
func (c *comparer) runOfStranger(d *datagram, isSrcKnown, isDstKnown, isFirst bool) (uint64, bool) {
	server, isKnown := &d.dst, isSrcKnown
	switch {
	case !d.isFree() || d.way == UnknownWay:
		return 0, false
	case d.way == ToClient:
		server, isKnown = &d.src, isDstKnown
	}
	hash := d.hash
	if d.src.isTCP && (isFirst || !d.isData()) {
		hash = lru.Mix(hash, uint64(d.seq))
	}
	return runKey(hash, server, &end{port: uint16(d.way)}), !isKnown
}

// limit: maxPieces is how many fragments are remembered by their frames, to be written. Chosen: as
// many as the largest window could wait for.
const maxPieces = 1 << 16
