package stats

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"qsniff/internal/base/lru"
)

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
