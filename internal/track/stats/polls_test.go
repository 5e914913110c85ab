package stats

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/track"
)

var pollKinds = map[string]*dissect.Type{
	"T": {Asks: dissect.AskInfo}, "I": {Reply: true, Asks: dissect.AskInfo},
	"V": {Asks: dissect.AskRules}, "E": {Reply: true, Asks: dissect.AskRules},
	"A": {Reply: true, Asks: dissect.AskInfo | dissect.AskRules | dissect.AskChallenge},
}

var pollSteps = map[string]track.Step{"ask": track.Ask, "echo": track.Echo, "challenge": track.Challenge,
	"answer": track.Answer, "late": track.Late, "silence": track.Silence}

// polled gives a collector a script: facts with a | between, each the seconds, the client (a small
// letter), the kind and the step. A fact is of the client's last exchange. It returns the rows.
func polled(t *testing.T, script string) string {
	t.Helper()
	server := netip.MustParseAddrPort("198.18.0.1:27015")
	c := NewPolls(nil, 0)
	began := map[string]track.Fact{}
	for i, line := range strings.Split(script, "|") {
		w := strings.Fields(line)
		at, err := strconv.ParseFloat(w[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 64, 0, w[1][0] - 'a' + 1}), 40000)
		age := 1e18 + int64(at*1e9)
		if w[2] == "icmp" {
			c.AddFinding(0, age, server, client, track.Found{Expert: finding.Expert{Code: &track.Refused}})
			continue
		}
		typ, step := pollKinds[w[2]], pollSteps[w[3]]
		if typ == nil || step == track.NoStep {
			t.Fatalf("what is %q?", line)
		}
		f := track.Fact{Frame: uint64(i + 1), Age: age, Nanos: age, Server: server, Client: client, Type: typ, Reply: typ.Reply, Part: track.Part{Step: step}}
		if step == track.Ask {
			f.ID = f.Frame
			began[w[1]] = f
		}
		f.ID = began[w[1]].ID
		if step == track.Silence {
			f.Began = began[w[1]].Age
		}
		c.AddFact(&f, nil, nil)
	}
	var rows []string
	for _, p := range c.Summary().Pollers {
		rows = append(rows, fmt.Sprintf("%v every %v: %d polls, %d answered, %d late, %v, %d undecided", p.Client, p.Every, p.Polls, p.Answered, p.Late, p.Causes, p.Undecided()))
	}
	return strings.Join(rows, "; ")
}

func TestPolls(t *testing.T) {
	poll := func(client string, at float64, script string) string {
		s := fmt.Sprintf("%v %s T ask | ", at, client)
		for i, w := range strings.Split(script, ",") {
			s += fmt.Sprintf("%v %s %s | ", at+float64(i+1)/10, client, w)
		}
		return s
	}
	others := func(at float64) string { return poll("z", at, "I answer") }
	const silence, answer = "T silence", "I answer"
	for _, tc := range []struct{ name, in, want string }{
		{"answered", poll("a", 0, answer) + poll("a", 10, answer) + poll("a", 20, answer), "10.64.0.1 every 10s: 3 polls, 3 answered, 0 late, [0 0 0 0 0], 0 undecided"},
		{"too few", poll("a", 0, answer) + poll("a", 10, answer), ""},
		{"lost", poll("a", 0, answer) + others(9) + poll("a", 10, silence) + poll("a", 20, answer), "10.64.0.1 every 10s: 3 polls, 2 answered, 0 late, [1 0 0 0 0], 0 undecided"},
		{"filtered", poll("a", 0, answer) + others(9) + poll("a", 10, silence) + others(15) + poll("a", 20, silence) + others(25) + poll("a", 30, silence) + poll("a", 35, silence),
			"10.64.0.1 every 8.75s: 5 polls, 1 answered, 0 late, [0 4 0 0 0], 0 undecided"},
		{"lost twice", others(9) + poll("a", 10, silence) + poll("a", 15, silence) + poll("a", 20, answer) + others(21) + poll("a", 25, silence),
			"10.64.0.1 every 5s: 4 polls, 1 answered, 0 late, [3 0 0 0 0], 0 undecided"},
		{"down", poll("a", 0, answer) + poll("a", 10, silence) + poll("a", 20, silence), "10.64.0.1 every 10s: 3 polls, 1 answered, 0 late, [0 0 0 0 2], 0 undecided"},
		{"others are answered something else", "9 z V ask | 9 z E answer | " + poll("a", 10, silence) + poll("a", 11, silence) + poll("a", 12, silence),
			"10.64.0.1 every 1s: 3 polls, 0 answered, 0 late, [0 0 0 0 3], 0 undecided"},
		{"others are answered between two requests", "0 a T ask | " + others(1) + poll("a", 20, silence) + poll("a", 40, answer),
			"10.64.0.1 every 20s: 3 polls, 1 answered, 0 late, [1 0 0 0 0], 1 undecided"},
		{"challenge unused", poll("a", 0, "A challenge") + poll("a", 10, "A challenge") + poll("a", 20, "A challenge,T echo,I answer"),
			"10.64.0.1 every 10s: 3 polls, 1 answered, 0 late, [0 0 2 0 0], 0 undecided"},
		{"challenge at the end", poll("a", 0, answer) + poll("a", 10, answer) + poll("a", 20, "A challenge"), "10.64.0.1 every 10s: 3 polls, 2 answered, 0 late, [0 0 0 0 0], 1 undecided"},
		{"rejected", poll("a", 0, answer) + "10 a T ask | 10.05 a icmp | 13.1 a T silence | " + poll("a", 20.5, answer), "10.64.0.1 every 10.25s: 3 polls, 2 answered, 0 late, [0 0 0 1 0], 0 undecided"},
		{"late", poll("a", 0, answer) + others(9) + poll("a", 10, "T silence,I late") + poll("a", 20, answer), "10.64.0.1 every 10s: 3 polls, 2 answered, 1 late, [0 0 0 0 0], 0 undecided"},
	} {
		got := polled(t, strings.TrimSuffix(tc.in, " | "))
		got, _, _ = strings.Cut(got, "; 10.64.0.26")
		if got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// A flood from invented addresses takes no row of a client that polls.
func TestPollsFlood(t *testing.T) {
	c := NewPolls(nil, 0.01)
	server := netip.MustParseAddrPort("198.18.0.1:27015")
	ask := func(i int, client netip.Addr) {
		c.AddFact(&track.Fact{Frame: uint64(i + 1), Age: int64(i), Server: server, Client: netip.AddrPortFrom(client, 4), Type: pollKinds["T"],
			Part: track.Part{Step: track.Ask, ID: uint64(i + 1)}}, nil, nil)
	}
	monitor := netip.MustParseAddr("10.64.0.1")
	for i := range 5000 {
		if i%1000 < 2 {
			ask(i, monitor)
		}
		ask(i, netip.AddrFrom4([4]byte{20, 0, byte(i >> 8), byte(i)}))
	}
	s := c.Summary()
	if len(s.Pollers) != 1 || s.Pollers[0].Client != monitor || s.Pollers[0].Polls != 10 || s.Evicted != 0 {
		t.Errorf("got  %+v", s)
	}
}
