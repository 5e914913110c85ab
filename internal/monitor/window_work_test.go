package monitor

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/render/counters"
	"qsniff/internal/track"
	"qsniff/internal/track/stats"
)

// serverAt returns the end of the nth server of a scene with many.
func serverAt(n int) string {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(n >> 8), byte(n)}), 27015).String()
}

// exchangeWith feeds a request to a server and its answer.
func (x *scene) exchangeWith(server string) {
	x.packet(track.IsRequest, client, server, "A2S_INFO", 0)
	x.packet(track.IsReply, server, client, "S2A_INFO_SRC", 0)
}

// restBySum returns the row of the servers that have none in w, by adding up their rows.
func restBySum(m *Meter, w *Window) *stats.TimelineRow {
	listed := map[netip.AddrPort]bool{}
	for i := range w.Timeline.Servers {
		listed[w.Timeline.Servers[i].Server] = true
	}
	var rest row
	for i, s := range m.slots.list {
		if i == 0 || !listed[s.end.AddrPort()] {
			m.window.follow(&s.row).addTo(&rest)
		}
	}
	r := &stats.TimelineRow{IsRest: true}
	if len(rest.cells) == 0 {
		return nil
	}
	rest.copyTo(r)
	return r
}

// TestWindowRest: what servers without points of their own have together is what their rows add up
// to, however the window moved.
func TestWindowRest(t *testing.T) {
	x := newScene(t, Options{MaxServers: 150})
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		for range 40 {
			server := serverAt(r.IntN(1 + r.IntN(150)))
			if r.IntN(4) == 0 {
				x.packet(track.IsRequest, client, server, "A2S_PLAYER", 0) // nobody answers
				continue
			}
			x.packet(track.IsRequest, client, server, "A2S_INFO", 0)
			x.age += time.Duration(r.IntN(200)) * time.Millisecond
			x.packet(track.IsReply, server, client, "S2A_INFO_SRC", 0)
		}
		x.pass(time.Duration(r.IntN(40)) * time.Second)
		w := x.m.Window(10)
		last := &w.Timeline.Servers[len(w.Timeline.Servers)-1]
		want := restBySum(x.m, w)
		if want == nil {
			t.Fatalf("round %d: no other servers", round)
		}
		if diff := cmp.Diff(fmt.Sprintf("%v", want.Cells), fmt.Sprintf("%v", last.Cells)); diff != "" || !last.IsRest {
			t.Fatalf("round %d: want -, got +\n%s", round, diff)
		}
		if got, want := timesOf(&last.Times, 0, 1e6), timesOf(&want.Times, 0, 1e6); got != want {
			t.Fatalf("round %d: times\n got %+v\nwant %+v", round, got, want)
		}
	}
	if x.m.window.gone == 0 {
		t.Error("the window dropped no points")
	}
}

// TestWindowOrder: servers that nobody asks any more lose their place within the seconds in which
// rows follow.
func TestWindowOrder(t *testing.T) {
	x := newScene(t, Options{MaxServers: MostServers})
	const n = 2 * sweptRows
	for i := range n {
		for range 5 {
			x.exchangeWith(serverAt(i))
		}
	}
	x.pass(time.Hour + time.Minute)
	x.exchangeWith(serverAt(n - 1))
	for range n/sweptRows + 1 {
		x.pass(time.Second)
	}
	w := x.m.Window(10)
	if s := w.Stats.Servers; len(s) != 1 || s[0].Addr.String() != serverAt(n-1) || s[0].Requests != 1 || w.Stats.Requests != 1 {
		t.Errorf("got %+v", s)
	}
	for i := range n - 1 {
		if s := x.m.slots.list[1+i]; s.row.requests != 0 || len(s.row.cells) != 0 {
			t.Fatalf("server %d has %d requests, %d points", i, s.row.requests, len(s.row.cells))
		}
	}
}

// TestWaiting: how much is done between two batches does not grow with the number of servers.
// It counts what is read, as times depend on the machine.
func TestWaiting(t *testing.T) {
	x := newScene(t, Options{MaxServers: MostServers})
	for i := range MostServers {
		x.exchangeWith(serverAt(i))
		x.exchangeWith(serverAt(i))
	}
	const most = 200
	x.m.window.summed = 0
	w := x.m.Window(most)
	if n := len(w.Stats.Servers); n != most || w.Stats.Requests != 2*MostServers {
		t.Errorf("%d servers, %d requests", n, w.Stats.Requests)
	}
	if limit := most + windowServers + len(x.m.kinds.list) + 2; x.m.window.summed > limit {
		t.Errorf("the points of %d rows were read, more than %d", x.m.window.summed, limit)
	}
	done := make(chan *Snapshot)
	x.m.last.made = 0
	go func() {
		s, _ := x.m.Snapshot(t.Context())
		done <- s
	}()
	for !x.m.isAsked.Load() {
		time.Sleep(time.Millisecond)
	}
	for step := 1; ; step++ {
		x.m.Publish(func(*counters.Result) {})
		if x.m.making == nil {
			if want := (x.m.NumServers() + snapshotStep - 1) / snapshotStep; step != want {
				t.Errorf("%d servers took %d steps, want %d", x.m.NumServers(), step, want)
			}
			break
		}
		if n := len(x.m.making.Servers); n != step*snapshotStep {
			t.Fatalf("%d servers copied in %d steps", n, step)
		}
		if step == 3 { // whoever asks now gets the same one
			x.m.isAsked.Store(true)
		}
	}
	if s := <-done; len(s.Servers) != x.m.NumServers() || s.Servers[len(s.Servers)-1].Addr.String() != serverAt(MostServers-1) {
		t.Errorf("%d servers", len(s.Servers))
	}
	if x.m.isAsked.Load() {
		t.Error("another snapshot is wanted")
	}
}

// TestSnapshotMoves: all servers of a snapshot have the same points, and where batches come seldom
// it is made all the same.
func TestSnapshotMoves(t *testing.T) {
	x := newScene(t, Options{MaxServers: MostServers})
	now := int64(0)
	x.m.opt.Clock = func() int64 { return now }
	for i := range 3 * snapshotStep {
		x.exchangeWith(serverAt(i))
		x.exchangeWith(serverAt(i))
	}
	publish := func() { x.m.Publish(func(*counters.Result) {}) }
	x.m.isAsked.Store(true)
	publish()
	x.pass(time.Hour)
	publish()
	if x.m.making == nil || len(x.m.making.Servers) != snapshotStep {
		t.Fatalf("it did not begin anew: %+v", x.m.making)
	}
	now = int64(snapshotWait) + 1
	publish()
	if n := len(x.m.last.Servers); x.m.making != nil || n != 3*snapshotStep {
		t.Fatalf("%d servers after %v", n, snapshotWait)
	}
	if slices.ContainsFunc(x.m.last.Servers, func(s Server) bool { return s.Lately.Requests != 0 || len(s.Lately.Points) > x.m.last.Points }) {
		t.Error("servers have requests of an hour before")
	}
}
