package stats

import (
	"net/netip"
	"testing"
	"time"

	"qsniff/internal/test/race"
	"qsniff/internal/track"
)

// sums returns what all rows have in all.
func sums(rows []TimelineRow) (all Cell, times uint32) {
	for i := range rows {
		for j := range rows[i].Cells {
			all.Add(&rows[i].Cells[j])
		}
		for _, n := range rows[i].Requests {
			all.Requests += n
		}
		first, end := rows[i].Times.Range()
		for j := range rows[i].Times.Len() {
			for b := first; b < end; b++ {
				times += rows[i].Times.At(j, b)
			}
		}
	}
	return all, times
}

// at returns a fact at a time, of a client of its own.
func at(f track.Fact, when time.Duration, client int) track.Fact {
	f.Nanos = start + when.Nanoseconds()
	f.Client = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(client >> 16), byte(client >> 8), byte(client)}), 4000)
	return f
}

// TestTimeline: an answer and its time count in the interval of the request, an unanswered
// request takes back nothing, and what precedes the first message are empty intervals.
func TestTimeline(t *testing.T) {
	line := NewTimeline(time.Second, nil)
	for _, f := range []track.Fact{at(ask(1), 0, 1), at(ask(2), 1900*time.Millisecond, 2), at(answer(3, 200e6), 2100*time.Millisecond, 2), at(silence(1), 3*time.Second, 1)} {
		line.AddFact(&f, nil, nil)
	}
	s := line.Summary(start-2e9, start+4e9)
	if s.Start != start-2e9 || s.Interval != time.Second || s.Points != 7 {
		t.Fatalf("from %d, %d points of %v", s.Start-start, s.Points, s.Interval)
	}
	if len(s.Kinds) != 1 || s.Kinds[0].Message != "ASK" || len(s.Clients) != 2 || len(s.Servers) != 1 {
		t.Fatalf("%+v", s)
	}
	c := s.Kinds[0].Cells
	if c[2].Requests != 1 || c[3].Requests != 1 || c[3].Answered != 1 || c[4].Replies != 1 || c[5].Unanswered != 1 {
		t.Errorf("%+v", c)
	}
	if _, times := sums(s.Servers); times != 1 || s.Servers[0].Times.At(3, BucketOf(200e6)) != 1 {
		t.Errorf("%d times, %+v", times, s.Servers[0].Times)
	}
}

// TestTimelineBounds: however long a capture is and whoever sends in it, the rows and the
// points are bounded, and nothing is lost.
func TestTimelineBounds(t *testing.T) {
	const facts = 50_000
	line := NewTimeline(0, nil)
	busy := 0
	for i := range facts {
		f := at(ask(uint64(i+1)), time.Duration(i)*time.Duration(i)*time.Microsecond, i)
		f.Server = netip.AddrPortFrom(f.Client.Addr(), 27015)
		if i > facts/2 && i%2 == 0 { // it comes late, and more often than all others
			f.Client, f.Server = client1, server1
			busy++
		}
		line.AddFact(&f, nil, nil)
	}
	s := line.Summary(start, start+facts*facts*1000)
	if s.Points > TimelinePoints || s.Points < 90 {
		t.Errorf("%d points", s.Points)
	}
	if s.Interval != 20*time.Second {
		t.Errorf("intervals of %v", s.Interval)
	}
	most := map[string]int{"kinds": timelineKinds, "servers": timelineServers, "clients": timelineClients}
	for name, rows := range map[string][]TimelineRow{"kinds": s.Kinds, "servers": s.Servers, "clients": s.Clients} {
		if len(rows) > most[name]+1 {
			t.Errorf("%d %s", len(rows), name)
		}
		if all, _ := sums(rows); all.Requests != facts {
			t.Errorf("%s: %d requests, want %d", name, all.Requests, facts)
		}
		for i := range rows {
			if max(len(rows[i].Cells), len(rows[i].Requests)) > s.Points {
				t.Errorf("%s: %d cells", name, len(rows[i].Cells))
			}
		}
	}
	if all, _ := sums(s.Servers[:1]); s.Servers[0].Server != server1 || int(all.Requests) < busy*9/10 {
		t.Errorf("%v has %d of %d requests", s.Servers[0].Server, all.Requests, busy)
	}
}

// TestTimelineAllocations: nothing is allocated once the rows are there.
func TestTimelineAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	line := NewTimeline(0, nil)
	i := 0
	add := func() {
		i++
		f := at(ask(uint64(i)), time.Duration(i)*time.Millisecond, i)
		line.AddFact(&f, nil, nil)
	}
	for range 100_000 {
		add()
	}
	if n := testing.AllocsPerRun(20_000, add); n != 0 {
		t.Errorf("%v allocations for a message", n)
	}
}

// TestBuckets: every time is in the bucket that begins at it or before.
func TestBuckets(t *testing.T) {
	for i := range TimelineBuckets {
		from := BucketFrom(i)
		if got := BucketOf(from); got != i {
			t.Errorf("%d ns are in bucket %d, want %d", from, got, i)
		}
		if got := BucketOf(from - 1); i > 0 && got != i-1 {
			t.Errorf("%d ns are in bucket %d, want %d", from-1, got, i-1)
		}
	}
	if got := BucketOf(1 << 62); got != TimelineBuckets-1 {
		t.Errorf("a century is in bucket %d", got)
	}
}

// TestBucketsOfTimes: buckets that come in any order, intervals that become one and rows that are
// added up keep each time where it belongs.
func TestBucketsOfTimes(t *testing.T) {
	var a, all Buckets
	var want [4][TimelineBuckets]uint32
	for i, bucket := range []int{7, 3, 29, 7, 0, 12, 3, 29} {
		n := uint32(i+1) * 20_000 // some take more than 16 bits, some only together
		a.add(i, bucket, n)
		want[i/2][bucket] += n
	}
	all.addAll(&a, 0, 2)
	a.Merge(2)
	for name, got := range map[string]*Buckets{"merged": &a, "narrowed": &all} {
		if got.Len() != 4 {
			t.Fatalf("%s: %d intervals", name, got.Len())
		}
		for i := range want {
			var h [TimelineBuckets]uint32
			first, end := got.Range()
			for b := first; b < min(end, len(h)); b++ {
				h[b] = got.At(i, b)
			}
			if h != want[i] {
				t.Errorf("%s: interval %d is %v, want %v", name, i, h, want[i])
			}
		}
	}
}

// TestPartners: what a server was asked and by whom is counted, however many others ask and
// whatever else.
func TestPartners(t *testing.T) {
	line := NewTimeline(time.Second, nil)
	other := ask(1)
	for i := range 300 {
		for _, f := range []track.Fact{at(ask(1), time.Second, 1), at(answer(2, 1e6), time.Second, 1), at(other, time.Second, i+2)} {
			if i%3 == 2 && f.Reply {
				f = at(silence(1), time.Second, 1)
			}
			line.AddFact(&f, nil, nil)
		}
	}
	s := line.Summary(start, start+2e9).Servers[0]
	if want := (Outcomes{600, 200, 100}); len(s.Kinds) != 1 || s.Kinds[0].Message != "ASK" || s.Kinds[0].Outcomes != want {
		t.Errorf("kinds %+v", s.Kinds)
	}
	if len(s.Clients) != 1 || s.Clients[0].Addr.String() != "10.0.0.1" || s.Clients[0].Requests-s.Clients[0].Error > 300 || s.Clients[0].Requests < 300 {
		t.Errorf("clients %+v", s.Clients)
	}
}

// TestRowsCountAnew: a key that lost its row has to come as often as any other before it has one again.
func TestRowsCountAnew(t *testing.T) {
	rows := newRows[hostKey](1)
	keys := [2]hostKey{}
	for i, s := range []string{"10.0.0.1", "10.0.0.2"} {
		keys[i].set(netip.AddrPortFrom(netip.MustParseAddr(s), 4))
	}
	rows.find(keys[0]).total = 10
	hasRow := func(k hostKey, times int) (has bool) {
		for range times {
			has = rows.find(k) != &rows.rest
		}
		return has
	}
	for i, x := range []struct {
		key, times int
		want       bool
	}{{1, 20, false}, {1, 1, true}, {0, 42, false}, {0, 1, true}, {1, 70, false}} {
		if got := hasRow(keys[x.key], x.times); got != x.want {
			t.Errorf("step %d\ngot  %t\nwant %t", i, got, x.want)
		}
	}
}
