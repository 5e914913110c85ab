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

// What a capture lost by itself, as where the disk or the ring was too slow, looks like loss on the way, and a reply
// that it lost like an answer from in between. What came after tells them apart: a server answers what arrived, and
// a client that is seen at both points sends past both. That is proof for single requests; of replies it shows how
// many of them the capture lost, and where no more than these are missing, nothing else happened to them.

// leastUncaptured is how many requests have to be proven to have passed for a capture to count as one that loses
// packets. Chosen: fewer may be replies to other requests.
const leastUncaptured = 3

// losses is what a capture has lost of the datagrams in memory: requests that are proven to have passed its point. Their
// share of requests is its rate.
type losses struct{ proven, requests uint64 }

// explain reports whether n of all datagrams are no more than a capture lost by itself, if each is missing with the
// given power of its rate: within three standard deviations of a count and of the rate.
func (l losses) explain(n, all uint64, power int) bool {
	if l.proven < leastUncaptured {
		return false
	}
	expected := float64(all) * math.Pow(float64(l.proven)/float64(l.requests), float64(power))
	return float64(n) <= math.Ceil(expected+3*math.Sqrt(2*expected))
}

// findServed finds the requests at the point of the clients only that were answered from the other point. As that takes
// a reply that was not lost either, they are to be held against the requests that were not.
func (c *comparer) findServed() losses {
	near := c.result.Clients()
	far := near.other()
	wn, wf := c.windows[near].all, c.windows[far].all
	var found losses
	for i := range wn {
		if d := &wn[i]; d.state == pending && d.way == ToServer && !d.src.isTCP && d.mate >= 0 {
			found.requests++
		}
	}
	c.windows[near].sortKeys(func(d *datagram) (uint64, bool) {
		if d.way == ToClient {
			return runKey(0, &d.dst, &d.src), d.mate >= 0 && !d.src.isTCP
		}
		return runKey(0, &d.src, &d.dst), d.way == ToServer && !d.src.isTCP && d.class != Duplicated
	})
	c.windows[far].sortKeys(func(d *datagram) (uint64, bool) {
		return runKey(0, &d.dst, &d.src), c.isAlone(far, d) && d.way == ToClient
	})
	for keys, lost := c.windows[near].keys, c.windows[far].keys; len(keys) > 0; {
		var run, more []key
		run, keys = nextRun(keys)
		for len(lost) > 0 && lost[0].run < run[0].run {
			lost = lost[1:]
		}
		if len(lost) > 0 && lost[0].run == run[0].run {
			more, lost = nextRun(lost)
		}
		found.proven += c.matchReplies(wn, wf, run, more)
	}
	return found
}

// isAlone reports whether a datagram of a side counts as missing at the other point.
func (c *comparer) isAlone(s Side, d *datagram) bool {
	return d.state == pending && d.mate < 0 && !d.src.isTCP && d.class == [...]Class{Lost, Extra}[s]
}

// matchReplies gives the replies of a flow to its requests at the point of the clients, in order: those that are there too, and
// those that did not get so far, more. It marks the requests without a counterpart that have a reply, and returns how many.
// A reply is to the latest request of its kind that had the time to come back.
func (c *comparer) matchReplies(wn, wf []datagram, all, more []key) (n uint64) {
	clock := &c.result.Clock
	const least = 0.9 // chosen: of the usual time there and back; fewer came back faster
	back := int64(least * float64(clock.usual[ToServer]+clock.usual[ToClient]))
	var open []*datagram
	answer := func(d *datagram, came int64) {
		for i := len(open) - 1; i >= 0 && came-open[i].nanos <= int64(c.opt.Wait); i-- {
			q := open[i]
			if came-q.nanos < back || !c.readers[Edge].id.answers(q.kind, d.kind) {
				continue
			}
			if c.isAlone(c.result.Clients(), q) {
				q.class = Uncaptured
				n++
			}
			open = append(open[:i], open[i+1:]...)
			return
		}
	}
	for len(all) > 0 || len(more) > 0 {
		if len(more) > 0 && (len(all) == 0 || more[0].nanos+clock.usual[ToClient] < all[0].nanos) {
			answer(&wf[more[0].at], more[0].nanos+clock.usual[ToClient])
			more = more[1:]
			continue
		}
		if d := &wn[all[0].at]; d.way == ToServer {
			open = append(open, d)
			open = open[max(0, len(open)-neighbours):]
		} else {
			answer(d, d.nanos)
		}
		all = all[1:]
	}
	return n
}

// findPassed finds the requests at the point of the servers only whose clients are seen at both points.
func (c *comparer) findPassed() losses {
	near := c.result.Clients()
	far := near.other()
	client := func(d *datagram) uint64 {
		e := d.src.host()
		if d.way == ToClient {
			e = d.dst.host()
		}
		return e.Hash(0)
	}
	var found losses
	wf := c.windows[far].all
	c.windows[near].sortKeys(func(d *datagram) (uint64, bool) {
		return client(d), !d.src.isTCP && d.way != UnknownWay && (d.mate >= 0 || d.state == wasPaired)
	})
	for i := range wf {
		if d := &wf[i]; d.state == pending && d.way == ToServer && !d.src.isTCP {
			found.requests++
		}
	}
	keys := c.windows[near].keys
	for i := range wf {
		d := &wf[i]
		if d.way != ToServer || !c.isAlone(far, d) {
			continue
		}
		if _, ok := slices.BinarySearchFunc(keys, client(d), func(k key, run uint64) int { return cmp.Compare(k.run, run) }); ok {
			d.class = Uncaptured
			found.proven++
		}
	}
	return found
}

// findUncaptured marks the replies that are missing in no greater number than their capture lost requests: those
// at the point of the servers only, and answers that seem to come from in between.
func (c *comparer) findUncaptured(nearLost, farLost losses) {
	near := c.result.Clients()
	far := near.other()
	is := func(s Side, d *datagram, class Class) bool {
		return d.state == pending && d.mate < 0 && !d.src.isTCP && d.class == class && d.way == ToClient
	}
	alone := [...]Class{Lost, Extra}[far]
	var missing, sent, passed, kept, received uint64
	for i := range c.windows[far].all {
		if d := &c.windows[far].all[i]; d.state == pending && d.way == ToClient && !d.src.isTCP {
			sent++
			missing += bit(is(far, d, alone))
		}
	}
	for i := range c.windows[near].all {
		d := &c.windows[near].all[i]
		switch {
		case d.state != pending || d.way != ToClient || d.src.isTCP:
			continue
		case is(near, d, AnsweredBetween) && d.isKept:
			kept++
		case is(near, d, AnsweredBetween):
			passed++
		}
		received++
	}
	if nearLost.explain(missing, sent, 1) {
		c.mark(far, func(d *datagram) bool { return is(far, d, alone) })
	}
	if farLost.explain(passed, received, 1) {
		c.mark(near, func(d *datagram) bool { return is(near, d, AnsweredBetween) && !d.isKept })
	}
	if farLost.explain(kept, received, 2) { // both the request and the reply
		c.mark(near, func(d *datagram) bool {
			return is(near, d, AnsweredBetween) && d.isKept || d.state == pending && d.class == AnsweredBetween && d.way == ToServer
		})
	}
}

func (c *comparer) mark(s Side, is func(*datagram) bool) {
	for i := range c.windows[s].all {
		if d := &c.windows[s].all[i]; is(d) {
			d.class = Uncaptured
		}
	}
}

// limit: copyWithin is within what time an equal datagram without an IP ID is a copy. Chosen: no client
// asks again so soon. With an IP ID, which copies share, it is the wait.
const copyWithin = 100 * time.Millisecond
