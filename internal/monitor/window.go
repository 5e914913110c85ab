package monitor

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"qsniff/internal/track/stats"
)

// window counts the last hour in points of time, for charts. Points are short at first: when
// there are windowPoints of them, several become one, until they have the last of pointLengths.
// Then the oldest are dropped. Rows follow one by one: to move those of thousands of servers at once
// takes longer than packets should wait.
type window struct {
	start int64 // age at the begin of the first point
	last  int64 // age of the last packet or tick
	step  int   // of pointLengths
	gone  int64 // points that were dropped
	moves int   // how often step or gone changed
	swept int   // servers whose rows followed the last change
	at    int   // the point at hand
	kinds [maxKinds]row
	read  row // packets of any kind, as requests
	// received is how many packets of the source are in read.
	received uint64
	// summed is how many rows Window has read the points of. Tests count with it what Window takes.
	summed int
}

// cell is what came in one point of time. Outcomes and response times count at that of the request.
type cell struct {
	stats.Cell        // bytes are of payloads
	late, unreachable uint32
	slowest           uint32 // microseconds of the slowest answer, of those whose time is known
	wireIn, wireOut   uint64 // bytes with headers
}

// row is the points of a server or of a kind of request, up to the last one that was counted in,
// and from the window's first on. It is used as window.follow returns it.
type row struct {
	cells    []cell
	requests uint64 // of all points
	gone     int64  // as of the window when it followed last
	step     int
	moves    int
	times    stats.Buckets
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
	n = min(n, len(r.cells))
	for i := range r.cells[:n] {
		r.requests -= uint64(r.cells[i].Requests)
	}
	r.cells = r.cells[:copy(r.cells, r.cells[n:])]
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

// countRequests counts n requests in a point.
func (r *row) countRequests(at int, n uint64) *cell {
	c := r.cell(at)
	c.Requests += uint32(n)
	r.requests += n
	return c
}

// move makes the point at hand the one of an age.
func (w *window) move(age int64) {
	at := (age - w.start) / int64(pointLengths[w.step])
	for at >= windowPoints && w.step+1 < len(pointLengths) {
		at /= pointsMerged(w.step)
		w.step++
		w.moves, w.swept = w.moves+1, 0
	}
	if over := at - windowPoints + 1; over > 0 {
		w.start += over * int64(pointLengths[w.step])
		w.gone += over
		w.moves, w.swept = w.moves+1, 0
		at = windowPoints - 1
	}
	w.at = int(at)
}

// pointsMerged returns how many points of a step become one of the next.
func pointsMerged(step int) int64 { return int64(pointLengths[step+1] / pointLengths[step]) }

// follow returns r with the points of the window.
func (w *window) follow(r *row) *row {
	if r.moves != w.moves {
		w.moveRow(r)
	}
	return r
}

// moveRow makes a row's points those of the window. The window drops none before its last step.
func (w *window) moveRow(r *row) {
	for ; r.step < w.step; r.step++ {
		if len(r.cells) > 0 {
			r.merge(int(pointsMerged(r.step)))
		}
	}
	if passed := w.passed(r); passed > 0 && len(r.cells) > 0 {
		r.drop(passed)
	}
	r.gone, r.moves = w.gone, w.moves
}

// passed returns how many points of a row were dropped since it followed.
func (w *window) passed(r *row) int { return int(min(w.gone-r.gone, windowPoints)) }

// points returns how many points r will have when it follows.
func (w *window) points(r *row) int {
	n := int64(len(r.cells))
	for step := r.step; step < w.step; step++ {
		n = (n + pointsMerged(step) - 1) / pointsMerged(step)
	}
	return max(0, int(n)-w.passed(r))
}

// sweep has the rows of the next sweptRows servers follow. Those that are asked do so by themselves.
func (m *Meter) sweep() {
	w := &m.window
	for end := min(w.swept+sweptRows, len(m.slots.list)); w.swept < end; w.swept++ {
		w.follow(&m.slots.list[w.swept].row)
	}
}

// pointOf returns the point of a request that waits, or waited until now.
func (w *window) pointOf(since micros) int {
	age := w.last - since.until(microsOf(w.last))
	return max(0, min(int((age-w.start)/int64(pointLengths[w.step])), w.at))
}

// Read notes how many packets the source has delivered. It is called after each batch.
func (m *Meter) Read(packets uint64) {
	m.window.follow(&m.window.read).cell(m.window.at).Requests += uint32(packets - m.window.received)
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
// goroutine that runs the pipeline; nobody changes what it returns. Packets wait meanwhile, so it
// reads the points of those servers and of the kinds of messages only, not of all servers.
func (m *Meter) Window(servers int) *Window {
	w := &m.window
	x := &Window{First: m.clock.nanos - (w.last - w.start), Last: m.clock.nanos}
	x.Packets = uint64(w.sum(&w.read).Requests)
	t := &x.Timeline
	t.Start, t.Interval, t.Points = x.First, pointLengths[w.step], w.at+1
	all := m.addKinds(x)
	m.addServers(x, all, servers)
	return x
}

// sum adds up the points of a row.
func (w *window) sum(r *row) (all cell) {
	w.summed++
	w.follow(r)
	for i := range r.cells {
		all.add(&r.cells[i])
	}
	return all
}

// copyTo copies a row.
func (r *row) copyTo(to *stats.TimelineRow) {
	to.Cells = make([]stats.Cell, len(r.cells))
	for i := range r.cells {
		to.Cells[i] = r.cells[i].Cell
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

// subtractFrom takes a row out of the sum of others.
func (r *row) subtractFrom(to *row) {
	for i := range r.cells {
		to.cells[i].Subtract(&r.cells[i].Cell)
	}
	to.times.SubtractAll(&r.times)
}

// addKinds adds the rows of kinds, and the totals. It returns the sum of the rows, which is that of
// all servers' rows, too: the row of a server is dropped only when nothing has been counted in it for
// longer than the window.
func (m *Meter) addKinds(x *Window) *row {
	var all row
	for i := range m.kinds.list {
		m.window.summed++
		if r := m.window.follow(&m.window.kinds[i]); len(r.cells) > 0 {
			k := stats.TimelineRow{Protocol: m.kinds.list[i].protocol, Message: m.kinds.list[i].message, IsRest: i == 0}
			r.copyTo(&k)
			r.addTo(&all)
			x.Timeline.Kinds = append(x.Timeline.Kinds, k)
		}
	}
	all.moves = m.window.moves
	s, n := &x.Stats, m.window.sum(&all)
	s.Requests, s.Replies = uint64(n.Requests), uint64(n.Replies)
	s.Answered, s.Unanswered, s.Late = uint64(n.Answered), uint64(n.Unanswered), uint64(n.late)
	s.Response = timesOf(&all.times, 0, n.slowest)
	return &all
}

// addServers adds the servers that there is room for, those that were asked most, and
// the others as one. left is the sum of all, from which it takes those that it adds.
func (m *Meter) addServers(x *Window, left *row, most int) {
	w, all := &m.window, m.rankServers()
	points := w.points(&m.slots.list[0].row) // of the others together
	for i := range all {
		s := all[i].slot
		switch {
		case i >= windowServers:
			points = max(points, w.points(&s.row))
		case len(w.follow(&s.row).cells) > 0:
			w.summed++
			r := stats.TimelineRow{Server: s.end.AddrPort()}
			s.row.copyTo(&r)
			s.row.subtractFrom(left)
			x.Timeline.Servers = append(x.Timeline.Servers, r)
		}
		if i < most {
			sum := w.sum(&s.row)
			x.Stats.Servers = append(x.Stats.Servers, s.summary(&sum))
		}
	}
	x.Stats.ServersUnlisted = uint64(max(0, len(all)-most))
	if points > 0 {
		r := stats.TimelineRow{IsRest: true}
		left.cells = left.cells[:points]
		left.copyTo(&r)
		x.Timeline.Servers = append(x.Timeline.Servers, r)
	}
}

// rankedServer is a server by how often it was asked.
type rankedServer struct {
	requests uint64
	place    int // in slots.list
	slot     *slot
}

// rankServers returns the servers that a window shows, those that were asked most first. In the
// seconds before its row has followed a move, a server that nobody asks still has the requests of
// the points that were dropped.
func (m *Meter) rankServers() []rankedServer {
	all := make([]rankedServer, 0, len(m.slots.list))
	for i, s := range m.slots.list[1:] {
		if s.isNamed || s.hasProfile || m.window.points(&s.row) > 0 {
			all = append(all, rankedServer{s.row.requests, i, s})
		}
	}
	slices.SortFunc(all, func(a, b rankedServer) int {
		return cmp.Or(cmp.Compare(b.requests, a.requests), a.place-b.place)
	})
	return all
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
