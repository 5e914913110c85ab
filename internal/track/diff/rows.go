package diff

import (
	"cmp"
	"slices"
)

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
