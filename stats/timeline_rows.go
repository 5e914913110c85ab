package stats

import (
	"math"
	"math/bits"
	"slices"

	"qsniff/internal/lru"
	"qsniff/track"
)

// Cell is what came in one interval. Answered counts in the interval of the request,
// Unanswered in that of the last request.
type Cell struct {
	Requests, Answered, Unanswered, Replies uint32
	BytesIn, BytesOut                       uint64
}

// Hist counts response times by their bucket, in the interval of the request.
type Hist [TimelineBuckets]uint32

// row is the cells of one kind, server or client. Those after the last one that was counted
// in are not there.
type row struct {
	label string // of kinds: the name of the first request's type
	reply string // and that of the first reply's
	total uint64
	cells []Cell
	times []Hist
}

// rows is a bounded number of rows by their keys, and one for what has no row. A key without
// one gets that of the smallest once it was counted more often; what was counted before is in
// rest.
type rows[K lru.Key] struct {
	max     int
	byKey   map[K]*row
	rest    row
	waiting *lru.Table[K, uint32] // how often keys without a row were counted
	least   uint64                // no row has less in all
	lastKey K
	last    *row // of lastKey; nil: unknown
}

func newRows[K lru.Key](n int) rows[K] {
	return rows[K]{max: n, byKey: make(map[K]*row, n), waiting: lru.New[K, uint32](timelineWaiting)}
}

// find returns the row that counts for k.
func (t *rows[K]) find(k K) *row {
	if t.last != nil && k == t.lastKey {
		return t.last
	}
	r := t.byKey[k]
	if r == nil {
		if r = t.admit(k); r == nil {
			return &t.rest
		}
		t.byKey[k] = r
	}
	t.lastKey, t.last = k, r
	return r
}

// admit returns a row for a new key, or nil if others have more.
func (t *rows[K]) admit(k K) *row {
	if len(t.byKey) < t.max {
		return new(row)
	}
	n, _ := t.waiting.Put(k)
	*n++
	if uint64(*n) <= t.least {
		return nil
	}
	var smallest K
	t.least = math.MaxUint64
	for key, r := range t.byKey {
		if r.total < t.least || r.total == t.least && key.Hash(0) < smallest.Hash(0) { // the same in each run
			smallest, t.least = key, r.total
		}
	}
	if uint64(*n) <= t.least {
		return nil
	}
	t.waiting.Delete(k)
	r := t.byKey[smallest]
	delete(t.byKey, smallest)
	t.rest.add(r)
	t.last = nil
	*r = row{cells: r.cells[:0], times: r.times[:0]}
	return r
}

// merge makes one cell of each n, in all rows.
func (t *rows[K]) merge(n int64) {
	for _, r := range t.byKey {
		r.merge(n)
	}
	t.rest.merge(n)
}

// cell returns the cell of interval i.
func (r *row) cell(i int) *Cell {
	r.cells = extend(r.cells, i)
	return &r.cells[i]
}

// extend returns s with an element i; new ones are zero.
func extend[T any](s []T, i int) []T {
	if n := i + 1 - len(s); n > 0 {
		old := len(s)
		s = slices.Grow(s, n)[:i+1]
		clear(s[old:])
	}
	return s
}

// add adds the cells of o.
func (r *row) add(o *row) {
	r.total += o.total
	for i := range o.cells {
		r.cell(i).add(&o.cells[i])
	}
	for i := range o.times {
		r.times = extend(r.times, i)
		r.times[i].add(&o.times[i])
	}
}

func (c *Cell) add(o *Cell) {
	c.Requests += o.Requests
	c.Answered += o.Answered
	c.Unanswered += o.Unanswered
	c.Replies += o.Replies
	c.BytesIn += o.BytesIn
	c.BytesOut += o.BytesOut
}

func (h *Hist) add(o *Hist) {
	for i := range h {
		h[i] += o[i]
	}
}

// merge makes one cell of each n.
func (r *row) merge(n int64) {
	r.cells = mergeCells(r.cells, n, (*Cell).add)
	r.times = mergeCells(r.times, n, (*Hist).add)
}

func mergeCells[T any](s []T, n int64, add func(to, from *T)) []T {
	for i := range s {
		if to := int(int64(i) / n); int64(i)%n == 0 {
			s[to] = s[i]
		} else {
			add(&s[to], &s[i])
		}
	}
	return s[:(int64(len(s))+n-1)/n]
}

// count adds a fact to the cell of interval at, and an answer to that of its request.
func (r *row) count(f *track.Fact, at, asked int) {
	r.total++
	switch {
	case f.Step == track.Silence:
		r.cell(at).Unanswered++
		return
	case !f.Reply:
		if r.label == "" && f.Type != nil {
			r.label = f.Type.Name
		}
		c := r.cell(at)
		c.Requests++
		c.BytesIn += uint64(f.Bytes)
		return
	}
	if r.reply == "" && f.Type != nil {
		r.reply = f.Type.Name
	}
	c := r.cell(at)
	c.Replies++
	c.BytesOut += uint64(f.Bytes)
	if f.Step != track.Answer && f.Step != track.Late {
		return
	}
	c = r.cell(asked)
	c.Answered++
	if f.Step == track.Late && c.Unanswered > 0 { // its silence was counted before
		c.Unanswered--
	}
	if f.Took >= 0 {
		r.times = extend(r.times, asked)
		r.times[asked][bucketOf(f.Took)]++
	}
}

// bucketOf returns the bucket of a time in nanoseconds. From firstBucket on there are two for
// each doubling.
func bucketOf(nanos int64) int {
	n := uint64(max(nanos, 0)) / firstBucket
	if n == 0 {
		return 0
	}
	exp := bits.Len64(n) - 1
	half := 0
	if uint64(nanos) >= firstBucket<<exp+firstBucket<<exp/2 {
		half = 1
	}
	return min(1+2*exp+half, TimelineBuckets-1)
}

// BucketFrom returns the time at which a bucket begins, in nanoseconds.
func BucketFrom(i int) int64 {
	if i == 0 {
		return 0
	}
	from := int64(firstBucket) << ((i - 1) / 2)
	return from + from/2*int64((i-1)%2)
}
