package stats

import (
	"math"
	"net/netip"
	"runtime"
	"testing"

	"qsniff/internal/track"
)

// TestForgedDestinations: a million servers that never answer do not push out one
// that does, though its last message came before them all.
func TestForgedDestinations(t *testing.T) {
	c := New(Options{})
	for _, f := range []track.Fact{ask(1), answer(2, 1e6)} {
		c.AddFact(&f, nil, nil)
	}
	f := ask(3)
	stray := answer(3, -1)
	stray.Step = track.Stray
	for n := range uint32(500_000) {
		f.Server, stray.Server = numbered(n), numbered(n+1<<24)
		c.AddFact(&f, nil, nil)
		c.AddFact(&stray, nil, nil)
	}
	if n := c.servers.others.Len(); n != maxSilent {
		t.Errorf("%d silent servers are kept, want %d", n, maxSilent)
	}
	got := c.servers.answering.Peek(keyOf(server1))
	if got == nil || got.in.n != 1 || got.out.n != 1 {
		t.Fatalf("the server that answers: %+v", got)
	}
	if s := c.Summary(f.Nanos); s.ServersEvicted != 1_000_000-maxSilent || len(s.Servers) != defaultTop || s.ServersUnlisted != maxSilent+1-defaultTop {
		t.Errorf("%d forgotten, %d listed, %d not", s.ServersEvicted, len(s.Servers), s.ServersUnlisted)
	}
}

// TestForgedAnswers: a million servers that do answer cost no more.
func TestForgedAnswers(t *testing.T) {
	c := New(Options{})
	q, r := ask(1), answer(2, 1e6)
	for n := range uint32(1_000_000) {
		q.Server = numbered(n)
		r.Server = q.Server
		c.AddFact(&q, nil, nil)
		c.AddFact(&r, nil, nil)
	}
	if a, o := c.servers.answering.Len(), c.servers.others.Len(); a != maxAnswering || o != 0 {
		t.Errorf("%d answering and %d others are kept", a, o)
	}
	if c.servers.evicted != 1_000_000-maxAnswering {
		t.Errorf("%d forgotten", c.servers.evicted)
	}
}

// TestForgedSources: a million clients are counted within the stated error, in
// fixed memory, and one that is busy among them is found.
func TestForgedSources(t *testing.T) {
	const clients = 1_000_000
	before := heap()
	c := New(Options{})
	f := ask(1)
	var busy uint64
	for n := range uint32(clients) {
		f.Client = numbered(n)
		c.AddFact(&f, nil, nil)
		if n%200 == 0 {
			f.Client = client1
			c.AddFact(&f, nil, nil)
			busy++
		}
	}
	if used := heap() - before; used > 10<<20 {
		t.Errorf("%d bytes are in use", used)
	}
	s := c.Summary(f.Nanos)
	if off := math.Abs(float64(s.Distinct.Estimate)/(clients+1) - 1); off > s.Distinct.Error || s.Distinct.Error > 0.02 {
		t.Errorf("distinct clients:\ngot  %+v\nwant %d", s.Distinct, clients+1)
	}
	if len(s.Clients) != 1 || s.Clients[0].Addr != client1.Addr() {
		t.Fatalf("clients that stand out: %+v", s.Clients)
	}
	if got := s.Clients[0]; got.Requests < busy || got.Requests-got.Error > busy {
		t.Errorf("got  %d, at most %d too high\nwant %d", got.Requests, got.Error, busy)
	}
}

// TestDistinct: the estimate keeps to its error at every size, and is exact while
// all clients are known.
func TestDistinct(t *testing.T) {
	c := New(Options{Scale: 0.1})
	f := ask(1)
	next := 1
	for n := 1; n <= 2_000_000; n++ {
		f.Client = netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(n >> 16), byte(n), byte(n >> 8), 7}), 1)
		c.AddFact(&f, nil, nil)
		if n != next {
			continue
		}
		next += 1 + next/2
		got := c.estimateClients()
		if off := math.Abs(float64(got.Estimate) - float64(n)); off > got.Error*float64(n) {
			t.Errorf("got  %+v\nwant %d", got, n)
		}
		if want := n <= topClients/10; (got.Error == 0) != want {
			t.Errorf("%d clients: error %v", n, got.Error)
		}
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
