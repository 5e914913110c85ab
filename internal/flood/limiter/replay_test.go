package limiter

import (
	"net/netip"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/hostset"
	"qsniff/internal/test/lrutest"
	"qsniff/internal/test/race"
	"qsniff/internal/track"
)

const (
	server1 = "198.51.100.17:27015"
	server2 = "198.51.100.17:27016"
	player  = "203.0.113.7:40001"
)

var a2s, ase, master = &dissect.Proto{Name: "a2s", Limited: true}, &dissect.Proto{Name: "ase"}, &dissect.Proto{Name: "master"}

func sighting(what track.PacketType, src, dst string, at time.Duration, key uint32) *track.Sighting {
	a, b := netip.MustParseAddrPort(src), netip.MustParseAddrPort(dst)
	s := &track.Sighting{What: what, Src: track.HostOf(a), SrcPort: a.Port(), Dst: track.HostOf(b), DstPort: b.Port(),
		Age: int64(at), Nanos: int64(at), Key: key, Proto: a2s}
	if key != 0 {
		s.Flags |= track.HasKey
	}
	if what == track.IsJunk {
		s.Proto = nil
	}
	return s
}

func of(proto *dissect.Proto, s *track.Sighting) *track.Sighting { s.Proto = proto; return s }

func host(i int) track.Host {
	return track.Host(netip.AddrFrom4([4]byte{byte(11 + i>>24), byte(i >> 16), byte(i >> 8), byte(i)}).As16())
}

// few is a model that refuses the third packet of a source and the sixth of all.
var few = Model{Name: "few", Per: 0.2, Global: 0.5, Window: 10}

// TestCounts: what counts as a packet that the limiter sees.
func TestCounts(t *testing.T) {
	ask := sighting(track.IsRequest, "203.0.113.99:1", server1, 0, 0)
	tcp := sighting(track.IsRequest, player, server1, 0, 0)
	tcp.Flags |= track.Connection
	tests := []struct {
		name string
		in   []*track.Sighting
		want uint64
	}{
		{"a request", []*track.Sighting{sighting(track.IsRequest, player, server1, 0, 0)}, 1},
		{"of the All-Seeing Eye", []*track.Sighting{of(ase, sighting(track.IsRequest, player, server1, 0, 0))}, 0},
		{"to a master server", []*track.Sighting{of(master, sighting(track.IsRequest, player, server1, 0, 0))}, 0},
		{"over TCP", []*track.Sighting{tcp}, 0},
		{"junk to who was asked", []*track.Sighting{ask, sighting(track.IsJunk, player, server1, 0, 0)}, 2},
		{"junk to who was not", []*track.Sighting{sighting(track.IsJunk, player, server1, 0, 0)}, 0},
		{"a reply to who was asked", []*track.Sighting{ask, sighting(track.IsReply, player, server1, 0, 0)}, 2},
		{"a challenge to who was asked", []*track.Sighting{ask, sighting(track.IsChallenge, player, server1, 0, 9)}, 2},
		{"its own replies", []*track.Sighting{ask, sighting(track.IsReply, server1, player, 0, 0)}, 1},
		{"the game", []*track.Sighting{ask, of(nil, sighting(track.IsOther, player, server1, 0, 0))}, 1},
	}
	for _, tt := range tests {
		r := New(Options{Model: few})
		for _, s := range tt.in {
			r.Sight(s)
		}
		var got uint64
		for _, s := range r.Summary().Servers {
			got += s.Requests
		}
		if got != tt.want {
			t.Errorf("%s: got %d packets, want %d", tt.name, got, tt.want)
		}
	}
}

// flood sends n requests to a server from addresses of their own.
func flood(r *Replay, n, first int, to string, at time.Duration) {
	s := sighting(track.IsRequest, player, to, at, 0)
	for i := range n {
		s.Src = host(first + i)
		r.Sight(s)
	}
}

// TestClients: a client that proves itself is told apart, whether that was before
// its packets were refused or after, and though a flood fills the table between.
func TestClients(t *testing.T) {
	const s = time.Second
	ask := func(r *Replay, at time.Duration) {
		r.Sight(sighting(track.IsRequest, player, server1, at, 0))
	}
	prove := func(r *Replay, at time.Duration) {
		r.Sight(sighting(track.IsChallenge, server1, player, at, 7))
		r.Sight(sighting(track.IsRequest, player, server1, at, 7))
	}
	tests := []struct {
		name string
		do   func(r *Replay)
		want Server // the counts of clients
	}{
		{"got through", func(r *Replay) { ask(r, 0); prove(r, 0) }, Server{OfProven: OfProven{Clients: 1, ClientRequests: 2}}},
		{"refused in part", func(r *Replay) { ask(r, 0); prove(r, 0); ask(r, s) },
			Server{OfProven: OfProven{Clients: 1, ClientsRefused: 1, ClientRequests: 3, ClientRefusals: 1}}},
		{"shut out, proven after it", func(r *Replay) { flood(r, 6, 0, server1, 0); ask(r, s); prove(r, s) },
			Server{OfProven: OfProven{Clients: 1, ClientsRefused: 1, ShutOut: 1, ClientRequests: 2, ClientRefusals: 2}}},
		{"refused, flooded, proven", func(r *Replay) {
			flood(r, 6, 0, server1, 0)
			ask(r, s)
			flood(r, maxSources/2, 100, server1, s)
			prove(r, s)
		},
			Server{OfProven: OfProven{Clients: 1, ClientsRefused: 1, ShutOut: 1, ClientRequests: 2, ClientRefusals: 2}}},
		{"proven, flooded", func(r *Replay) { prove(r, 0); flood(r, 2*maxSources, 100, server1, s); ask(r, 2*s) },
			Server{OfProven: OfProven{Clients: 1, ClientsRefused: 1, ClientRequests: 2, ClientRefusals: 1}}},
		{"never proven", func(r *Replay) { flood(r, 6, 0, server1, 0); ask(r, s) }, Server{}},
	}
	for _, tt := range tests {
		r := New(Options{Model: few})
		tt.do(r)
		all := r.Summary()
		got := all.Servers[0]
		if all.Clients != got.Clients || all.ClientsRefused != got.ClientsRefused || all.ShutOut != got.ShutOut {
			t.Errorf("%s: in all %d, %d, %d", tt.name, all.Clients, all.ClientsRefused, all.ShutOut)
		}
		if got.Clients != tt.want.Clients || got.ClientsRefused != tt.want.ClientsRefused || got.ShutOut != tt.want.ShutOut ||
			got.ClientRequests != tt.want.ClientRequests || got.ClientRefusals != tt.want.ClientRefusals {
			t.Errorf("%s:\ngot  %+v\nwant %+v", tt.name, got, tt.want)
		}
		if n := len(got.TopClients); n != int(tt.want.ClientsRefused) {
			t.Errorf("%s: %d clients are named", tt.name, n)
		}
	}
}

// TestServers: each has limits of its own, with the times of its refusals.
func TestServers(t *testing.T) {
	r := New(Options{Model: few})
	const s = time.Second
	flood(r, 6, 0, server1, 1*s) // the last is one too many
	flood(r, 2, 0, server1, 3*s)
	flood(r, 1, 0, server1, 3*s+s/2)
	flood(r, 4, 0, server2, 3*s)
	for range 3 {
		r.Sight(sighting(track.IsRequest, player, server2, 3*s, 0)) // the fifth, the sixth, its own third
	}
	got := r.Summary().Servers
	if len(got) != 2 || got[0].Addr.String() != server1 || got[1].Addr.String() != server2 {
		t.Fatalf("got %+v", got)
	}
	a, b := &got[0], &got[1]
	if a.Requests != 9 || a.ByAll != 3 || a.ByRate != 1 || a.First != int64(s) || a.Last != int64(3*s) || a.Seconds != 2 {
		t.Errorf("got %+v", a)
	}
	if s := r.Summary(); s.Clients+s.ClientsRefused+s.ShutOut != 0 {
		t.Errorf("clients: got %d, %d, %d, want none", s.Clients, s.ClientsRefused, s.ShutOut)
	}
	if b.Requests != 7 || b.ByAll != 1 || b.ByRate != 1 || b.Seconds != 1 {
		t.Errorf("got %+v", b)
	}
	if top := a.TopSources[0]; top.Addr != host(0).Addr() || top.Refused() != 2 || top.First != int64(3*s) || top.Last != int64(3*s+s/2) {
		t.Errorf("got %+v first", top)
	}
}

func TestOurs(t *testing.T) {
	ours, err := hostset.Parse(server2)
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{Model: few, Ours: ours})
	flood(r, 3, 0, server1, 0)
	flood(r, 4, 0, server2, 0)
	if got := r.Summary().Servers; len(got) != 1 || got[0].Requests != 4 {
		t.Errorf("got %+v", got)
	}
}

// TestHeavySourceInFlood: who sends all the time keeps its counter while forged
// sources fill the table, and what they push out is counted.
func TestHeavySourceInFlood(t *testing.T) {
	m, err := ParseModel("source,global=1e6")
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{Model: m})
	heavy := sighting(track.IsRequest, player, server1, 0, 0)
	for i := range 300_000 {
		heavy.Age, heavy.Nanos = int64(i)*50_000, int64(i)*50_000
		if i%25 == 0 { // 800 a second beside 20,000
			r.Sight(heavy)
		}
		flood(r, 1, i, server1, time.Duration(heavy.Age))
	}
	s := r.Summary()
	if top := s.Servers[0].TopSources[0]; top.Requests != 12_000 || top.ByRate != 12_000-90 {
		t.Errorf("got %+v", top)
	}
	if s.EvictedSources == 0 {
		t.Error("nothing is said about forged sources that made room")
	}
}

// TestOverrun: more forged sources than csgo tracks shut everybody out for a window.
func TestOverrun(t *testing.T) {
	m, err := ParseModel("csgo,global=1e6")
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{Model: m})
	flood(r, 50_001, 0, server1, 0)
	flood(r, 10, 60_000, server1, time.Second)
	flood(r, 10, 60_000, server1, 31*time.Second)
	flood(r, 10, 60_000, server1, 32*time.Second)
	got := r.Summary().Servers[0]
	if got.Overruns != 1 || got.ByAll != 20 || got.ByRate != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestManyServers: their table has its limit, and says so.
func TestManyServers(t *testing.T) {
	r := New(Options{Model: few})
	s := sighting(track.IsRequest, player, server1, 0, 0)
	for i := range 3 * maxServers {
		s.Dst = host(i)
		r.Sight(s)
	}
	if got := r.Summary(); len(got.Servers) != maxServers || got.EvictedServers != 2*maxServers {
		t.Errorf("got %d servers, %d evicted", len(got.Servers), got.EvictedServers)
	}
}

func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	r := New(Options{Model: Models[3]})
	ask := sighting(track.IsRequest, player, server1, 0, 0)
	give, echo := sighting(track.IsChallenge, server1, player, 0, 7), sighting(track.IsRequest, player, server1, 0, 7)
	i := 0
	if n := testing.AllocsPerRun(200_000, func() {
		i++
		ask.Src = host(i)
		ask.Age += 10_000
		r.Sight(ask)
		if i%10 == 0 {
			give.Dst, echo.Src, give.Key, echo.Key = ask.Src, ask.Src, uint32(i), uint32(i)
			give.Age, echo.Age = ask.Age, ask.Age
			r.Sight(give)
			r.Sight(echo)
		}
	}); n != 0 {
		t.Errorf("%v allocations for each packet", n)
	}
}

func BenchmarkSight(b *testing.B) {
	r := New(Options{Model: Models[0]})
	s := sighting(track.IsRequest, player, server1, 0, 0)
	for i := range b.N {
		s.Src = host(i)
		r.Sight(s)
	}
}

// TestChosenKeys: nobody can choose keys that collide in the tables.
func TestChosenKeys(t *testing.T) {
	lrutest.Check[sourceKey](t)
}
