package proof

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/internal/base/hostset"
	"qsniff/internal/test/lrutest"
	"qsniff/internal/test/race"
	"qsniff/internal/track"
)

const (
	server = "198.51.100.17:27015"
	other  = "198.51.100.17:27016"
	player = "203.0.113.7:40001"
)

func sighting(what track.PacketType, src, dst string, at time.Duration, key uint32) *track.Sighting {
	a, b := netip.MustParseAddrPort(src), netip.MustParseAddrPort(dst)
	s := &track.Sighting{What: what, Src: track.HostOf(a), SrcPort: a.Port(), Dst: track.HostOf(b), DstPort: b.Port(),
		Age: int64(at), Nanos: int64(at), Key: key}
	if key != 0 {
		s.Flags |= track.HasKey
	}
	return s
}

// one of several packets of a test.
type step = *track.Sighting

func given(to string, at time.Duration, key uint32) step {
	return sighting(track.IsChallenge, server, to, at, key)
}

func echoed(from string, at time.Duration, key uint32) step {
	return sighting(track.IsRequest, from, server, at, key)
}

func TestProofs(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	tests := []struct {
		name string
		in   []step
		want string // address proofs how servers
	}{
		{"a challenge brought back", []step{given(player, 0, 7), echoed(player, 50*ms, 7)}, "203.0.113.7 1 [challenge] 1"},
		{"from another port", []step{given(player, 0, 7), echoed("203.0.113.7:5", 50*ms, 7)}, "203.0.113.7 1 [challenge] 1"},
		{"from another address", []step{given(player, 0, 7), echoed("203.0.113.8:40001", 50*ms, 7)}, ""},
		{"another value", []step{given(player, 0, 7), echoed(player, 50*ms, 8)}, ""},
		{"to another port of the server", []step{given(player, 0, 7), sighting(track.IsRequest, player, other, 50*ms, 7)}, ""},
		{"without a challenge before", []step{echoed(player, 50*ms, 7)}, ""},
		{"after a minute", []step{given(player, 0, 7), echoed(player, 61*s, 7)}, ""},
		{"just within", []step{given(player, 0, 7), echoed(player, 60*s, 7)}, "203.0.113.7 1 [challenge] 1"},
		{"the one before the last", []step{given(player, 0, 7), given(player, s, 8), echoed(player, 2*s, 7)}, "203.0.113.7 1 [challenge] 1"},
		{"an older one", []step{given(player, 0, 7), given(player, s, 8), given(player, s, 9), echoed(player, 2*s, 7)}, ""},
		{"three requests with one", []step{given(player, 0, 7), echoed(player, s, 7), echoed(player, s, 7), echoed(player, s, 7)}, "203.0.113.7 1 [challenge] 1"},
		{"given again", []step{given(player, 0, 7), echoed(player, s, 7), given(player, 2*s, 7), echoed(player, 3*s, 7)}, "203.0.113.7 2 [challenge] 1"},
		{"IPv6", []step{sighting(track.IsChallenge, "[2001:db8::1]:27015", "[2001:db8::7]:5", 0, 7), sighting(track.IsRequest, "[2001:db8::7]:5", "[2001:db8::1]:27015", s, 7)}, "2001:db8::7 1 [challenge] 1"},
		{"time stamps from 1970", []step{given(player, 0, 7), echoed(player, 0, 7)}, "203.0.113.7 1 [challenge] 1"},

		{"a handshake", []step{sighting(track.IsOpened, player, server, 0, 1), sighting(track.IsAgreed, server, player, s, 99), sighting(track.IsAcked, player, server, s, 99)}, "203.0.113.7 1 [handshake] 1"},
		{"acknowledged wrongly", []step{sighting(track.IsAgreed, server, player, s, 99), sighting(track.IsAcked, player, server, s, 98)}, ""},
		{"from another port of TCP", []step{sighting(track.IsAgreed, server, player, s, 99), sighting(track.IsAcked, "203.0.113.7:5", server, s, 99)}, ""},
		{"a minute later", []step{sighting(track.IsAgreed, server, player, 0, 99), sighting(track.IsAcked, player, server, 61*s, 99)}, ""},
		{"acknowledged twice", []step{sighting(track.IsAgreed, server, player, 0, 99), sighting(track.IsAcked, player, server, s, 99), sighting(track.IsAcked, player, server, s, 99)}, "203.0.113.7 1 [handshake] 1"},
		{"what the server acknowledges", []step{sighting(track.IsOpened, player, server, 0, 99), sighting(track.IsAcked, server, player, s, 99)}, ""},
		{"both", []step{given(player, 0, 7), echoed(player, s, 7), sighting(track.IsAgreed, server, player, s, 99), sighting(track.IsAcked, player, server, s, 99)}, "203.0.113.7 2 [challenge handshake] 2"},
	}
	for _, tt := range tests {
		c := New(Options{})
		for _, x := range tt.in {
			c.Sight(x)
		}
		got := ""
		for _, x := range c.Summary().Sources {
			got += fmt.Sprint(x.Addr, " ", x.Proofs, " ", x.Methods.Names(), " ", len(x.Servers))
			if !c.IsProven(track.Host(x.Addr.As16())) {
				t.Errorf("%s: %v is not proven", tt.name, x.Addr)
			}
		}
		if got != tt.want {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// TestTimesAndServers: the first and the last proof, and the first few servers.
func TestTimesAndServers(t *testing.T) {
	c := New(Options{})
	for i := range 5 {
		to := fmt.Sprintf("198.51.100.17:%d", 27015+i)
		at := time.Duration(i+1) * time.Second
		c.Sight(sighting(track.IsChallenge, to, player, at, 7))
		c.Sight(sighting(track.IsRequest, player, to, at, 7))
	}
	want := []Source{{Addr: netip.MustParseAddr("203.0.113.7"), First: 1e9, Last: 5e9, Methods: Challenge, Proofs: 5, HasMore: true, Servers: []Server{
		{netip.MustParseAddrPort("198.51.100.17:27015"), false}, {netip.MustParseAddrPort("198.51.100.17:27016"), false},
		{netip.MustParseAddrPort("198.51.100.17:27017"), false}}}}
	if diff := cmp.Diff(c.Summary().Sources, want, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("got -, want +\n%s", diff)
	}
}

// TestSharedChallenge: one challenge for everybody proves nothing, and takes back
// what it seemed to prove; a handshake with the same server does.
func TestSharedChallenge(t *testing.T) {
	c := New(Options{})
	at := time.Second
	for i := range 4 {
		from := fmt.Sprintf("203.0.113.%d:5", i+1)
		c.Sight(given(from, at, 7))
		c.Sight(echoed(from, at, 7))
	}
	c.Sight(sighting(track.IsAgreed, server, "203.0.113.2:5", at, 9))
	c.Sight(sighting(track.IsAcked, "203.0.113.2:5", server, at, 9))
	s := c.Summary()
	if len(s.Sources) != 1 || s.Sources[0].Addr != netip.MustParseAddr("203.0.113.2") {
		t.Errorf("got %+v", s)
	}
	if len(s.Shared) != 1 || s.Shared[0].String() != server {
		t.Errorf("shared: got %v, want %s", s.Shared, server)
	}
	if c.IsProven(track.HostOf(netip.MustParseAddrPort("203.0.113.1:1"))) {
		t.Error("203.0.113.1 counts as proven")
	}
}

func TestOurs(t *testing.T) {
	ours, err := hostset.Parse(other)
	if err != nil {
		t.Fatal(err)
	}
	c := New(Options{Ours: ours})
	for i, to := range []string{server, other} {
		from := fmt.Sprintf("203.0.113.%d:5", i+1)
		c.Sight(sighting(track.IsChallenge, to, from, 0, 7))
		c.Sight(sighting(track.IsRequest, from, to, 0, 7))
		c.Sight(sighting(track.IsAgreed, to, from, 0, 7))
		c.Sight(sighting(track.IsAcked, from, to, 0, 7))
	}
	s := c.Summary()
	if len(s.Sources) != 1 || s.Sources[0].Addr.String() != "203.0.113.2" || s.Counts.Requests != 1 {
		t.Errorf("got %+v", s)
	}
}

func TestWhy(t *testing.T) {
	open, agreed := sighting(track.IsOpened, player, server, 0, 1), sighting(track.IsAgreed, server, player, 0, 1)
	tests := []struct {
		name string
		in   []step
		want Reason
	}{
		{"nothing", nil, NoTraffic},
		{"other traffic", []step{sighting(track.IsOther, player, server, 0, 0)}, NoTraffic},
		{"requests", []step{echoed(player, 0, 0)}, OnlyToServer},
		{"SYNs", []step{open}, OnlyToServer},
		{"replies", []step{sighting(track.IsReply, server, player, 0, 0)}, OnlyToClient},
		{"challenges", []step{given(player, 0, 7)}, OnlyToClient},
		{"no challenge", []step{echoed(player, 0, 0), sighting(track.IsReply, server, player, 0, 0)}, Unchallenged},
		{"split replies", []step{echoed(player, 0, 0), sighting(track.IsPart, server, player, 0, 0)}, Unchallenged},
		{"not brought back", []step{echoed(player, 0, 0), given(player, 0, 7)}, NoneReturned},
		{"SYN flood", []step{open, agreed}, NoneReturned},
		{"proven", []step{given(player, 0, 7), echoed(player, 0, 7)}, NoReason},
	}
	for _, tt := range tests {
		c := New(Options{})
		for _, x := range tt.in {
			c.Sight(x)
		}
		if got := c.Summary().Why(); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestAsked: the summary has the protocols that servers were asked in, each once.
func TestAsked(t *testing.T) {
	one, two := &dissect.Proto{Name: "one"}, &dissect.Proto{Name: "two"}
	ours, err := hostset.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	c := New(Options{Ours: ours})
	for _, x := range []struct {
		to    string
		proto *dissect.Proto
	}{{server, two}, {server, one}, {server, two}, {server, nil}, {other, &dissect.Proto{Name: "elsewhere"}}} {
		s := sighting(track.IsRequest, player, x.to, 0, 0)
		s.Proto = x.proto
		c.Sight(s)
	}
	if diff := cmp.Diff([]*dissect.Proto{two, one}, c.Summary().Asked); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

// forged returns the i-th invented address.
func forged(i int) track.Host {
	return track.Host(netip.AddrFrom4([4]byte{byte(11 + i>>24), byte(i >> 16), byte(i >> 8), byte(i)}).As16())
}

// TestFlood: challenges and agreed connections of invented addresses do not push
// out who is proven, nor keep others from it.
func TestFlood(t *testing.T) {
	c := New(Options{})
	c.Sight(given(player, 0, 7))
	c.Sight(echoed(player, 0, 7))
	flood, syn := given(player, time.Second, 1), sighting(track.IsAgreed, server, player, time.Second, 1)
	for i := range 300_000 {
		flood.Dst, flood.Key = forged(i), uint32(i)|1<<31
		c.Sight(flood)
		syn.Dst = forged(i)
		c.Sight(syn)
	}
	c.Sight(given("203.0.113.8:5", time.Second, 9))
	for i := range maxOffered / 2 {
		flood.Dst, flood.Key = forged(i+1<<20), uint32(i)|1<<30
		c.Sight(flood)
	}
	c.Sight(echoed("203.0.113.8:5", 2*time.Second, 9))
	s := c.Summary()
	if len(s.Sources) != 2 || s.Evicted != 0 || s.EvictedPending == 0 {
		t.Errorf("got %d proven, %d evicted, %d pending evicted", len(s.Sources), s.Evicted, s.EvictedPending)
	}
}

// TestForgotten: the table of the proven has its limit, and says so.
func TestForgotten(t *testing.T) {
	c := New(Options{Scale: 0.001})
	g, e := given(player, 0, 7), echoed(player, 0, 7)
	for i := range 1000 {
		g.Dst, g.Key = forged(i), uint32(i+1)
		e.Src, e.Key = g.Dst, g.Key
		c.Sight(g)
		c.Sight(e)
	}
	s := c.Summary()
	if len(s.Sources) != 65 || s.Evicted != 1000-65 {
		t.Errorf("got %d proven, %d evicted", len(s.Sources), s.Evicted)
	}
}

func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	c := New(Options{})
	g, e := given(player, 0, 7), echoed(player, 0, 7)
	a, k := sighting(track.IsAgreed, server, player, 0, 9), sighting(track.IsAcked, player, server, 0, 9)
	i := 0
	if n := testing.AllocsPerRun(10_000, func() {
		i++
		for _, s := range []step{g, e, a, k} {
			s.Age++
		}
		g.Dst, g.Key = forged(i), uint32(i)
		a.Dst = g.Dst
		e.Src, e.Key, k.Src = g.Dst, g.Key, g.Dst
		c.Sight(g)
		c.Sight(a)
		c.Sight(e)
		c.Sight(k)
	}); n != 0 {
		t.Errorf("%v allocations for each round", n)
	}
}

func BenchmarkSight(b *testing.B) {
	c := New(Options{})
	g := given(player, 0, 7)
	for i := range b.N {
		g.Dst, g.Key = forged(i), uint32(i)
		c.Sight(g)
	}
}

// TestChosenKeys: nobody can choose keys that collide in the tables.
func TestChosenKeys(t *testing.T) {
	lrutest.Check[socket](t)
	lrutest.Check[offerKey](t)
	lrutest.Check[connKey](t)
}
