package vantages_test

import (
	"slices"
	"testing"
	"time"

	"qsniff/internal/track/vantages"
)

const ms = time.Millisecond

// asking is a client that asks often enough, and opens connections to the console.
func asking(path time.Duration) client { return client{path: path, polls: 20, handshakes: 10} }

// TestVerdicts: what captures of a server come to, and by which path.
func TestVerdicts(t *testing.T) {
	reg := registry(t)
	with := func(c client, change func(*client)) client {
		change(&c)
		return c
	}
	at := func(change func(*client), paths ...time.Duration) (all []client) {
		for _, p := range paths {
			all = append(all, with(asking(p), change))
		}
		return all
	}
	edge := func(c *client) { c.edge = ms }
	noTCP := func(c *client) { c.handshakes = 0 }
	for _, tc := range []struct {
		name    string
		clients []client
		want    vantages.Verdict
		by      string // the path
		sooner  bool
	}{
		{"a cache near to all", at(edge, 20*ms, 90*ms, 180*ms), vantages.Flat, "TCP handshake", true},
		{"a cache, by echoes", at(func(c *client) { edge(c); noTCP(c); c.echoes = true }, 20*ms, 90*ms, 180*ms), vantages.Flat, "ICMP echo", true},
		{"a cache, by lists of players", at(func(c *client) { edge(c); noTCP(c); c.players = true }, 20*ms, 90*ms, 180*ms), vantages.Flat, "S2A_PLAYER", false},
		{"a cache, by another server", at(func(c *client) { edge(c); noTCP(c); c.siblings = true }, 20*ms, 90*ms, 180*ms), vantages.Flat, "S2A_INFO_SRC", false},
		{"answers held back", at(func(c *client) { c.hold = 200 * ms }, 20*ms, 90*ms, 180*ms), vantages.Flat, "TCP handshake", false},
		{"a cache near to all, two clients", at(edge, 20*ms, 35*ms), vantages.Flat, "TCP handshake", true},
		{"honest", at(func(*client) {}, 20*ms, 90*ms, 180*ms), vantages.Follows, "TCP handshake", false},
		{"the same distance", at(func(*client) {}, 60*ms, 62*ms), vantages.Close, "TCP handshake", false},
		{"all of the host at the edge", at(func(c *client) { edge(c); c.isProxied = true }, 20*ms, 180*ms), vantages.Close, "TCP handshake", false},
		{"equal medians, other least times", []client{
			with(asking(20*ms), func(c *client) { c.jitter = 25 * ms }), asking(75 * ms)}, vantages.Follows, "TCP handshake", false},
		{"too few", at(func(c *client) { edge(c); c.polls = vantages.LeastAnswers - 1 }, 20*ms, 180*ms), vantages.TooFew, "", false},
		{"too few at the farther one", []client{with(asking(20*ms), edge), with(asking(180*ms), func(c *client) { edge(c); c.polls = vantages.LeastAnswers - 1 })}, vantages.TooFew, "", false},
		{"too few at the nearer one", []client{with(asking(20*ms), func(c *client) { edge(c); c.polls = vantages.LeastAnswers - 1 }), with(asking(180*ms), edge)}, vantages.TooFew, "", false},
		{"just enough", at(func(c *client) { edge(c); c.polls = vantages.LeastAnswers }, 20*ms, 180*ms), vantages.Flat, "TCP handshake", true},
		{"too few handshakes", at(func(c *client) { edge(c); c.handshakes = vantages.LeastTrips - 1; c.players = true }, 20*ms, 180*ms), vantages.Flat, "S2A_PLAYER", false},
		{"just enough handshakes", at(func(c *client) { edge(c); c.handshakes = vantages.LeastTrips; c.players = true }, 20*ms, 180*ms), vantages.Flat, "TCP handshake", true},
		{"no path", at(func(c *client) { edge(c); noTCP(c) }, 20*ms, 180*ms), vantages.NoPath, "", false},
		{"no replies at one", []client{asking(20 * ms), with(asking(180*ms), func(c *client) { c.oneWay = true })}, vantages.Unanswered, "", false},
		{"held back less than frames could", at(func(c *client) { c.hold = 90 * ms }, 20*ms, 80*ms), vantages.Unclear, "TCP handshake", false},
		{"edges that are not equally near", []client{with(asking(20*ms), edge), with(asking(180*ms), func(c *client) { c.edge = 50 * ms })}, vantages.Unclear, "TCP handshake", false},
		{"slow work hides the path", at(func(c *client) { c.work = 400 * ms }, 20*ms, 60*ms), vantages.Unclear, "TCP handshake", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			all := vantages.Compare(played(t, reg, 1, tc.clients...), nil)
			i := slices.IndexFunc(all, func(s vantages.Server) bool { return s.Addr == server })
			if i < 0 {
				t.Fatalf("the server is not among %d", len(all))
			}
			s := &all[i]
			by := ""
			if s.Verdict > vantages.NoPath {
				by = s.Path[0].Name()
			}
			if s.Verdict != tc.want || by != tc.by || tc.want == vantages.Flat && s.IsSooner != tc.sooner {
				t.Errorf("got  %v by %q, sooner %v: answers differ by %v, paths by %v of %v\nwant %v by %q, sooner %v",
					s.Verdict, by, s.IsSooner, s.AnswersDiffer, s.PathsDiffer, s.Needed, tc.want, tc.by, tc.sooner)
			}
			if _, ok := s.Finding(); ok != (tc.want == vantages.Flat) {
				t.Errorf("there is a finding: %v", ok)
			}
			if len(s.Points) != len(tc.clients) {
				t.Errorf("%d captures, want %d", len(s.Points), len(tc.clients))
			}
		})
	}
}
