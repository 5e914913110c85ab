package diff

import (
	"cmp"
	"math"
	"slices"
	"time"

	"qsniff/internal/base/lru"
)

// classify gives every datagram in memory that is not judged yet the class that it has by what is in memory.
func (c *comparer) classify() {
	for s := range c.windows {
		for i := range c.windows[s].all {
			if d := &c.windows[s].all[i]; !d.isReframed {
				d.class = Same
			}
		}
	}
	c.findCopies()
	c.classifyPairs()
	c.findReordered()
	c.pairReframed()
	c.pairResegmented()
	c.pairMoved()
	c.pairChanged()
	for s := range c.windows {
		all := c.windows[s].all
		for i := range all {
			d := &all[i]
			if !d.isFree() || d.class == Duplicated {
				continue
			}
			d.class = [...]Class{Lost, Extra}[s]
			switch {
			case !c.isCovered(Side(s), d):
				d.class = Outside
			case c.isInjected(Side(s), d):
				d.class = Injected
			}
		}
	}
	nearLost, farLost := c.findPassed(), c.findServed()
	c.findAnswers()
	c.findUncaptured(nearLost, farLost)
}

// delayOf returns how long a paired datagram of EDGE took.
func (c *comparer) delayOf(e *datagram) int64 {
	return c.result.Clock.delay(e.way, e.nanos, c.windows[Host].all[e.mate].nanos)
}

// classifyPairs sets the classes of late pairs, and of those that were sent again.
func (c *comparer) classifyPairs() {
	we, wh := c.windows[Edge].all, c.windows[Host].all
	for i := range we {
		e := &we[i]
		if e.mate < 0 {
			continue
		}
		sent := e
		if sender, _ := c.result.Sender(e.way); sender == Host {
			sent = &wh[e.mate]
		}
		if sent.isAgain {
			e.class = Retransmitted
		}
		if c.delayOf(e)-c.result.Clock.usual[e.way] > int64(c.opt.Late) {
			e.class = Late
		}
		wh[e.mate].class = e.class
		if h := &wh[e.mate]; e.state == pending && e.ipid != 0 && h.ipid != 0 {
			c.ids[bit(e.ipid == h.ipid)]++
		}
		if wh[e.mate].way == UnknownWay {
			wh[e.mate].way = e.way
		}
	}
}

// isCovered reports whether the other capture would have a datagram of side s.
func (c *comparer) isCovered(s Side, d *datagram) bool {
	if c.result.Clock.IsDoubtful {
		return false
	}
	from, to := c.covered[s.other()][0], c.covered[s.other()][1]
	margin := c.result.Clock.longest(d.way, c.opt)
	if sender, isKnown := c.result.Sender(d.way); isKnown && sender != s {
		return from+margin <= d.nanos && d.nanos <= to
	} else if !isKnown {
		from += margin
	}
	return from <= d.nanos && d.nanos <= to-margin
}

// findReordered finds the pairs that came after one of the same flow that was sent later.
func (c *comparer) findReordered() {
	we, wh := c.windows[Edge].all, c.windows[Host].all
	w := &c.windows[Edge]
	w.sortKeys(func(d *datagram) (uint64, bool) { return runKey(uint64(d.way), &d.src, &d.dst), d.mate >= 0 })
	times := func(k key) (sent, came int64) {
		e := &we[k.at]
		if sender, _ := c.result.Sender(e.way); sender == Host {
			return wh[e.mate].nanos, e.nanos
		}
		return e.nanos, wh[e.mate].nanos
	}
	for keys := w.keys; len(keys) > 0; {
		var run []key
		run, keys = nextRun(keys)
		if len(run) == 1 {
			continue
		}
		slices.SortFunc(run, func(a, b key) int {
			sentA, cameA := times(a)
			sentB, cameB := times(b)
			return cmp.Or(cmp.Compare(cameA, cameB), cmp.Compare(sentA, sentB), cmp.Compare(a.at, b.at))
		})
		latest := int64(math.MinInt64)
		for _, k := range run {
			e := &we[k.at]
			sent, _ := times(k)
			if sent < latest && e.class == Same {
				e.class, wh[e.mate].class = Reordered, Reordered
			}
			latest = max(latest, sent)
		}
	}
}

// neighbours is how many equal datagrams before and after one are looked at: is it a copy? Chosen:
// copies lie side by side.
const neighbours = 8

// findCopies finds what is a copy of a datagram that is paired, or that comes before it. Of two of which one
// is paired, the first is the original.
func (c *comparer) findCopies() {
	for s := range c.windows {
		w := &c.windows[s]
		w.sortKeys(func(d *datagram) (uint64, bool) { return runKey(d.hash, &d.src, &d.dst), true })
		for keys := w.keys; len(keys) > 0; {
			var run []key
			run, keys = nextRun(keys)
			for i := range run {
				c.findOriginal(Side(s), run, i)
			}
		}
	}
}

// findOriginal makes the datagram at i in a run a copy, if it is one of another.
func (c *comparer) findOriginal(s Side, run []key, i int) {
	w, other := c.windows[s].all, c.windows[s.other()].all
	d := &w[run[i].at]
	if !d.isFree() {
		return
	}
	for j := max(0, i-neighbours); j < min(len(run), i+neighbours+1); j++ {
		o := &w[run[j].at]
		isFirst := o.mate >= 0 || o.state == wasPaired || j < i && o.class != Duplicated
		if j == i || !isFirst || !c.isCopy(s, o, d) {
			continue
		}
		d.class = Duplicated
		if j < i || o.mate < 0 {
			return
		}
		e, h := d, &other[o.mate]
		if s == Host {
			e, h = h, e
		}
		if _, ok := c.align.deviation(e, h); ok {
			other[o.mate].mate, d.mate, d.class = run[i].at, o.mate, Same
			o.mate, o.class = -1, Duplicated
		}
		return
	}
}

// isCopy reports whether two equal datagrams of a side are one that was sent once. Of segments without an IP ID
// those at the point of the sender were sent again: what copies segments stands between the points.
func (c *comparer) isCopy(s Side, a, b *datagram) bool {
	apart := time.Duration(max(a.nanos-b.nanos, b.nanos-a.nanos))
	if a.src.isTCP && a.seq != b.seq {
		return false
	}
	if a.ipid != 0 || b.ipid != 0 {
		return a.ipid == b.ipid && apart <= c.opt.Wait
	}
	sender, isKnown := c.result.Sender(a.way)
	return apart <= copyWithin && !(a.src.isTCP && isKnown && sender == s)
}

// pairChanged pairs what is left of both captures where the ends, and the times, are as if it were one
// datagram: its bytes were changed on the way.
func (c *comparer) pairChanged() {
	for s := range c.windows {
		c.windows[s].sortKeys(func(d *datagram) (uint64, bool) {
			return runKey(uint64(d.way), &d.src, &d.dst), d.isFree() && d.class != Duplicated && (d.isData() || !d.src.isTCP)
		})
	}
	c.joinRuns(func(edges, hosts []key) {
		for _, byID := range [...]bool{true, false} {
			for _, k := range edges {
				c.pairBestChanged(k, hosts, byID)
			}
		}
	})
}

// pairBestChanged pairs a datagram of EDGE with the one of HOST, of the same flow, that may be it. If byID is
// set, they have to have the same IP ID, which routers keep.
func (c *comparer) pairBestChanged(k key, hosts []key, byID bool) {
	e, wh := &c.windows[Edge].all[k.at], c.windows[Host].all
	if e.mate >= 0 {
		return
	}
	wait := int64(c.opt.Wait)
	best, at := int64(math.MaxInt64), int32(-1)
	from, _ := slices.BinarySearchFunc(hosts, k.nanos-wait, func(k key, t int64) int { return cmp.Compare(k.nanos, t) })
	for _, o := range hosts[from:] {
		if o.nanos > k.nanos+wait {
			break
		}
		h := &wh[o.at]
		off, ok := c.align.deviation(e, h)
		isSameID := e.ipid != 0 && e.ipid == h.ipid
		isLike := e.kind == h.kind || e.kind == kindOther || h.kind == kindOther || e.kind == kindData || h.kind == kindData || e.wire == h.wire
		if isOther := e.ipid != 0 && h.ipid != 0 && !isSameID; isOther && c.keepsIDs() {
			continue
		}
		if !ok || h.mate >= 0 || e.src.isTCP && !c.isPlace(e, h) || byID != isSameID || !byID && (!isLike || off > int64(c.opt.Late)) || off >= best {
			continue
		}
		best, at = off, o.at
	}
	if at >= 0 {
		e.mate, wh[at].mate = at, k.at
		e.class, wh[at].class = Changed, Changed
	}
}

// keepsIDs reports whether nothing between the points gives datagrams an IP ID of its own.
func (c *comparer) keepsIDs() bool {
	const least, share = 16, 20 // chosen: more pairs than one poll has; one of 20 may be paired wrongly
	return c.ids[1] >= least && c.ids[0]*share <= c.ids[1]
}

// replyKey is the content of a reply and who sent it.
type replyKey struct {
	hash   uint64
	server end
}

// Hash implements lru.Key.
func (k replyKey) Hash(seed uint64) uint64 { return lru.Mix(k.server.Hash(seed), k.hash) }

// seenReply is the last reply of a server with one content.
type seenReply struct {
	nanos int64
	frame uint64
}

// findAnswers finds the replies at the point of the clients that did not come from the other point and
// answer a request, and the requests that got one and went no further.
func (c *comparer) findAnswers() {
	side := c.result.Clients()
	w := &c.windows[side]
	alone := Lost
	if side == Host {
		alone = Extra
	}
	isAnswer := func(d *datagram) bool {
		return d.state == pending && d.mate < 0 && d.class == alone && d.way == ToClient && !d.src.isTCP
	}
	if !hasAny(w.all, isAnswer) {
		return
	}
	w.sortKeys(func(d *datagram) (uint64, bool) {
		if d.way == ToServer {
			return runKey(0, &d.src, &d.dst), true
		}
		return runKey(0, &d.dst, &d.src), isAnswer(d)
	})
	for keys := w.keys; len(keys) > 0; {
		var run []key
		run, keys = nextRun(keys)
		var request *datagram
		for _, k := range run {
			d := &w.all[k.at]
			switch {
			case d.way == ToServer && d.class != Duplicated:
				request = d
			case d.way == ToServer || request == nil || d.nanos-request.nanos > int64(c.opt.Wait):
			default:
				d.class, d.request, d.isKept = AnsweredBetween, request.frame, false
				if request.state == pending && request.mate < 0 && (request.class == alone || request.class == AnsweredBetween) {
					request.class, d.isKept = AnsweredBetween, true
				}
			}
		}
	}
}

// hasAny reports whether is returns true for any datagram.
func hasAny(all []datagram, is func(*datagram) bool) bool {
	for i := range all {
		if is(&all[i]) {
			return true
		}
	}
	return false
}
