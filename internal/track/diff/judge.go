package diff

import (
	"cmp"
	"slices"
)

// judge decides what was there before cutoff, and removes what no later datagram needs.
func (c *comparer) judge(cutoff int64, isEarly bool) {
	we, wh := c.windows[Edge].all, c.windows[Host].all
	c.noteReplies(cutoff)
	for i := range we {
		e := &we[i]
		if e.state != pending {
			continue
		}
		if e.mate < 0 {
			c.judgeAlone(Edge, e, cutoff, isEarly)
			continue
		}
		if h := &wh[e.mate]; min(e.nanos, h.nanos) < cutoff {
			c.judgePair(e, h)
		}
	}
	for i := range wh {
		if h := &wh[i]; h.state == pending && h.mate < 0 {
			c.judgeAlone(Host, h, cutoff, isEarly)
		}
	}
	keep := cutoff - int64(c.opt.Wait)
	if isEarly {
		keep = cutoff
	}
	for s := range c.windows {
		w := &c.windows[s]
		w.all = slices.DeleteFunc(w.all, func(d datagram) bool {
			isGone := d.state != pending && d.nanos < keep
			if isGone {
				delete(w.pieces, d.frame)
			}
			return isGone
		})
		w.dropSets()
	}
}

func (c *comparer) judgeAlone(s Side, d *datagram, cutoff int64, isEarly bool) {
	if d.nanos >= cutoff {
		return
	}
	d.state = wasAlone
	if !d.isWanted {
		c.result.Unwanted[s]++
		delete(c.answers, d.frame)
		return
	}
	if isEarly && d.class != Outside {
		c.result.JudgedEarly++
	}
	c.result.Counts[s][d.class][d.way]++
	c.tellFrames(s, d)
	c.countConnection(s, d)
	c.countAlone(s, d)
	if d.class == Outside {
		return
	}
	if d.class == Reframed {
		c.listReframed(s, d)
		return
	}
	x := Difference{Class: d.class, Way: d.way, Kind: d.kind, Nanos: d.nanos, src: d.src, dst: d.dst}
	x.Frames[s], x.Sizes[s], x.TTL[s] = d.frame, d.wire, d.ttl
	if d.class == AnsweredBetween && d.way == ToClient {
		c.explainAnswer(d, &x)
	}
	c.list(&x)
}

func (c *comparer) judgePair(e, h *datagram) {
	e.state, h.state = wasPaired, wasPaired
	if !e.isWanted && !h.isWanted {
		c.result.Unwanted[Edge]++
		c.result.Unwanted[Host]++
		return
	}
	delay := c.delayOf(e)
	c.result.Counts[Edge][e.class][e.way]++
	c.result.Counts[Host][e.class][e.way]++
	c.tellFrames(Edge, e)
	c.tellFrames(Host, h)
	c.countConnection(Edge, e)
	c.countConnection(Host, h)
	c.countPair(e, h, delay)
	if e.class == Same {
		return
	}
	x := Difference{Class: e.class, Way: e.way, Kind: e.kind, Delay: delay, src: e.src, dst: e.dst,
		Frames: [2]uint64{e.frame, h.frame}, Sizes: [2]uint16{e.wire, h.wire}, TTL: [2]uint8{e.ttl, h.ttl}, Nanos: e.nanos}
	if sender, _ := c.result.Sender(e.way); sender == Host {
		x.Nanos, x.Kind = h.nanos, h.kind
	}
	c.list(&x)
}

// listReframed lists a message that has other datagrams at one point than at the other, once.
func (c *comparer) listReframed(s Side, d *datagram) {
	m, isListed := c.reframed[d.frame]
	if s != Host || !isListed {
		return
	}
	delete(c.reframed, d.frame)
	c.result.Reframed++
	c.row(d, m.kind).Reframed++
	x := Difference{Class: Reframed, Way: d.way, Kind: m.kind, Nanos: d.nanos, src: d.src, dst: d.dst, Count: m.count,
		Frames: [2]uint64{m.other, d.frame}, Sizes: [2]uint16{m.size, d.wire}, TTL: [2]uint8{m.ttl, d.ttl}}
	c.list(&x)
}

// list adds a difference to the list.
func (c *comparer) list(x *Difference) {
	if len(c.result.Differences) < maxListed {
		c.result.Differences = append(c.result.Differences, *x)
		return
	}
	c.result.Unlisted++
}

// tellFrames calls Options.Judged with the class of a datagram, for each frame that it came in.
func (c *comparer) tellFrames(s Side, d *datagram) {
	if c.opt.Judged == nil || d.class == Same || d.class == Outside {
		return
	}
	for _, frame := range c.windows[s].pieces[d.frame] {
		c.opt.Judged(s, d.class, frame)
	}
	c.opt.Judged(s, d.class, d.frame)
}

// noteReplies remembers what servers sent until cutoff, and gives answers from in between what is known
// of the same bytes.
func (c *comparer) noteReplies(cutoff int64) {
	near := c.result.Clients()
	far := near.other()
	var answers []*datagram
	for i := range c.windows[near].all {
		d := &c.windows[near].all[i]
		if d.state == pending && d.class == AnsweredBetween && d.way == ToClient && d.nanos < cutoff {
			answers = append(answers, d)
		}
	}
	slices.SortFunc(answers, func(a, b *datagram) int { return cmp.Compare(a.nanos, b.nanos) })
	for i := range c.windows[far].all {
		h := &c.windows[far].all[i]
		for len(answers) > 0 && answers[0].nanos <= h.nanos {
			c.compareReply(answers[0])
			answers = answers[1:]
		}
		if h.way != ToClient || h.nanos >= cutoff || h.state != pending {
			continue
		}
		if h.mate >= 0 {
			ttl, _ := c.ttls.Put(h.src)
			*ttl = c.windows[near].all[h.mate].ttl
		}
		v, evicted := c.replies.Put(replyKey{h.hash, h.src})
		*v = seenReply{h.nanos, h.frame}
		if evicted != nil {
			c.result.RepliesEvicted++
		}
	}
	for _, d := range answers {
		c.compareReply(d)
	}
}

// compareReply sets what is known of the server's own reply with the bytes of an answer.
func (c *comparer) compareReply(d *datagram) {
	x := answer{}
	if v := c.replies.Peek(replyKey{d.hash, d.src}); v != nil {
		x.sameAs, x.age = v.frame, max(0, d.nanos-v.nanos)
	}
	if ttl := c.ttls.Peek(d.src); ttl != nil {
		x.usualTTL = *ttl
	}
	c.answers[d.frame] = x
}

// answer is what is known of an answer from in between until it is listed.
type answer struct {
	sameAs   uint64
	age      int64
	usualTTL uint8
}

func (c *comparer) explainAnswer(d *datagram, x *Difference) {
	a := c.answers[d.frame]
	delete(c.answers, d.frame)
	x.Request, x.SameAs, x.Age, x.UsualTTL = d.request, a.sameAs, a.age, a.usualTTL
}
