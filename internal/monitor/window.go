package monitor

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"time"

	"qsniff/dissect"
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

// decide counts what became of n requests. isEcho: they brought back a token that their source was given.
func (c *cell) decide(o Outcome, n uint32, isEcho bool) {
	switch o {
	case Answered, Late, Refused, Challenged:
		c.Replied += n
	}
	if isEcho && o != Undecided {
		c.Proven += n
		if o == Answered || o == Late {
			c.Served += n
		}
	}
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

// fates returns the two figures of how requests fared.
func (c *cell) fates() stats.Fates[uint64] {
	return stats.Fates[uint64]{Replied: uint64(c.Replied), Proven: uint64(c.Proven), Served: uint64(c.Served)}
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
// goroutine that runs the pipeline; the result must not be changed. Packets wait meanwhile, so it
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
	s.Fates = n.fates()
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
		Unanswered: uint64(n.Unanswered), Fates: n.fates(), Late: uint64(n.late), BytesIn: n.BytesIn, BytesOut: n.BytesOut, WireIn: n.wireIn, WireOut: n.wireOut,
		HasInfo: x.hasProfile, Name: bytes.Clone(p.Name.Whole()), Map: bytes.Clone(p.Map.Whole()), Players: p.Players, Max: p.Max, Bots: p.Bots, Queue: p.Queue,
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

// Rates are per second, over the last ten whole seconds.
type Rates struct {
	Requests, Answers, BytesIn, BytesOut float64
}

// totals are the counters that rates are made of.
type totals struct{ requests, answers, bytesIn, bytesOut uint64 }

// rates are the totals at the begins of the last seconds.
type rates struct {
	at [rateSeconds + 1]totals
}

// close ends a second, the nth since the start.
func (r *rates) close(n int64, now totals) { r.at[n%int64(len(r.at))] = now }

// since returns the rates over the seconds before n, the last one that ended.
func (r *rates) since(n int64) Rates {
	span := min(n, rateSeconds)
	if span == 0 {
		return Rates{}
	}
	now, then := &r.at[n%int64(len(r.at))], &r.at[(n-span)%int64(len(r.at))]
	per := func(now, then uint64) float64 { return float64(now-then) / float64(span) }
	return Rates{per(now.requests, then.requests), per(now.answers, then.answers), per(now.bytesIn, then.bytesIn), per(now.bytesOut, then.bytesOut)}
}

// clock counts the seconds that have passed since the first packet.
type clock struct {
	first, next int64 // ages: of the first packet, of the end of the second at hand
	seconds     int64 // that ended
	nanos       int64 // Unix time of the last packet or tick
}

// advance returns how many seconds ended until age: rateSeconds+1 at most, as no more show in
// any rate.
func (c *clock) advance(age int64) (ended int64) {
	if c.next == 0 {
		c.first, c.next = age, age+int64(time.Second)
		return 0
	}
	if age < c.next {
		return 0
	}
	passed := (age-c.next)/int64(time.Second) + 1
	c.next += passed * int64(time.Second)
	return min(passed, rateSeconds+1)
}

// Lately is what was counted of a server in the last minute, or since the begin, if that is less.
// Outcomes and response times count at the time of the request.
type Lately struct {
	stats.Cell               // bytes are of payloads
	WireIn, WireOut   uint64 // bytes with headers
	Late, Unreachable uint32 // of Answered, and of Unanswered
	Response          stats.Times
	// Points are the requests in each point of the last hour, of Snapshot.Point each. If there are
	// fewer than Snapshot.Points, the missing ones are zero, and come last.
	Points []uint32
}

// lately returns what a row has from a point on.
func (r *row) lately(from int) Lately {
	var all cell
	points := make([]uint32, len(r.cells))
	for i := range r.cells {
		points[i] = r.cells[i].Requests
		if i >= from {
			all.add(&r.cells[i])
		}
	}
	return Lately{Cell: all.Cell, WireIn: all.wireIn, WireOut: all.wireOut, Late: all.late, Unreachable: all.unreachable,
		Response: timesOf(&r.times, from, all.slowest), Points: points}
}

// latelyFrom returns the point with which the last minute begins.
func (w *window) latelyFrom() int { return max(0, w.at+1-int(latelySpan/pointLengths[w.step])) }

// latelySpan returns how long the last minute is as yet.
func (w *window) latelySpan() time.Duration {
	return min(latelySpan, time.Duration(w.last-w.start))
}

// kinds numbers the kinds of messages: protocol, name and direction. Several types of one name
// are one kind.
type kinds struct {
	list   []kind // 0: parts of replies, whose kind no packet shows, and what has no place
	byType map[*dissect.Type]uint8
	last   *dissect.Type // of the packet before, and its kind
	lastOf uint8
}

// kind is a kind of messages.
type kind struct {
	protocol, message string
	reply             bool
	asks              dissect.Asked // of all types of the kind
}

// newKinds numbers what protocols declare.
func newKinds(protos []*dissect.Proto) kinds {
	k := kinds{list: []kind{{protocol: otherName, message: otherName, reply: true}}, byType: map[*dissect.Type]uint8{}}
	for _, p := range protos {
		for _, t := range p.Types {
			k.byType[t] = k.add(kind{p.Name, t.Name, t.FromServer(), t.Asks})
		}
	}
	return k
}

// add returns the number of a kind, a new one if it has none.
func (k *kinds) add(x kind) uint8 {
	for i := range k.list {
		y := &k.list[i]
		if y.protocol == x.protocol && y.message == x.message && y.reply == x.reply {
			y.asks |= x.asks
			return uint8(i)
		}
	}
	if len(k.list) == maxKinds {
		return 0
	}
	k.list = append(k.list, x)
	return uint8(len(k.list) - 1)
}

// of returns the kind of a message, 0 if the type is nil or has no place.
func (k *kinds) of(t *dissect.Type) uint8 {
	if t != k.last {
		k.last, k.lastOf = t, k.byType[t]
	}
	return k.lastOf
}

// Times is the distribution of response times, in buckets of two forms: those with RoundLimits,
// and fine ones in which each limit is the same factor above the one before.
type Times struct {
	Count uint64
	Nanos uint64 // sum
	// Round counts the times up to each of RoundLimits and above the one before; the last one
	// counts those above all.
	Round [len(RoundLimits) + 1]uint64
	// Fine counts the times in (2^((i-1)/8), 2^(i/8)] seconds, for i from FirstFine on; the
	// last one those above, too. Below counts those up to FineZero seconds.
	Below uint64
	Fine  [fineBuckets]uint64
	// Last are the last times in the buckets of Round.
	Last [len(RoundLimits) + 1]Example
}

// Example is one of the times that were counted. The zero Example is none.
type Example struct {
	Frame uint64 // of the answer
	Nanos int64  // Unix time of it
	Took  int64  // nanoseconds
}

// RoundLimits are in seconds. Chosen: what a machine, a country and the world take to answer,
// and how long clients wait.
var RoundLimits = [...]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}

// The fine buckets: FineSchema is that of native histograms, with 2^FineSchema buckets for each
// doubling.
const (
	FineSchema  = 3
	perDoubling = 1 << FineSchema
	lowest      = -17 // 2^lowest seconds are 7.6 us: less than a system call
	highest     = 3   // 8 s: longer than lateWait
	FirstFine   = lowest*perDoubling + 1
	fineBuckets = (highest - lowest) * perDoubling
	// FineZero is up to where times are not distinguished.
	FineZero = 1.0 / (1 << -lowest)
)

// fineLimits are the lower limits of the buckets of a doubling, from 0.5 on.
var fineLimits = func() (x [perDoubling]float64) {
	for i := range x {
		x[i] = math.Exp2(float64(i)/perDoubling - 1)
	}
	return x
}()

// add adds a time, which is not negative.
func (t *Times) add(x Example) {
	t.Count++
	t.Nanos += uint64(x.Took)
	s := float64(x.Took) / 1e9
	i := 0
	for i < len(RoundLimits) && s > RoundLimits[i] {
		i++
	}
	t.Round[i]++
	t.Last[i] = x
	if s <= FineZero {
		t.Below++
		return
	}
	part, exp := math.Frexp(s)
	n := 0
	for n < perDoubling && part > fineLimits[n] {
		n++
	}
	t.Fine[min((exp-1)*perDoubling+n-FirstFine, fineBuckets-1)]++
}
