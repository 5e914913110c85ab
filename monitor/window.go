package monitor

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"qsniff/stats"
)

// window counts the last hour in points of time, for charts. Points are short at first: when
// there are windowPoints of them, several become one, until they have the last of pointLengths.
// Then the oldest are dropped.
type window struct {
	start int64 // age at the begin of the first point
	last  int64 // age of the last packet or tick
	step  int   // of pointLengths
	at    int   // the point at hand
	kinds [maxKinds]row
	read  row // packets of any kind, as requests
	// received is how many packets of the source are in read.
	received uint64
}

// cell is what came in one point of time. Outcomes and response times count at that of the request.
type cell struct {
	stats.Cell        // bytes are of payloads
	late, unreachable uint32
	slowest           uint32 // microseconds of the slowest answer, of those whose time is known
	wireIn, wireOut   uint64 // bytes with headers
}

// row is the points of a server or of a kind of request, up to the last one that was counted in.
type row struct {
	cells []cell
	times stats.Buckets
}

// cell returns a point, which it adds if nothing was counted in it.
func (r *row) cell(at int) *cell {
	if n := len(r.cells); at >= n {
		if r.cells == nil {
			r.cells = make([]cell, 0, windowPoints)
		}
		r.cells = r.cells[:at+1]
		clear(r.cells[n:])
	}
	return &r.cells[at]
}

// merge makes one point of each n.
func (r *row) merge(n int) {
	for i := range r.cells {
		if i%n == 0 {
			r.cells[i/n] = r.cells[i]
		} else {
			r.cells[i/n].add(&r.cells[i])
		}
	}
	r.cells = r.cells[:(len(r.cells)+n-1)/n]
	r.times.Merge(int64(n))
}

// drop drops the first n points.
func (r *row) drop(n int) {
	r.cells = r.cells[:copy(r.cells, r.cells[min(n, len(r.cells)):])]
	r.times.Drop(n)
}

func (c *cell) add(o *cell) {
	c.Cell.Add(&o.Cell)
	c.late += o.late
	c.unreachable += o.unreachable
	c.slowest = max(c.slowest, o.slowest)
	c.wireIn += o.wireIn
	c.wireOut += o.wireOut
}

// decide counts what became of n requests.
func (c *cell) decide(o Outcome, n uint32) {
	switch o {
	case Answered, Refused:
		c.Answered += n
	case Late:
		c.Answered += n
		c.late += n
	case Unanswered:
		c.Unanswered += n
	case Unreachable:
		c.Unanswered += n
		c.unreachable += n
	}
}

// moveWindow makes the point at hand the one of an age.
func (m *Meter) moveWindow(age int64) {
	w := &m.window
	at := (age - w.start) / int64(pointLengths[w.step])
	for at >= windowPoints && w.step+1 < len(pointLengths) {
		n := int(pointLengths[w.step+1] / pointLengths[w.step])
		m.eachRow(func(r *row) { r.merge(n) })
		w.step++
		at /= int64(n)
	}
	if over := at - windowPoints + 1; over > 0 {
		m.eachRow(func(r *row) { r.drop(int(min(over, windowPoints))) })
		w.start += over * int64(pointLengths[w.step])
		at = windowPoints - 1
	}
	w.at = int(at)
}

// pointOf returns the point of a request that waits, or waited until now.
func (w *window) pointOf(since micros) int {
	age := w.last - since.until(microsOf(w.last))
	return max(0, min(int((age-w.start)/int64(pointLengths[w.step])), w.at))
}

// eachRow calls do for all rows.
func (m *Meter) eachRow(do func(*row)) {
	do(&m.window.read)
	for i := range m.window.kinds {
		do(&m.window.kinds[i])
	}
	for _, x := range m.slots.list {
		do(&x.row)
	}
}

// Read notes how many packets the source has delivered. It is called after each batch.
func (m *Meter) Read(packets uint64) {
	m.window.read.cell(m.window.at).Requests += uint32(packets - m.window.received)
	m.window.received = packets
}

// Window is what a Meter counted in the last hour, or since it began, if that is less.
type Window struct {
	Packets     uint64 // that were read
	First, Last int64  // Unix nanoseconds
	// Timeline has neither clients nor what single servers were asked.
	Timeline stats.TimelineSummary
	// Stats has the totals and the servers. Percentiles are estimated from buckets. Of clients there
	// is nothing.
	Stats stats.Summary
}

// Window returns the last hour, with at most so many servers. Unlike Snapshot it is for the
// goroutine that runs the pipeline; nobody changes what it returns.
func (m *Meter) Window(servers int) *Window {
	w := &m.window
	x := &Window{First: m.clock.nanos - (w.last - w.start), Last: m.clock.nanos}
	x.Packets = uint64(w.read.sum().Requests)
	t := &x.Timeline
	t.Start, t.Interval, t.Points = x.First, pointLengths[w.step], w.at+1
	m.addKinds(x)
	m.addServers(x, servers)
	return x
}

// sum adds up the points of a row.
func (r *row) sum() (all cell) {
	for i := range r.cells {
		all.add(&r.cells[i])
	}
	return all
}

// copyTo copies a row.
func (r *row) copyTo(to *stats.TimelineRow) {
	for i := range r.cells {
		to.Cells = append(to.Cells, r.cells[i].Cell)
	}
	to.Times.AddAll(&r.times)
}

// addTo adds a row to others.
func (r *row) addTo(to *row) {
	for i := range r.cells {
		to.cell(i).add(&r.cells[i])
	}
	to.times.AddAll(&r.times)
}

// addKinds adds the rows of kinds, and the totals.
func (m *Meter) addKinds(x *Window) {
	var all row
	for i := range m.kinds.list {
		if r := &m.window.kinds[i]; len(r.cells) > 0 {
			k := stats.TimelineRow{Protocol: m.kinds.list[i].protocol, Message: m.kinds.list[i].message, IsRest: i == 0}
			r.copyTo(&k)
			r.addTo(&all)
			x.Timeline.Kinds = append(x.Timeline.Kinds, k)
		}
	}
	s, n := &x.Stats, all.sum()
	s.Requests, s.Replies = uint64(n.Requests), uint64(n.Replies)
	s.Answered, s.Unanswered, s.Late = uint64(n.Answered), uint64(n.Unanswered), uint64(n.late)
	s.Response = timesOf(&all.times, 0, n.slowest)
}

// addServers adds the servers that there is room for, those that were asked most, and
// the others as one.
func (m *Meter) addServers(x *Window, most int) {
	type server struct {
		*slot
		sum cell
	}
	var all []server
	for _, s := range m.slots.list[1:] {
		if s.isNamed || len(s.row.cells) > 0 || s.hasProfile {
			all = append(all, server{s, s.row.sum()})
		}
	}
	slices.SortStableFunc(all, func(a, b server) int { return cmp.Compare(b.sum.Requests, a.sum.Requests) })
	var rest row
	m.slots.list[0].row.addTo(&rest)
	for i, s := range all {
		if i >= windowServers {
			s.row.addTo(&rest)
		} else if len(s.row.cells) > 0 {
			r := stats.TimelineRow{Server: s.end.AddrPort()}
			s.row.copyTo(&r)
			x.Timeline.Servers = append(x.Timeline.Servers, r)
		}
		if i < most {
			x.Stats.Servers = append(x.Stats.Servers, s.summary(&s.sum))
		}
	}
	x.Stats.ServersUnlisted = uint64(max(0, len(all)-most))
	if len(rest.cells) > 0 {
		r := stats.TimelineRow{IsRest: true}
		rest.copyTo(&r)
		x.Timeline.Servers = append(x.Timeline.Servers, r)
	}
}

// summary returns the totals of a server by those of its row.
func (x *slot) summary(n *cell) stats.Server {
	p := &x.profile
	return stats.Server{Addr: x.end.AddrPort(), Requests: uint64(n.Requests), Replies: uint64(n.Replies), Answered: uint64(n.Answered),
		Unanswered: uint64(n.Unanswered), Late: uint64(n.late), BytesIn: n.BytesIn, BytesOut: n.BytesOut, WireIn: n.wireIn, WireOut: n.wireOut,
		HasInfo: x.hasProfile, Name: bytes.Clone(p.Name.Whole()), Map: bytes.Clone(p.Map.Whole()), Players: p.Players, Max: p.Max,
		ICMPErrors: uint64(n.unreachable), Response: timesOf(&x.row.times, 0, n.slowest), Challenge: -1, Train: -1}
}

// bucketError is by which share of it a percentile of a window can be off: buckets end at 1.5
// times their begin.
const bucketError = .5

// timesOf returns the distribution of response times that buckets have from an interval on, of
// which the slowest took so many microseconds.
func timesOf(b *stats.Buckets, from int, slowest uint32) (t stats.Times) {
	var counts [stats.TimelineBuckets + 1]uint64
	first, end := b.Range()
	for i := from; i < b.Len(); i++ {
		for n := first; n < end; n++ {
			counts[n] += uint64(b.At(i, n))
			t.Count += uint64(b.At(i, n))
		}
	}
	at := func(q float64) time.Duration {
		rest := q * float64(t.Count)
		for i, n := range counts {
			if n > 0 && rest <= float64(n) {
				from, to := stats.BucketFrom(i), min(stats.BucketFrom(i+1), int64(t.Max))
				return time.Duration(float64(from) + float64(to-from)*rest/float64(n))
			}
			rest -= float64(n)
		}
		return 0
	}
	if t.Count > 0 {
		t.Max = time.Duration(slowest) * time.Microsecond
		t.P50, t.P95, t.P99, t.Error = at(.5), at(.95), at(.99), bucketError
	}
	return t
}
