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

// rowKey is what a Row counts.
type rowKey struct {
	server end
	kind   uint16
	way    Way
}

// row returns the row of a datagram.
func (c *comparer) row(d *datagram, kind uint16) *Row {
	k := rowKey{d.dst, kind, d.way}
	if d.way == ToClient {
		k.server = d.src
	}
	if d.way == UnknownWay {
		k.server = end{}
	}
	r := c.rows[k]
	if r == nil && len(c.rows) >= maxRows {
		c.result.NoRow++
		k = rowKey{way: d.way}
		r = c.rows[k]
	}
	if r == nil {
		r = &Row{Server: k.server.addrPort(), Kind: k.kind, Way: k.way}
		c.rows[k] = r
	}
	return r
}

func (c *comparer) countPair(e, h *datagram, delay int64) {
	kind := e.kind
	if sender, _ := c.result.Sender(e.way); sender == Host {
		kind = h.kind
	}
	r := c.row(e, kind)
	r.Sent++
	r.Arrived++
	r.Slowest = max(r.Slowest, delay)
	switch e.class {
	case Retransmitted:
		r.Retransmitted++
	case Late:
		r.Late++
	case Reordered:
		r.Reordered++
	case Changed:
		r.Changed++
	}
	if !e.src.isTCP { // hosts cut streams as they like
		c.result.Sizes[e.way].add(min(e.wire, h.wire), false)
	}
}

func (c *comparer) countAlone(s Side, d *datagram) {
	r := c.row(d, d.kind)
	sender, _ := c.result.Sender(d.way)
	switch {
	case d.class == Outside:
		r.Outside++
	case d.class == Duplicated:
		r.Duplicated++
	case d.class == Reframed && s == sender:
		r.Sent++
		r.Arrived++
	case d.class == Reframed:
	case d.class == Uncaptured:
		r.Sent++
		r.Arrived++
		r.Uncaptured++
	case d.class == Injected:
		r.Appeared++
		r.Injected++
	case d.class == AnsweredBetween && d.way == ToClient:
		r.Appeared++
		r.Answered++
	case d.class == AnsweredBetween:
		r.Sent++
		r.Kept++
	case s == sender:
		r.Sent++
		if r.FirstLost[s] == 0 {
			r.FirstLost[s] = d.frame
		}
		if d.way != UnknownWay && !d.src.isTCP {
			c.result.Sizes[d.way].add(d.wire, true)
		}
	default:
		r.Appeared++
	}
}

// listRows returns the rows: those of one server together, requests first.
func (c *comparer) listRows() []Row {
	var all []Row
	for _, r := range c.rows {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b Row) int {
		return cmp.Or(a.Server.Compare(b.Server), cmp.Compare(a.Way, b.Way), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// SizeLoss is loss by size: which lengths of payloads, in bytes, came through, and which were lost.
type SizeLoss struct {
	arrived, lost []uint32 // by size
}

func (l *SizeLoss) add(size uint16, isLost bool) {
	at := &l.arrived
	if isLost {
		at = &l.lost
	}
	for len(*at) <= int(size) {
		*at = append(*at, make([]uint32, 1024)...)
	}
	(*at)[size]++
}

// SizeLimit is a size above which datagrams are lost.
type SizeLimit struct {
	Through   uint64 `json:"through" jsonschema:"longest payload that arrived"` // of those up to the limit
	Lost      uint64 `json:"lost_from" jsonschema:"shortest payload that is always lost"`
	Above     uint64 `json:"above" jsonschema:"longer ones"`
	LostAbove uint64 `json:"lost_above" jsonschema:"of them lost"`
	Below     uint64 `json:"below" jsonschema:"shorter ones"`
	LostBelow uint64 `json:"lost_below" jsonschema:"of them lost"`
}

// Limit returns the size above which datagrams are lost, if the loss is one of sizes: nearly
// all above it, and hardly any below.
func (l *SizeLoss) Limit() (x SizeLimit, ok bool) {
	const (
		leastLost  = 3    // chosen: two may be chance
		leastShare = 0.9  // of those above
		mostBelow  = 0.05 // of those below, and of all that were lost
	)
	total := max(len(l.arrived), len(l.lost))
	at := func(all []uint32, i int) uint64 {
		if i < len(all) {
			return uint64(all[i])
		}
		return 0
	}
	var all SizeLimit
	for i := range total {
		all.Below += at(l.arrived, i) + at(l.lost, i)
		all.LostBelow += at(l.lost, i)
	}
	x = all
	best := -1.0
	var found SizeLimit
	for i := total - 1; i >= 0; i-- { // sizes from i on are above
		arrived, lost := at(l.arrived, i), at(l.lost, i)
		if lost > 0 {
			x.Lost = uint64(i)
		}
		x.Above, x.LostAbove = x.Above+arrived+lost, x.LostAbove+lost
		x.Below, x.LostBelow = x.Below-arrived-lost, x.LostBelow-lost
		if lost == 0 || x.Below == 0 {
			continue
		}
		gain := float64(x.LostAbove)/float64(x.Above) - float64(x.LostBelow)/float64(x.Below)
		if gain > best {
			best, found = gain, x
		}
	}
	for i := int(found.Lost) - 1; i >= 0 && found.Through == 0; i-- {
		if at(l.arrived, i) > 0 {
			found.Through = uint64(i)
		}
	}
	isClear := found.LostAbove >= leastLost && float64(found.LostAbove) >= leastShare*float64(found.Above) &&
		float64(found.LostBelow) <= mostBelow*float64(found.Below) && float64(found.LostBelow) <= mostBelow*float64(all.LostBelow) &&
		found.Below-found.LostBelow >= leastLost
	return found, isClear
}

const (
	// limit: maxListed is how many differences are listed; the others are counted. Chosen: 11 MiB,
	// and more than anybody reads.
	maxListed = 1 << 16

	// limit: maxRows is how many kinds of all servers are counted apart; the others are one row.
	maxRows = 1 << 11
)
