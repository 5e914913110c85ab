package stats

import (
	"cmp"
	"math"
	"math/bits"
	"net/netip"
	"slices"
	"time"

	"qsniff/internal/base/hostset"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// Timeline counts facts in intervals of time: by kind of request, by server and by client,
// as charts show them. It implements track.Listener. Where a capture has more servers,
// clients or kinds than there are rows, those with the fewest messages are added up in a row
// without a name.
type Timeline struct {
	ours  *hostset.Set
	clock timelineClock

	kinds   rows[kindKey]
	servers rows[endKey]
	clients rows[hostKey]
}

// kindKey is a question of a protocol, or a type of message that asks nothing.
type kindKey struct {
	questionKey
	name string
}

// Hash mixes the key.
func (k kindKey) Hash(seed uint64) uint64 {
	return lru.Mix(lru.MixBytes(lru.MixBytes(seed, []byte(k.proto.Name)), []byte(k.name)), uint64(k.asks))
}

// NewTimeline returns an empty timeline. interval is the length of the first intervals; 0:
// it is chosen. ours are the servers whose messages count; nil: all.
func NewTimeline(interval time.Duration, ours *hostset.Set) *Timeline {
	return &Timeline{ours: ours, clock: newTimelineClock(interval.Nanoseconds()),
		kinds: newRows[kindKey](timelineKinds), servers: newRows[endKey](timelineServers), clients: newRows[hostKey](timelineClients)}
}

// AddFact counts a message, or an answer that did not come.
func (t *Timeline) AddFact(f *track.Fact, _ []track.Found, _ *track.ServerInfo) {
	if !t.ours.Has(f.Server) {
		return
	}
	if n := t.clock.extend(f.Nanos); n > 1 { // intervals become longer
		t.kinds.merge(n)
		t.servers.merge(n)
		t.clients.merge(n)
	}
	at := t.clock.indexOf(f.Nanos)
	asked := at
	if f.Took > 0 && (f.Step == track.Answer || f.Step == track.Late) {
		asked = t.clock.indexOf(f.Nanos - f.Took)
	}
	kind := kindOf(f)
	k := t.kinds.find(kind)
	k.names.learn(f)
	k.count(f, at, asked)
	s := t.servers.find(keyOf(f.Server))
	s.count(f, at, asked)
	if s != &t.servers.rest {
		s.countPartner(kind, f)
	}
	if !f.Reply && f.Step != track.Silence {
		t.clients.find(f.Client.Addr().As16()).countRequest(at)
	}
}

// AddFinding does nothing: findings have lists of their own.
func (t *Timeline) AddFinding(uint64, int64, netip.AddrPort, netip.AddrPort, track.Found) {}

// kindOf returns what a message asks or answers. Notices, and what asks nothing, are of their
// type's name.
func kindOf(f *track.Fact) kindKey {
	k := kindKey{questionKey: questionKey{proto: f.Proto, asks: questionOf(f)}}
	if k.asks == 0 && f.Type != nil {
		k.name = f.Type.Name
	}
	return k
}

// TimelineSummary is what a Timeline has at the end of a run.
type TimelineSummary struct {
	Start    int64 // Unix nanoseconds of the first interval
	Interval time.Duration
	Points   int // how many intervals there are, at most TimelinePoints
	// Rows are by messages, most first; one without a name, of what had no row, is the last.
	Kinds, Servers, Clients []TimelineRow
}

// TimelineRow is one kind of request with its answers, one server or one client. Cells, Times
// and Requests may be shorter than Points: what follows is zero.
type TimelineRow struct {
	Protocol, Message string         // of a kind
	Server            netip.AddrPort // of a server
	Client            netip.Addr     // of a client
	IsRest            bool           // what had no row
	Cells             []Cell         // of a kind or a server
	Times             Buckets
	Requests          []uint32 // of a client
	// Kinds are what a server was asked, and Clients who asked most, counted since it has the row.
	Kinds   []ServerKind
	Clients []Client
}

// timelineClock places times in intervals, and makes these longer as the capture goes on.
type timelineClock struct {
	start    int64 // Unix nanoseconds of the first message
	interval int64
	isFixed  bool // the first interval was given
	isSet    bool // start is set
	step     int  // how often intervals became longer
}

func newTimelineClock(interval int64) timelineClock {
	if interval > 0 {
		return timelineClock{interval: interval, isFixed: true}
	}
	return timelineClock{interval: autoInterval}
}

// extend makes intervals longer until one of the first timelineCells has the time. It returns
// how many became one. Lengths are 1 and 5 times a power of ten ms, or what was given and its
// doublings.
func (c *timelineClock) extend(nanos int64) (n int64) {
	if !c.isSet {
		c.start, c.isSet = nanos, true
	}
	age := uint64(max(nanos, c.start)) - uint64(c.start) // does not overflow, whatever the two are
	for n = 1; age/uint64(c.interval) >= timelineCells; c.step++ {
		by := int64(2)
		if !c.isFixed && c.step%2 == 0 {
			by = 5
		}
		n *= by
		c.interval *= by
	}
	return n
}

// indexOf returns the interval of a time. Times before the first message count with it.
func (c *timelineClock) indexOf(nanos int64) int {
	return int((uint64(max(nanos, c.start)) - uint64(c.start)) / uint64(c.interval))
}

// Summary returns the rows so far, from first to last, the times of the first and of the last
// packet. The timeline must not be used afterwards.
func (t *Timeline) Summary(first, last int64) *TimelineSummary {
	c := &t.clock
	if n := c.extend(max(last, c.start)); n > 1 {
		t.kinds.merge(n)
		t.servers.merge(n)
		t.clients.merge(n)
	}
	first = min(first, c.start)
	lead := (uint64(c.start) - uint64(first) + uint64(c.interval) - 1) / uint64(c.interval) // intervals before the first message
	points := lead + uint64(c.indexOf(last)) + 1
	by := c.narrowBy(points)
	s := &TimelineSummary{Start: c.start - int64(lead)*c.interval, Interval: time.Duration(c.interval) * time.Duration(by), Points: int((points + by - 1) / by)}
	s.Kinds = list(&t.kinds, lead, by, func(k kindKey, r *row, to *TimelineRow) {
		to.Protocol, to.Message = k.proto.Name, r.names.of(k)
	})
	s.Servers = list(&t.servers, lead, by, func(k endKey, r *row, to *TimelineRow) {
		to.Server, to.Kinds, to.Clients = k.end(), r.partners.listKinds(), r.partners.listClients()
	})
	s.Clients = list(&t.clients, lead, by, func(k hostKey, _ *row, to *TimelineRow) { to.Client = k.addr() })
	return s
}

// narrowBy returns how many intervals become one so that at most TimelinePoints are left. Of
// chosen lengths it makes 1, 2 or 5 times a power of ten.
func (c *timelineClock) narrowBy(points uint64) uint64 {
	steps := [...]uint64{1, 2, 5}
	if !c.isFixed && c.step%2 == 1 { // they are 5 times one
		steps[2] = 4
	}
	for ten := uint64(1); ; ten *= 10 {
		for _, n := range steps {
			if (points+n*ten-1)/(n*ten) <= TimelinePoints {
				return n * ten
			}
		}
	}
}

// list returns rows by their totals, with lead empty cells before the others and by cells in
// one.
func list[K lru.Key](t *rows[K], lead, by uint64, name func(K, *row, *TimelineRow)) []TimelineRow {
	keys := make([]K, 0, len(t.byKey))
	for k := range t.byKey {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b K) int {
		return cmp.Or(cmp.Compare(t.byKey[b].total, t.byKey[a].total), cmp.Compare(a.Hash(0), b.Hash(0)))
	})
	var all []TimelineRow
	for _, k := range keys {
		r := t.byKey[k]
		x := r.narrow(lead, by)
		name(k, r, &x)
		all = append(all, x)
	}
	if r := &t.rest; r.total > 0 {
		x := r.narrow(lead, by)
		x.IsRest = true
		all = append(all, x)
	}
	return all
}

// narrow returns the cells of r with lead empty ones before them, of which each by are one.
func (r *row) narrow(lead, by uint64) (x TimelineRow) {
	x.Cells = narrow(r.cells, lead, by, (*Cell).Add)
	x.Times.addAll(&r.times, lead, by)
	x.Requests = narrow(r.requests, lead, by, addNumber)
	return x
}

// narrow returns cells with lead empty ones before them, of which each by are one.
func narrow[T any](cells []T, lead, by uint64, add func(to, from *T)) []T {
	var all []T
	for i := range cells {
		at := int((lead + uint64(i)) / by)
		all = extend(all, at)
		add(&all[at], &cells[i])
	}
	return all
}

// partners is what a server was asked and by whom, without time. The counts of kinds are exact;
// those of clients are of the Space-Saving algorithm, as in topList: a client without a counter
// takes over the smallest one, whose count is then too high by what it had.
type partners struct {
	kinds   []serverKind
	rest    Outcomes // of kinds for which there was no room
	clients []serverClient
}

type serverKind struct {
	key   kindKey
	names kindNames
	Outcomes
}

type serverClient struct {
	key         hostKey
	count, over uint64 // over of count may be of others
}

// Outcomes counts requests and what became of them.
type Outcomes struct{ Requests, Answered, Unanswered uint64 }

// ServerKind is what a server was asked. IsRest: kinds for which there was no room, together.
type ServerKind struct {
	Protocol, Message string
	IsRest            bool
	Outcomes
}

// of returns the name of a kind: that of its request, which its key has if it asks nothing.
func (n *kindNames) of(k kindKey) string { return cmp.Or(k.name, n.request, n.reply) }

// countPartner counts a fact of the server that has the row.
func (r *row) countPartner(kind kindKey, f *track.Fact) {
	if r.partners == nil {
		r.partners = &partners{kinds: make([]serverKind, 0, serverKinds), clients: make([]serverClient, 0, serverClients)}
	}
	r.partners.findKind(kind, f).count(f)
	if !f.Reply && f.Step != track.Silence {
		r.partners.countClient(f.Client.Addr().As16())
	}
}

// reset drops what was counted, and returns p.
func (p *partners) reset() *partners {
	if p != nil {
		*p = partners{kinds: p.kinds[:0], clients: p.clients[:0]}
	}
	return p
}

// findKind returns the counts of a kind.
func (p *partners) findKind(kind kindKey, f *track.Fact) *Outcomes {
	for i := range p.kinds {
		if x := &p.kinds[i]; x.key == kind {
			x.names.learn(f)
			return &x.Outcomes
		}
	}
	if len(p.kinds) == cap(p.kinds) {
		return &p.rest
	}
	x := serverKind{key: kind}
	x.names.learn(f)
	p.kinds = append(p.kinds, x)
	return &p.kinds[len(p.kinds)-1].Outcomes
}

func (o *Outcomes) count(f *track.Fact) {
	switch {
	case f.Step == track.Silence:
		o.Unanswered++
	case !f.Reply:
		o.Requests++
	case f.Step == track.Answer:
		o.Answered++
	case f.Step == track.Late:
		o.Answered++
		if o.Unanswered > 0 { // its silence was counted before
			o.Unanswered--
		}
	}
}

func (p *partners) countClient(k hostKey) {
	least := 0
	for i := range p.clients {
		x := &p.clients[i]
		if x.key == k {
			x.count++
			return
		}
		if x.count < p.clients[least].count {
			least = i
		}
	}
	if len(p.clients) < cap(p.clients) {
		p.clients = append(p.clients, serverClient{key: k, count: 1})
		return
	}
	x := &p.clients[least]
	*x = serverClient{key: k, count: x.count + 1, over: x.count}
}

// listKinds returns the kinds by requests, most first, and the rest last.
func (p *partners) listKinds() (all []ServerKind) {
	if p == nil {
		return nil
	}
	for i := range p.kinds {
		x := &p.kinds[i]
		all = append(all, ServerKind{Protocol: x.key.proto.Name, Message: x.names.of(x.key), Outcomes: x.Outcomes})
	}
	slices.SortStableFunc(all, func(a, b ServerKind) int { return cmp.Compare(b.Requests, a.Requests) })
	if p.rest != (Outcomes{}) {
		all = append(all, ServerKind{IsRest: true, Outcomes: p.rest})
	}
	return all
}

// listClients returns the clients that stand out: those of whose count at most half may be of
// others.
func (p *partners) listClients() (all []Client) {
	if p == nil {
		return nil
	}
	for _, x := range p.clients {
		if x.count > 2*x.over {
			all = append(all, Client{Addr: x.key.addr(), Requests: x.count, Error: x.over})
		}
	}
	slices.SortFunc(all, func(a, b Client) int {
		return cmp.Or(cmp.Compare(b.Requests-b.Error, a.Requests-a.Error), cmp.Compare(b.Requests, a.Requests), a.Addr.Compare(b.Addr))
	})
	return all
}

// Buckets counts response times by bucket, in the interval of the request. It has the buckets
// from the first to the last that was counted in, as the times of one server lie close together,
// and mostly 16 bits for each count.
type Buckets struct {
	first, width int
	low          []uint16 // width of them for each interval
	high         []uint16 // the upper bits of counts, as long as low; nil: they are zero
}

// bucketStep is how many buckets are added at a time, so that a row is seldom copied.
const bucketStep = 4

// Len returns how many intervals there are. What follows is zero.
func (t *Buckets) Len() int {
	if t.width == 0 {
		return 0
	}
	return len(t.low) / t.width
}

// Range returns the first bucket, and the one after the last.
func (t *Buckets) Range() (first, end int) { return t.first, t.first + t.width }

// At returns the count of a bucket in the range, in an interval.
func (t *Buckets) At(interval, bucket int) uint32 {
	i := interval*t.width + bucket - t.first
	n := uint32(t.low[i])
	if t.high != nil {
		n |= uint32(t.high[i]) << 16
	}
	return n
}

// set sets the count of a bucket in an interval, both of which are there.
func (t *Buckets) set(interval, bucket int, n uint32) {
	i := interval*t.width + bucket - t.first
	if n > 0xffff && t.high == nil {
		t.high = make([]uint16, len(t.low), cap(t.low))
	}
	if t.low[i] = uint16(n); t.high != nil {
		t.high[i] = uint16(n >> 16)
	}
}

// Add counts a time of a bucket in an interval of at most TimelinePoints.
func (t *Buckets) Add(interval, bucket int) { t.add(interval, bucket, 1) }

// add counts n times of a bucket.
func (t *Buckets) add(interval, bucket int, n uint32) {
	if bucket < t.first || bucket >= t.first+t.width {
		t.widen(bucket)
	}
	t.resize((interval + 1) * t.width)
	t.set(interval, bucket, t.At(interval, bucket)+n)
}

// resize makes room for at least n counts.
func (t *Buckets) resize(n int) {
	t.low = extendTo(t.low, n, timelineCells*t.width)
	if t.high != nil {
		t.high = extendTo(t.high, n, timelineCells*t.width)
	}
}

// widen makes room for a bucket.
func (t *Buckets) widen(bucket int) {
	first := bucket &^ (bucketStep - 1)
	end := first + bucketStep
	if t.width > 0 {
		first, end = min(first, t.first), max(end, t.first+t.width)
	}
	wide := Buckets{first: first, width: end - first}
	wide.resize(t.Len() * wide.width)
	for i := range t.Len() {
		for b := t.first; b < t.first+t.width; b++ {
			wide.set(i, b, t.At(i, b))
		}
	}
	*t = wide
}

// AddAll adds what o has.
func (t *Buckets) AddAll(o *Buckets) { t.addAll(o, 0, 1) }

// addAll adds what o has: its intervals begin lead of its own later, and by of them become one.
func (t *Buckets) addAll(o *Buckets, lead, by uint64) {
	for i := range o.Len() {
		for b := o.first; b < o.first+o.width; b++ {
			if n := o.At(i, b); n > 0 {
				t.add(int((lead+uint64(i))/by), b, n)
			}
		}
	}
}

// SubtractAll takes out what o has, all of which was added before.
func (t *Buckets) SubtractAll(o *Buckets) {
	for i := range o.Len() {
		for b := o.first; b < o.first+o.width; b++ {
			if n := o.At(i, b); n > 0 {
				t.set(i, b, t.At(i, b)-n)
			}
		}
	}
}

// Drop drops the first n intervals.
func (t *Buckets) Drop(n int) {
	n = min(n*t.width, len(t.low))
	t.low = t.low[:copy(t.low, t.low[n:])]
	if t.high != nil {
		t.high = t.high[:copy(t.high, t.high[n:])]
	}
}

// Merge makes one interval of each n.
func (t *Buckets) Merge(n int64) {
	for i := range t.Len() {
		to := int(int64(i) / n)
		for b := t.first; b < t.first+t.width; b++ {
			sum := t.At(i, b)
			if int64(i)%n != 0 {
				sum += t.At(to, b)
			}
			t.set(to, b, sum)
		}
	}
	left := int((int64(t.Len())+n-1)/n) * t.width
	if t.low = t.low[:left]; t.high != nil {
		t.high = t.high[:left]
	}
}

// reset drops all counts.
func (t *Buckets) reset() { *t = Buckets{} }

// Cell is what came in one interval. Answered counts in the interval of the request,
// Unanswered in that of the last request.
type Cell struct {
	Requests, Answered, Unanswered, Replies uint32
	Fates[uint32]
	BytesIn, BytesOut uint64
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
	c.Fates.Add(&o.Fates)
	c.BytesIn += o.BytesIn
	c.BytesOut += o.BytesOut
}

// Subtract takes out what another cell has, which was added before.
func (c *Cell) Subtract(o *Cell) {
	c.Requests -= o.Requests
	c.Answered -= o.Answered
	c.Unanswered -= o.Unanswered
	c.Replies -= o.Replies
	c.Fates.Subtract(&o.Fates)
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
		c := r.cell(at)
		c.Unanswered++
		c.Fates.add(f)
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
	c = r.cell(asked)
	c.Fates.add(f)
	if f.Step != track.Answer && f.Step != track.Late {
		return
	}
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

const (
	// limit: TimelinePoints is how many intervals a timeline has at most, in lengths of one, two or five
	// times a power of ten. Chosen: a chart has two to five pixels for each.
	TimelinePoints = 240
	// limit: timelineCells is how many are kept while the length of the capture is unknown: enough to
	// choose from the three lengths in the end, with a hundred points or more.
	timelineCells = 500
	// limit: timelineKinds, timelineServers and timelineClients are how many rows a timeline has of each;
	// what has no row is in one together. A kind or a server takes 16 KiB, and 10 to 60 KiB more if it
	// answers; a client takes 2 KiB. Chosen: more than a chart can show, and half a megabyte of a report.
	timelineKinds   = 24
	timelineServers = 64
	timelineClients = 128
	// limit: serverKinds and serverClients are how many kinds of request and how many clients are counted
	// of each server with a row, 1.4 KiB together. Chosen: protocols have fewer requests, and a table that
	// is read shows ten.
	serverKinds   = 8
	serverClients = 16
	// limit: timelineWaiting is how many servers, clients and kinds without a row are counted, 64 KiB
	// each. One that is evicted begins anew: only what comes often gets a row.
	timelineWaiting = 1024
	// limit: TimelineBuckets is how many response times are distinguished, two for each doubling from
	// firstBucket, in nanoseconds, on: the last one begins at 4 s, after the wait for an answer.
	TimelineBuckets = 30
	firstBucket     = 250_000
)
