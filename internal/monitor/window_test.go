package monitor

import (
	"net/netip"
	"testing"
	"time"

	"qsniff/internal/render/counters"
	"qsniff/internal/test/race"
	"qsniff/internal/track"
	"qsniff/internal/track/stats"
)

// exchange feeds a request, and its answer after 20 ms.
func (x *scene) exchange() {
	x.ask("A2S_INFO")
	x.age += 20 * time.Millisecond
	x.answer("S2A_INFO_SRC")
}

// sumOf adds up the points of the first row.
func sumOf(rows []stats.TimelineRow) (all stats.Cell, points int) {
	if len(rows) == 0 {
		return all, 0
	}
	for i := range rows[0].Cells {
		all.Add(&rows[0].Cells[i])
	}
	return all, len(rows[0].Cells)
}

// TestWindow: points become longer until the window is an hour, then the oldest go; nothing else is
// lost, and rows, totals and servers agree.
func TestWindow(t *testing.T) {
	x := newScene(t, oneNamed)
	const every = 10 * time.Second
	for n := 1; n <= 2*3600/10; n++ {
		x.exchange()
		x.pass(every - 20*time.Millisecond)
		w := x.m.Window(10)
		l := &w.Timeline
		passed := time.Duration(n) * every
		wantInterval := pointLengths[2]
		switch {
		case passed < 120*time.Second:
			wantInterval = pointLengths[0]
		case passed < 600*time.Second:
			wantInterval = pointLengths[1]
		}
		if l.Interval != wantInterval || l.Points > windowPoints || l.Points != int(w.Last-w.First)/int(l.Interval)+1 {
			t.Fatalf("after %v: %d points of %v", passed, l.Points, l.Interval)
		}
		want := uint64(n - 3*max(0, n/3-windowPoints+1)) // three in each point that is dropped
		if w.Stats.Requests != want || w.Stats.Answered != want || w.Stats.Response.Count != want || w.Stats.Unanswered != 0 {
			t.Fatalf("after %v: %d requests, %d answered, %d times, want %d", passed, w.Stats.Requests, w.Stats.Answered, w.Stats.Response.Count, want)
		}
		kinds, points := sumOf(l.Kinds)
		servers, _ := sumOf(l.Servers)
		if uint64(kinds.Requests) != want || kinds != servers || points > l.Points || kinds.BytesIn != want*25 {
			t.Fatalf("after %v: kinds %+v, servers %+v", passed, kinds, servers)
		}
		if s := w.Stats.Servers; len(s) != 1 || s[0].Requests != want || s[0].WireOut != want*53 {
			t.Fatalf("after %v: %+v", passed, s)
		}
	}
	if r := x.m.Window(10).Stats.Response; r.P50 < 16*time.Millisecond || r.P50 > 24*time.Millisecond || r.Max != 20*time.Millisecond || r.P99 > r.Max {
		t.Errorf("response times %+v", r)
	}
	x.pass(3 * time.Hour)
	if w := x.m.Window(10); w.Stats.Requests != 0 || w.Stats.Response.Count != 0 || w.Timeline.Points != windowPoints {
		t.Errorf("after a pause: %+v", w.Stats)
	}
	x.exchange()
	if w := x.m.Window(10); w.Stats.Requests != 1 || w.Stats.Answered != 1 {
		t.Errorf("after the pause: %+v", w.Stats)
	}
}

// TestWindowOutcome: what nobody answers counts when it was asked.
func TestWindowOutcome(t *testing.T) {
	x := newScene(t, oneNamed)
	x.exchange()
	x.pass(5 * time.Second)
	x.ask("A2S_INFO")
	x.pass(10 * time.Second)
	cells := x.m.Window(10).Timeline.Servers[0].Cells
	if len(cells) <= 5 || cells[5].Requests != 1 || cells[5].Unanswered != 1 || cells[0].Answered != 1 {
		t.Errorf("got %+v", cells)
	}
}

// TestWindowServers: beyond those that there is room for, servers are counted together.
func TestWindowServers(t *testing.T) {
	x := newScene(t, Options{MaxServers: 100})
	for i := range 100 {
		server := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}), 27015).String()
		for range i + 1 {
			x.packet(track.IsRequest, client, server, "A2S_INFO", 0)
			x.packet(track.IsReply, server, client, "S2A_INFO_SRC", 0)
		}
	}
	x.m.Read(12345)
	w := x.m.Window(80)
	if len(w.Stats.Servers) != 80 || w.Stats.ServersUnlisted != 19 || // the first exchange of each is of the others
		len(w.Timeline.Servers) != windowServers+1 || !w.Timeline.Servers[windowServers].IsRest {
		t.Errorf("%d servers, %d not, %d rows", len(w.Stats.Servers), w.Stats.ServersUnlisted, len(w.Timeline.Servers))
	}
	if w.Packets != 12345 {
		t.Errorf("%d packets", w.Packets)
	}
	sum := uint32(0)
	for i := range w.Timeline.Servers {
		for _, c := range w.Timeline.Servers[i].Cells {
			sum += c.Requests
		}
	}
	if sum != 5050 || w.Stats.Requests != 5050 {
		t.Errorf("%d requests in rows, %d in all", sum, w.Stats.Requests)
	}
}

// TestWindowAllocations: neither packets nor the hours allocate anything.
func TestWindowAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	x := newScene(t, oneNamed)
	ask := x.sighting(track.IsRequest, netip.MustParseAddrPort(client), netip.MustParseAddrPort(named), "A2S_INFO")
	answer := x.sighting(track.IsReply, netip.MustParseAddrPort(named), netip.MustParseAddrPort(client), "S2A_INFO_SRC")
	run := func() {
		ask.Age += int64(7 * time.Second)
		answer.Age = ask.Age + 1
		x.m.Sight(ask)
		x.m.Sight(answer)
	}
	for range 1000 { // until the window is an hour
		run()
	}
	if n := testing.AllocsPerRun(2000, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkFull are what the goroutine of the pipeline makes for readers between two batches, with as
// many servers as there may be, each busy for an hour.
func BenchmarkFull(b *testing.B) {
	x := newScene(b, Options{MaxServers: MostServers})
	for range windowPoints {
		for i := range MostServers {
			server := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(i >> 8), byte(i)}), 27015).String()
			x.packet(track.IsRequest, client, server, "A2S_INFO", 0)
			x.packet(track.IsReply, server, client, "S2A_INFO_SRC", 0)
		}
		x.pass(30 * time.Second)
	}
	b.Run("Window", func(b *testing.B) {
		for range b.N {
			x.m.Window(500)
		}
	})
	b.Run("Snapshot", func(b *testing.B) {
		for range b.N {
			x.m.take(new(counters.Result))
		}
	})
}
