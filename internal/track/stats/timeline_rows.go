package stats

import (
	"math"
	"math/bits"

	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// Cell is what came in one interval. Answered counts in the interval of the request,
// Unanswered in that of the last request.
type Cell struct {
	Requests, Answered, Unanswered, Replies uint32
	BytesIn, BytesOut                       uint64
}

// row is the cells of one kind or server, or the requests of one client. Those after the last
// one that was counted in are not there.
type row struct {
	names    kindNames // of kinds
	total    uint64    // with what came before it had the row
	cells    []Cell
	times    Buckets
	requests []uint32  // of clients
	partners *partners // of servers; nil: none yet
}

// kindNames are the names of the types of the first request and of the first reply.
type kindNames struct{ request, reply string }

func (n *kindNames) learn(f *track.Fact) {
	switch {
	case f.Type == nil || f.Step == track.Silence:
	case f.Reply && n.reply == "":
		n.reply = f.Type.Name
	case !f.Reply && n.request == "":
		n.request = f.Type.Name
	}
}

// rows is a bounded number of rows by their keys, and one for what has no row. A key without a
// row gets that of the smallest once it was counted twice as often, so that keys which come
// about equally often do not take each other's rows; what was counted before is in rest.
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
	if uint64(*n) <= 2*t.least {
		return nil
	}
	var smallest K
	t.least = math.MaxUint64
	for key, r := range t.byKey {
		if r.total < t.least || r.total == t.least && key.Hash(0) < smallest.Hash(0) { // the same in each run
			smallest, t.least = key, r.total
		}
	}
	if uint64(*n) <= 2*t.least {
		return nil
	}
	came := uint64(*n)
	t.waiting.Delete(k)
	r := t.byKey[smallest]
	delete(t.byKey, smallest)
	t.rest.add(r)
	t.last = nil
	r.times.reset()
	*r = row{total: came, cells: r.cells[:0], times: r.times, requests: r.requests[:0], partners: r.partners.reset()}
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
func extend[T any](s []T, i int) []T { return extendTo(s, i+1, timelineCells) }

// extendTo returns s with at least n elements, of which new ones are zero. most is how long it
// becomes: memory for that is taken at once, so that there are no shorter copies.
func extendTo[T any](s []T, n, most int) []T {
	if old := len(s); n > old {
		if n > cap(s) {
			s = append(make([]T, 0, max(n, most)), s...)
		}
		s = s[:n]
		clear(s[old:])
	}
	return s
}

// add adds the cells of o.
func (r *row) add(o *row) {
	r.total += o.total
	for i := range o.cells {
		r.cell(i).Add(&o.cells[i])
	}
	r.times.addAll(&o.times, 0, 1)
	for i, n := range o.requests {
		r.requests = extend(r.requests, i)
		r.requests[i] += n
	}
}

// Add adds what another cell has.
func (c *Cell) Add(o *Cell) {
	c.Requests += o.Requests
	c.Answered += o.Answered
	c.Unanswered += o.Unanswered
	c.Replies += o.Replies
	c.BytesIn += o.BytesIn
	c.BytesOut += o.BytesOut
}

// Subtract takes out what another cell has, which was added before.
func (c *Cell) Subtract(o *Cell) {
	c.Requests -= o.Requests
	c.Answered -= o.Answered
	c.Unanswered -= o.Unanswered
	c.Replies -= o.Replies
	c.BytesIn -= o.BytesIn
	c.BytesOut -= o.BytesOut
}

// merge makes one cell of each n.
func (r *row) merge(n int64) {
	r.cells = mergeCells(r.cells, n, (*Cell).Add)
	r.times.Merge(n)
	r.requests = mergeCells(r.requests, n, addNumber)
}

func addNumber(to, from *uint32) { *to += *from }

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

// countRequest counts a request of a client in interval at.
func (r *row) countRequest(at int) {
	r.total++
	r.requests = extend(r.requests, at)
	r.requests[at]++
}

// count adds a fact to the cell of interval at, and an answer to that of its request.
func (r *row) count(f *track.Fact, at, asked int) {
	r.total++
	switch {
	case f.Step == track.Silence:
		r.cell(at).Unanswered++
		return
	case !f.Reply:
		c := r.cell(at)
		c.Requests++
		c.BytesIn += uint64(f.Bytes)
		return
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
		r.times.add(asked, BucketOf(f.Took), 1)
	}
}

// BucketOf returns the bucket of a time in nanoseconds. From firstBucket on there are two for
// each doubling.
func BucketOf(nanos int64) int {
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
