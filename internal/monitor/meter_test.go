package monitor

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/internal/render/counters"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/race"
	"qsniff/internal/track"
)

const (
	named   = "198.51.100.7:27015"
	unnamed = "198.51.100.8:27015"
	client  = "203.0.113.9:40000"
)

// scene feeds a meter.
type scene struct {
	t     testing.TB
	m     *Meter
	proto *dissect.Proto
	age   time.Duration
	frame uint64
}

func newScene(t testing.TB, opt Options) *scene {
	t.Helper()
	reg := protos.Registry(t)
	opt.Scale = max(opt.Scale, 1./64)
	opt.Clock = func() int64 { return 0 }
	x := &scene{t: t, m: New(reg.Protos(), opt), age: time.Hour}
	for _, p := range reg.Protos() {
		if p.Name == "a2s" {
			x.proto = p
		}
	}
	return x
}

// typ returns the type of a message.
func (x *scene) typ(name string) *dissect.Type {
	x.t.Helper()
	for _, t := range x.proto.Types {
		if t.Name == name {
			return t
		}
	}
	x.t.Fatalf("no message %s", name)
	return nil
}

// packet feeds a packet of a message.
func (x *scene) packet(what track.PacketType, from, to, message string, flags track.SightFlags) *track.Sighting {
	x.t.Helper()
	s := x.sighting(what, netip.MustParseAddrPort(from), netip.MustParseAddrPort(to), message)
	s.Flags = flags
	x.m.Sight(s)
	return s
}

func (x *scene) sighting(what track.PacketType, from, to netip.AddrPort, message string) *track.Sighting {
	x.frame++
	s := &track.Sighting{Frame: x.frame, Age: int64(x.age), Nanos: int64(x.age), Src: track.HostOf(from), SrcPort: from.Port(),
		Dst: track.HostOf(to), DstPort: to.Port(), What: what, Bytes: 25, Wire: 53}
	if message != "" {
		s.Proto, s.Type = x.proto, x.typ(message)
		s.Asks = s.Type.Asks
	}
	s.FillHashes(7)
	return s
}

func (x *scene) ask(message string)    { x.packet(track.IsRequest, client, named, message, 0) }
func (x *scene) answer(message string) { x.packet(track.IsReply, named, client, message, 0) }
func (x *scene) pass(d time.Duration) {
	x.age += d
	x.m.Tick(int64(x.age), int64(x.age))
}

// snapshot returns what was counted.
func (x *scene) snapshot() *Snapshot { return x.m.take(new(counters.Result)) }

// outcomes returns what became of the requests of a kind at the named server.
func (x *scene) outcomes(message string) map[string]uint64 {
	got := map[string]uint64{}
	for _, s := range x.snapshot().Servers[0].Messages {
		for o, n := range s.Outcomes {
			if s.Name == message && n > 0 {
				got[Outcome(o).String()] = n
			}
		}
	}
	return got
}

var oneNamed = Options{Servers: []netip.AddrPort{netip.MustParseAddrPort(named)}, MaxServers: 2}

func TestOutcomes(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(x *scene)
		want map[string]uint64
	}{
		{"waits", func(x *scene) { x.ask("A2S_INFO") }, map[string]uint64{}},
		{"answered", func(x *scene) { x.ask("A2S_INFO"); x.pass(time.Millisecond); x.answer("S2A_INFO_SRC") }, map[string]uint64{"answered": 1}},
		{"answered at 3 s", func(x *scene) { x.ask("A2S_INFO"); x.pass(3 * time.Second); x.answer("S2A_INFO_SRC") }, map[string]uint64{"answered": 1}},
		{"late", func(x *scene) { x.ask("A2S_INFO"); x.pass(3*time.Second + time.Microsecond); x.answer("S2A_INFO_SRC") }, map[string]uint64{"late": 1}},
		{"unanswered", func(x *scene) { x.ask("A2S_INFO"); x.pass(6 * time.Second) }, map[string]uint64{"unanswered": 1}},
		{"too late", func(x *scene) { x.ask("A2S_INFO"); x.pass(6 * time.Second); x.answer("S2A_INFO_SRC") }, map[string]uint64{"unanswered": 1}},
		{"answer to something else", func(x *scene) { x.ask("A2S_INFO"); x.answer("S2A_RULES"); x.pass(6 * time.Second) }, map[string]uint64{"unanswered": 1}},
		{"challenged", func(x *scene) {
			x.ask("A2S_INFO")
			x.packet(track.IsChallenge, named, client, "S2C_CHALLENGE", 0)
			x.packet(track.IsRequest, client, named, "A2S_INFO", track.HasKey)
			x.answer("S2A_INFO_SRC")
		}, map[string]uint64{"challenged": 1, "answered": 1}},
		{"unreachable", func(x *scene) {
			x.ask("A2S_INFO")
			x.packet(track.IsUnreachable, client, named, "", 0) // quotes what the client sent
		}, map[string]uint64{"unreachable": 1}},
		{"several at once", func(x *scene) {
			for range 3 {
				x.ask("A2S_INFO")
			}
			x.answer("S2A_INFO_SRC")
			x.pass(6 * time.Second)
		}, map[string]uint64{"answered": 1, "unanswered": 2}},
		{"asked on and on", func(x *scene) {
			for range 8 {
				x.ask("A2S_INFO")
				x.pass(time.Second)
			}
			x.pass(6 * time.Second)
		}, map[string]uint64{"unanswered": 8}},
		{"another client's answer", func(x *scene) {
			x.ask("A2S_INFO")
			x.packet(track.IsReply, named, "203.0.113.9:40001", "S2A_INFO_SRC", 0)
		}, map[string]uint64{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := newScene(t, oneNamed)
			tc.do(x)
			if diff := cmp.Diff(tc.want, x.outcomes("A2S_INFO")); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
		})
	}
}

// TestParts: the parts of a reply are one message, and all their bytes count.
func TestParts(t *testing.T) {
	x := newScene(t, oneNamed)
	x.ask("A2S_RULES")
	x.packet(track.IsPart, named, client, "", track.First)
	x.packet(track.IsPart, named, client, "", 0)
	s := x.snapshot().Servers[0]
	if m := s.Messages[len(s.Messages)-1]; len(s.Messages) != 2 || s.Messages[0].Protocol != "other" || !s.Messages[0].IsReply || m.Name != "A2S_RULES" {
		t.Errorf("got %+v", s.Messages)
	}
	if n := len(x.m.kinds.list); n >= maxKinds {
		t.Errorf("%d kinds of messages, and room for %d", n, maxKinds)
	}
	if diff := cmp.Diff(map[string]uint64{"answered": 1}, x.outcomes("A2S_RULES")); diff != "" || s.Out != (Traffic{2, 106}) || s.Unproven != 106 || s.Unasked != 0 {
		t.Errorf("want -, got +\n%s%+v", diff, s)
	}
}

// TestUnproven: bytes that a forged address could have had sent to its owner.
func TestUnproven(t *testing.T) {
	x := newScene(t, oneNamed)
	x.packet(track.IsRequest, client, named, "A2S_INFO", track.HasKey)
	x.answer("S2A_INFO_SRC")
	if s := x.snapshot().Servers[0]; s.Unproven != 0 || s.Times.Count != 1 {
		t.Errorf("got %+v", s.Counts)
	}
	x.packet(track.IsReply, named, "203.0.113.10:1", "S2A_INFO_SRC", 0)
	if s := x.snapshot().Servers[0]; s.Unasked != 1 || s.Unproven != 0 {
		t.Errorf("got %+v", s.Counts)
	}
}

// TestServers: a server gets counters when it answers, and neither by being asked nor by replies that
// nobody asked for.
func TestServers(t *testing.T) {
	x := newScene(t, oneNamed)
	x.packet(track.IsRequest, client, unnamed, "A2S_INFO", 0)
	x.packet(track.IsReply, "198.51.100.9:27015", client, "S2A_INFO_SRC", 0)
	if s := x.snapshot(); len(s.Servers) != 1 || s.Other.In.Packets != 1 || s.Other.Out.Packets != 1 {
		t.Fatalf("got %+v", s)
	}
	x.packet(track.IsReply, unnamed, client, "S2A_INFO_SRC", 0)
	x.packet(track.IsRequest, client, unnamed, "A2S_INFO", 0)
	s := x.snapshot()
	if len(s.Servers) != 2 || s.Servers[1].Label() != unnamed || s.Servers[1].In.Packets != 1 || s.Servers[1].IsNamed {
		t.Fatalf("got %d servers", len(s.Servers))
	}
	for i := range 3 { // there is room for one more
		at := netip.AddrPortFrom(netip.MustParseAddr("198.51.100.20"), uint16(1000+i)).String()
		x.packet(track.IsRequest, client, at, "A2S_INFO", 0)
		x.packet(track.IsReply, at, client, "S2A_INFO_SRC", 0)
	}
	if s = x.snapshot(); len(s.Servers) != 3 || s.ServersEvicted != 0 {
		t.Fatalf("got %d servers, %d evicted", len(s.Servers), s.ServersEvicted)
	}
	x.pass(25 * time.Hour) // the others are silent for a day
	at := "198.51.100.21:5"
	x.packet(track.IsRequest, client, at, "A2S_INFO", 0)
	x.packet(track.IsReply, at, client, "S2A_INFO_SRC", 0)
	if s = x.snapshot(); len(s.Servers) != 3 || s.ServersEvicted != 1 || s.Servers[0].Label() != named || s.Servers[1].Label() != at {
		t.Fatalf("got %d servers", len(s.Servers))
	}
}

// TestMayList: only servers that may have counters get them.
func TestMayList(t *testing.T) {
	x := newScene(t, Options{MaxServers: 5, MayList: func(netip.AddrPort) bool { return false }})
	x.ask("A2S_INFO")
	x.answer("S2A_INFO_SRC")
	if s := x.snapshot(); len(s.Servers) != 0 || s.Other.Out.Packets != 1 {
		t.Errorf("got %+v", s)
	}
}

// TestProfile: what an answer says counts, and a forged reply does not.
func TestProfile(t *testing.T) {
	x := newScene(t, oneNamed)
	p := track.NoProfile()
	p.Name.Set([]byte("evil"))
	x.answer("S2A_INFO_SRC")
	x.m.AddProfile(nil, &p)
	if s := x.snapshot().Servers[0]; s.HasProfile {
		t.Errorf("got %+v", s.Profile)
	}
	x.ask("A2S_INFO")
	x.answer("S2A_INFO_SRC")
	p.Name.Set([]byte("good"))
	p.Players = 3
	x.m.AddProfile(nil, &p)
	if s := x.snapshot().Servers[0]; string(s.Profile.Name.Bytes()) != "good" || s.Profile.Players != 3 || s.Profile.Bots != -1 {
		t.Errorf("got %+v", s.Profile)
	}
}

// TestUndecided: a request that the table has no room for is not unanswered.
func TestUndecided(t *testing.T) {
	x := newScene(t, oneNamed)
	size := len(x.m.pairs.rows) * pairWays
	for i := range 4 * size {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1)
		x.m.Sight(x.sighting(track.IsRequest, from, netip.MustParseAddrPort(named), "A2S_INFO"))
	}
	x.pass(6 * time.Second)
	got := x.outcomes("A2S_INFO")
	if got["unanswered"]+got["undecided"] != uint64(4*size) || got["unanswered"] < uint64(size)*9/10 || got["unanswered"] > uint64(size) {
		t.Errorf("got %v of %d", got, 4*size)
	}
}

// TestRates: over the last ten whole seconds.
func TestRates(t *testing.T) {
	x := newScene(t, oneNamed)
	for range 20 {
		for range 5 {
			x.ask("A2S_INFO")
			x.answer("S2A_INFO_SRC")
		}
		x.pass(time.Second)
	}
	want := Rates{5, 5, 5 * 53, 5 * 53}
	if got := x.snapshot().Servers[0].Rates; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	x.pass(3 * time.Hour)
	if got := x.snapshot().Servers[0].Rates; got != (Rates{}) {
		t.Errorf("after a pause: %v", got)
	}
}

// TestNoAllocations: a packet allocates nothing.
func TestNoAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	x := newScene(t, oneNamed)
	ask := x.sighting(track.IsRequest, netip.MustParseAddrPort(client), netip.MustParseAddrPort(named), "A2S_INFO")
	answer := x.sighting(track.IsReply, netip.MustParseAddrPort(named), netip.MustParseAddrPort(client), "S2A_INFO_SRC")
	p := track.NoProfile()
	n := testing.AllocsPerRun(1000, func() {
		ask.Age += int64(100 * time.Millisecond)
		answer.Age = ask.Age + 1
		x.m.Sight(ask)
		x.m.Sight(answer)
		x.m.AddProfile(answer, &p)
		x.m.Publish(func(*counters.Result) {})
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSnapshot: a snapshot is made by the one who counts, and the last one is given out where nobody
// counts.
func TestSnapshot(t *testing.T) {
	x := newScene(t, oneNamed)
	now := int64(0)
	x.m.opt.Clock = func() int64 { return now }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, isNew := x.m.Snapshot(ctx); isNew || s == nil {
		t.Errorf("got %v, %v", s, isNew)
	}
	x.ask("A2S_INFO")
	now = int64(time.Hour)
	x.m.Publish(func(r *counters.Result) { r.Run.Packets = 5 })
	s, isNew := x.m.Snapshot(t.Context())
	if !isNew || s.Counters.Run.Packets != 5 || s.Servers[0].In.Packets != 1 {
		t.Errorf("got %+v, %v", s, isNew)
	}
	now += int64(snapshotEvery)
	if again, isNew := x.m.Snapshot(ctx); again != s || isNew {
		t.Errorf("got another one, %v", isNew)
	}
}

func BenchmarkMeter(b *testing.B) {
	for _, tc := range []struct {
		name    string
		clients int
	}{{"polls", 64}, {"flood", 1 << 20}} {
		b.Run(tc.name, func(b *testing.B) {
			x := newScene(b, Options{Servers: oneNamed.Servers, MaxServers: 2, Scale: 1})
			asks := make([]*track.Sighting, tc.clients)
			for i := range asks {
				from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1)
				asks[i] = x.sighting(track.IsRequest, from, netip.MustParseAddrPort(named), "A2S_INFO")
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				s := asks[i%len(asks)]
				s.Age = int64(time.Hour) + int64(i)*20_000 // 50,000 a second
				x.m.Sight(s)
			}
		})
	}
}
