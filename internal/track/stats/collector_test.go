package stats

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/hostset"
	"qsniff/internal/test/lrutest"
	"qsniff/internal/test/race"
	"qsniff/internal/track"
)

// TestServers: what exchanges make of a server.
func TestServers(t *testing.T) {
	late := answer(3, 4e9)
	late.Step = track.Late
	stray := answer(1, -1)
	stray.Step = track.Stray
	extra := afterChallenge(answer(5, 30e6), -1)
	extra.Step = track.Extra
	one := Times{Count: 1, P50: 10 * time.Millisecond, P95: 10 * time.Millisecond, P99: 10 * time.Millisecond, Max: 10 * time.Millisecond}
	train := answer(2, 10e6)
	train.Packets, train.Train = 3, 4e6
	for _, tc := range []struct {
		name string
		in   []track.Fact
		want Server
	}{
		{"answered", []track.Fact{ask(1), answer(2, 10e6)},
			Server{Fates: Fates[uint64]{Replied: 1}, Requests: 1, Replies: 1, Answered: 1, BytesIn: 25, BytesOut: 100, WireIn: 53, WireOut: 128, Unchallenged: 1, Response: one, Challenge: -1, Train: -1}},
		{"challenged first", []track.Fact{ask(1), challenge(2, 20e6), echo(3), afterChallenge(answer(4, 10e6), 20e6)},
			Server{Fates: Fates[uint64]{Replied: 2, Proven: 1, Served: 1}, Requests: 2, Replies: 2, Answered: 1, BytesIn: 54, BytesOut: 109, WireIn: 110, WireOut: 165, Challenged: 1, Response: one,
				Challenge: 20 * time.Millisecond, Train: -1}},
		{"challenge of an earlier exchange", []track.Fact{ask(1), challenge(2, 20e6), echo(3), afterChallenge(answer(4, 10e6), 20e6), echo(5), keyed(answer(6, 10e6))},
			Server{Fates: Fates[uint64]{Replied: 3, Proven: 2, Served: 2}, Requests: 3, Replies: 3, Answered: 2, BytesIn: 83, BytesOut: 209, WireIn: 167, WireOut: 293, Challenged: 2,
				Response:  Times{Count: 2, P50: one.P50, P95: one.P50, P99: one.P50, Max: one.Max},
				Challenge: 20 * time.Millisecond, Train: -1}},
		{"challenge for another question", []track.Fact{challenge(1, 20e6), ask(2), answer(3, 10e6)},
			Server{Fates: Fates[uint64]{Replied: 2}, Requests: 1, Replies: 2, Answered: 1, BytesIn: 25, BytesOut: 109, WireIn: 53, WireOut: 165, Unchallenged: 1, Response: one,
				Challenge: 20 * time.Millisecond, Train: -1}},
		{"challenge that the capture does not show", []track.Fact{echo(1), keyed(answer(2, 10e6))},
			Server{Fates: Fates[uint64]{Replied: 1, Proven: 1, Served: 1}, Requests: 1, Replies: 1, Answered: 1, BytesIn: 29, BytesOut: 100, WireIn: 57, WireOut: 128, Response: one, Challenge: -1, Train: -1}},
		{"in several packets", []track.Fact{ask(1), train},
			Server{Fates: Fates[uint64]{Replied: 1}, Requests: 1, Replies: 1, Answered: 1, BytesIn: 25, BytesOut: 100, WireIn: 53, WireOut: 128, Unchallenged: 1, Response: one,
				Challenge: -1, Train: 4 * time.Millisecond}},
		{"silent", []track.Fact{ask(1), silence(1)},
			Server{Requests: 1, Unanswered: 1, BytesIn: 25, WireIn: 53, Challenge: -1, Train: -1}},
		{"proven and silent", []track.Fact{ask(1), challenge(2, 20e6), echo(3), afterEcho(silence(3))},
			Server{Fates: Fates[uint64]{Replied: 1, Proven: 1}, Requests: 2, Replies: 1, Unanswered: 1, BytesIn: 54, BytesOut: 9, WireIn: 110, WireOut: 37,
				Challenge: 20 * time.Millisecond, Train: -1}},
		{"proven and late", []track.Fact{ask(1), challenge(2, 20e6), echo(3), afterEcho(silence(3)), afterChallenge(late, 20e6)},
			Server{Fates: Fates[uint64]{Replied: 2, Proven: 1, Served: 1}, Requests: 2, Replies: 2, Answered: 1, Late: 1, BytesIn: 54, BytesOut: 109, WireIn: 110, WireOut: 165, Challenged: 1,
				Response:  Times{Count: 1, P50: 4 * time.Second, P95: 4 * time.Second, P99: 4 * time.Second, Max: 4 * time.Second},
				Challenge: 20 * time.Millisecond, Train: -1}},
		{"the wait is not over", []track.Fact{ask(1)},
			Server{Requests: 1, BytesIn: 25, WireIn: 53, Challenge: -1, Train: -1}},
		{"late takes its silence back", []track.Fact{ask(1), silence(1), late},
			Server{Fates: Fates[uint64]{Replied: 1}, Requests: 1, Replies: 1, Answered: 1, Late: 1, BytesIn: 25, BytesOut: 100, WireIn: 53, WireOut: 128, Unchallenged: 1,
				Response:  Times{Count: 1, P50: 4 * time.Second, P95: 4 * time.Second, P99: 4 * time.Second, Max: 4 * time.Second},
				Challenge: -1, Train: -1}},
		{"nobody asked", []track.Fact{stray},
			Server{Replies: 1, BytesOut: 100, WireOut: 128, Challenge: -1, Train: -1}},
		{"two answers", []track.Fact{ask(1), answer(2, 10e6), extra},
			Server{Fates: Fates[uint64]{Replied: 1}, Requests: 1, Replies: 2, Answered: 1, BytesIn: 25, BytesOut: 200, WireIn: 53, WireOut: 256, Unchallenged: 1, Response: one, Challenge: -1, Train: -1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := collect(Options{}, tc.in...)
			tc.want.Addr = server1
			if diff := cmp.Diff([]Server{tc.want}, s.Servers, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
			if s.Answered != tc.want.Answered || s.Unanswered != tc.want.Unanswered || s.Late != tc.want.Late {
				t.Errorf("in all:\ngot  %d answered, %d not, %d late\nwant %d, %d, %d", s.Answered, s.Unanswered, s.Late,
					tc.want.Answered, tc.want.Unanswered, tc.want.Late)
			}
		})
	}
}

// TestMessages: types of one name count as one, and what servers send unasked is
// no request to them.
func TestMessages(t *testing.T) {
	twin := dissect.Type{Name: "ASK", Asks: dissect.AskPlayers}
	s := collect(Options{}, ask(1), fact(2, &twin, track.Ask), fact(3, &typeLog, track.NoStep), answer(4, 1))
	want := []Message{{"toy", "ASK", false, 2, 125}, {"toy", "ANSWER", true, 1, 100}, {"toy", "LOG", false, 1, 100}}
	if diff := cmp.Diff(want, s.Messages); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if s.Requests != 2 || s.Replies != 1 {
		t.Errorf("got  %d requests, %d replies\nwant 2, 1", s.Requests, s.Replies)
	}
	namesake := typeAnswer
	namesake.Name = "ASK"
	for range 20 { // maps have no order
		s := collect(Options{}, ask(1), fact(2, &namesake, track.Answer))
		if len(s.Messages) != 2 || s.Messages[0].Reply {
			t.Fatalf("a request and a reply of one name: %+v, want the request first", s.Messages)
		}
	}
}

// TestUnpaired: of a protocol that is not paired, requests and replies count, and
// nothing is said of answers.
func TestUnpaired(t *testing.T) {
	s := collect(Options{}, fact(1, &typeAsk, track.NoStep), fact(2, &typeAnswer, track.NoStep))
	got := s.Servers[0]
	if got.Requests != 1 || got.Replies != 1 || got.Answered != 0 || got.Unanswered != 0 || got.Challenges() != "" {
		t.Errorf("got %+v", got)
	}
}

func TestChallenges(t *testing.T) {
	through := []track.Fact{ask(1), challenge(2, 1e6), echo(3), afterChallenge(answer(4, 1e6), 1e6)}
	straight := func(frame uint64) track.Fact { // to a client that was never challenged
		f := answer(frame, 1e6)
		f.Client = client2
		return f
	}
	rules := []track.Fact{fact(1, &typeRules, track.Ask), challenge(2, 1e6)}
	for _, tc := range []struct {
		name  string
		in    []track.Fact
		want  string
		share float64
	}{
		{"always", through, "always", 1},
		{"never", []track.Fact{ask(1), answer(2, 1e6)}, "never", 0},
		{"sometimes", append(slices.Clone(through), ask(5), straight(6)), "sometimes", 0.5},
		{"only others", rules, "", 0},
		{"a question without a challenge", []track.Fact{fact(1, &typePlain, track.Ask), answer(2, 1e6)}, "", 0},
	} {
		s := collect(Options{}, tc.in...).Servers[0]
		if got := s.Challenges(); got != tc.want || s.ChallengedShare() != tc.share {
			t.Errorf("%s:\ngot  %q, %v\nwant %q, %v", tc.name, got, s.ChallengedShare(), tc.want, tc.share)
		}
	}
}

// TestKinds: what an answer costs who has no challenge, and who has one.
func TestKinds(t *testing.T) {
	open := answer(6, 1e6)
	open.Client, open.Bytes, open.Wire = client2, 250, 278
	s := collect(Options{}, ask(1), challenge(2, 1e6), echo(3), afterChallenge(answer(4, 1e6), 1e6), ask(5), open)
	want := []Question{{"toy", "ASK", Gain{1, 250.0 / 25, 278.0 / 53}, Gain{1, 100.0 / 29, 128.0 / 57}}}
	if diff := cmp.Diff(want, s.Questions); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

// TestKindsAfterHandshake: a challenge that was asked for by itself is one. It needs none
// itself, whoever asks again.
func TestKindsAfterHandshake(t *testing.T) {
	shake := dissect.Type{Name: "SHAKE", Asks: dissect.AskChallenge}
	given := challenge(2, 1e6)
	given.Step = track.Answer
	s := collect(Options{}, fact(1, &shake, track.Ask), given, echo(3), keyed(answer(4, 1e6)), fact(5, &shake, track.Ask), given)
	want := []Question{
		{"toy", "SHAKE", Gain{2, 9.0 / 100, 37.0 / 128}, Gain{}},
		{"toy", "ASK", Gain{}, Gain{1, 100.0 / 29, 128.0 / 57}},
	}
	if diff := cmp.Diff(want, s.Questions); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if got := s.Servers[0].Challenges(); got != "always" {
		t.Errorf("got %q, want always", got)
	}
}

// TestKindsOfStreams: nobody forges the source of a connection.
func TestKindsOfStreams(t *testing.T) {
	q, r := ask(1), answer(2, 1e6)
	q.TCP, r.TCP = true, true
	if got := collect(Options{}, q, r).Questions; len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestPosts: each reply tells a part; what it does not tell stays.
func TestPosts(t *testing.T) {
	post := func(name, where string, players, most int32) *track.ServerInfo {
		p := &track.ServerInfo{Players: players, Max: most}
		p.Name.Set([]byte(name))
		p.Map.Set([]byte(where))
		return p
	}
	long := strings.Repeat("a", 63) // what is kept ends in the middle of the next character
	for _, tc := range []struct {
		name  string
		posts []*track.ServerInfo
		want  Server
	}{
		{"one", []*track.ServerInfo{post("a", "de_dust2", 3, 16)}, Server{Name: []byte("a"), Map: []byte("de_dust2"), Players: 3, Max: 16}},
		{"the last counts", []*track.ServerInfo{post("a", "m", 3, 16), post("b", "n", 4, 8)}, Server{Name: []byte("b"), Map: []byte("n"), Players: 4, Max: 8}},
		{"a count of players only", []*track.ServerInfo{post("a", "m", 3, 16), post("", "", 5, -1)}, Server{Name: []byte("a"), Map: []byte("m"), Players: 5, Max: 16}},
		{"no half characters", []*track.ServerInfo{post(long+"ü", "m", 3, 16)}, Server{Name: []byte(long), Map: []byte("m"), Players: 3, Max: 16}},
		{"bytes that are no text stay", []*track.ServerInfo{post("\xff\xfe", "m", 3, 16)}, Server{Name: []byte("\xff\xfe"), Map: []byte("m"), Players: 3, Max: 16}},
	} {
		c := New(Options{})
		for i, p := range tc.posts {
			f := answer(uint64(i+1), 1)
			c.AddFact(&f, nil, p)
		}
		s := c.Summary(start).Servers[0]
		got := Server{Name: s.Name, Map: s.Map, Players: s.Players, Max: s.Max}
		if diff := cmp.Diff(tc.want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
			t.Errorf("%s: want -, got +\n%s", tc.name, diff)
		}
	}
}

func TestFindings(t *testing.T) {
	mild := &finding.Code{ID: "TOY-01", Severity: finding.Note}
	bad := &finding.Code{ID: "TOY-02", Severity: finding.Error}
	c := New(Options{})
	f := ask(9)
	c.AddFact(&f, []track.Found{{Expert: finding.Expert{Code: mild, Severity: finding.Chat}}, {Expert: finding.Expert{Code: bad, Severity: finding.Error}}}, nil)
	c.AddFinding(7, start, netip.AddrPort{}, netip.AddrPort{}, track.Found{Expert: finding.Expert{Code: mild, Severity: finding.Note}})
	c.AddFinding(8, start, netip.AddrPort{}, netip.AddrPort{}, track.Found{Expert: finding.Expert{Code: mild, Severity: finding.Chat}})
	want := []Finding{{bad, finding.Error, 1, 9}, {mild, finding.Note, 3, 7}}
	got := c.Summary(start).Findings
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestOurs: with a list of servers, messages of others are in one number only.
func TestOurs(t *testing.T) {
	ours, err := hostset.Parse("198.18.0.2:27015")
	if err != nil {
		t.Fatal(err)
	}
	other := ask(3)
	other.Server = server2
	s := collect(Options{Ours: ours}, ask(1), answer(2, 1), silence(1), other)
	if s.Others != 2 || s.Requests != 1 || s.Replies != 0 || s.Unanswered != 0 || len(s.Servers) != 1 || s.Servers[0].Addr != server2 {
		t.Errorf("got %d others, %d requests, %d replies, %d unanswered, servers %+v\nwant 2, 1, 0, 0 and one", s.Others, s.Requests, s.Replies, s.Unanswered, s.Servers)
	}
}

func TestOneWay(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   []track.Fact
		want string
	}{
		{"both", []track.Fact{ask(1), answer(2, 1)}, ""},
		{"nothing", nil, ""},
		{"requests", []track.Fact{ask(1), silence(1)}, "requests"},
		{"replies", []track.Fact{answer(1, -1)}, "replies"},
	} {
		if got := collect(Options{}, tc.in...).OneWay(); got != tc.want {
			t.Errorf("%s:\ngot  %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

// TestTimes: what clients wait for, and its parts.
func TestTimes(t *testing.T) {
	r := afterChallenge(answer(4, 10e6), 20e6)
	r.Packets, r.Train = 2, 5e6
	s := collect(Options{}, ask(1), challenge(2, 20e6), echo(3), r)
	for _, tc := range []struct {
		name string
		got  Times
		want time.Duration
	}{
		{"challenge", s.Challenge, 20 * time.Millisecond}, {"response", s.Response, 10 * time.Millisecond},
		{"train", s.Train, 5 * time.Millisecond}, {"total", s.Total, 35 * time.Millisecond},
	} {
		if off := (tc.got.P50 - tc.want).Abs(); tc.got.Count != 1 || off > tc.want/1000 || tc.got.P50 != tc.got.Max {
			t.Errorf("%s:\ngot  %+v\nwant %v", tc.name, tc.got, tc.want)
		}
	}
}

// TestAllocations: nothing is allocated for messages, whether their ends are known
// or not.
func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	c := New(Options{Scale: 0.05})
	facts := []track.Fact{ask(1), challenge(2, 1e6), echo(3), afterChallenge(answer(4, 1e6), 1e6), silence(5)}
	found := []track.Found{{Expert: finding.Expert{Code: &track.Refused, Severity: finding.Error}}}
	post := &track.ServerInfo{Players: 1, Max: 2}
	n := uint32(0)
	step := func() {
		for i := range facts {
			f := facts[i]
			c.AddFact(&f, found, post)
			n++
			f.Client, f.Server = numbered(n), numbered(n)
			c.AddFact(&f, found, post)
		}
	}
	for range 2000 { // until the tables are full
		step()
	}
	if got := testing.AllocsPerRun(1000, step); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// numbered is an end of its own for each n.
func numbered(n uint32) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(n>>24) + 1, byte(n >> 16), byte(n >> 8), byte(n)}), 27015)
}

// TestICMPErrors: errors about queries count for the server that was asked, if it is
// ours; one that says that a client has evicted does not.
func TestICMPErrors(t *testing.T) {
	ours, err := hostset.Parse("198.18.0.1")
	if err != nil {
		t.Fatal(err)
	}
	c := New(Options{Ours: ours})
	client, server, other := netip.MustParseAddrPort("10.64.0.1:40001"), netip.MustParseAddrPort("198.18.0.1:27015"), netip.MustParseAddrPort("198.18.0.2:27015")
	refused := track.Found{Expert: finding.Expert{Code: &track.Refused, Severity: finding.Error}}
	c.AddFinding(1, start, server, client, refused)
	c.AddFinding(2, start, server, client, refused)
	c.AddFinding(3, start, other, client, refused)
	c.AddFinding(4, start, server, client, track.Found{Expert: finding.Expert{Code: &track.Refused, Severity: finding.Note}})
	c.AddFinding(5, start, server, client, track.Found{Expert: finding.Expert{Code: &track.Elsewhere, Severity: finding.Error}})
	s := c.Summary(start)
	if len(s.Servers) != 1 || s.Servers[0].Addr != server || s.Servers[0].ICMPErrors != 2 {
		t.Errorf("got  %+v\nwant %v alone, with 2 errors", s.Servers, server)
	}
	if len(s.Findings) != 2 || s.Findings[0].Count != 3 || s.Findings[1].Count != 1 {
		t.Errorf("got  %+v\nwant 3 and 1", s.Findings)
	}
}

// TestKindsOfOneName: questions whose requests have one name, and as many answers, have
// an order.
func TestKindsOfOneName(t *testing.T) {
	twin := dissect.Type{Name: "ASK", Asks: dissect.AskPlayers}
	players := dissect.Type{Name: "PLAYERS", Reply: true, Asks: dissect.AskPlayers}
	for range 20 { // maps have none
		s := collect(Options{}, fact(1, &twin, track.Ask), fact(2, &players, track.Answer), ask(3), answer(4, 1))
		if len(s.Questions) != 2 || s.Questions[0].Before.Payload != 4 || s.Questions[1].Before.Payload != 1 {
			t.Fatalf("%+v, want the one of the first role first", s.Questions)
		}
	}
}

// TestChosenKeys: nobody can choose keys that collide in the tables.
func TestChosenKeys(t *testing.T) {
	lrutest.Check[hostKey](t)
	lrutest.Check[endKey](t)
	lrutest.Check[pairKey](t)
	lrutest.Check[questionAt](t)
	lrutest.Check[repeatKey](t)
}
