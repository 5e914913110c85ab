package diff

import (
	"cmp"
	"math"
	"slices"
)

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
