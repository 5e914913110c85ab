package loaded

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/flood"
	"qsniff/internal/test/floodtest"
)

func open(t testing.TB, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestParseNFT: table.json is what nft 1.0.6 lists of the rules in internal/flood/rules/nft/testdata, after
// 50 queries of the source that they name and 500 of another, of which 30 passed the limit for each source:
// those came to the cap as well, and count once.
func TestParseNFT(t *testing.T) {
	got, err := ParseNFT(open(t, "table.json"))
	if err != nil || !got.IsLoaded || got.Handle == 0 || len(got.Targets) != 7 {
		t.Fatalf("%+v, %v", got, err)
	}
	if want := (Target{Kinds: "flood_few, flood_spoofed", Target: "udp/" + floodtest.Server, Looked: 550, Dropped: 520}); got.Targets[0] != want {
		t.Errorf("got %+v, want %+v", got.Targets[0], want)
	}
	for i, want := range []string{"udp/[2001:db8::17]:27015", "udp/192.0.2.0/24:27015", "198.51.100.19", "udp/198.51.100.20:27015", "tcp/198.51.100.17:27015", "udp/198.51.100.18:27015"} {
		if x := got.Targets[i+1]; x.Target != want || x.Looked != 0 || x.Dropped != 0 {
			t.Errorf("got %+v, want nothing at %s", x, want)
		}
	}
	if age, left, ok := parseAge(open(t, "set.json")); !ok || age+left != 3600 || left < 3500 {
		t.Errorf("the rules are %d s old and stay %d s: %v", age, left, ok)
	}
}

// TestParseHostile: what is no list of qsniff's rules gives no figure and no error that stops the command, or
// an error.
func TestParseHostile(t *testing.T) {
	for _, text := range []string{
		`{"nftables":[{"rule":{"chain":"pre","comment":"flood at nothing\u001b[2J","expr":[{"counter":{"packets":5}},{"jump":{"target":"target1"}}]}}]}`,
		`{"nftables":[{"rule":{"chain":"target1","expr":[{"counter":"named"},{"drop":null}]}}]}`,
		`{"nftables":[{"rule":[]},{"set":{"name":"until1","elem":["10.0.0.1"]}}]}`,
		`{"nftables":null}`, `{}`,
	} {
		got, err := ParseNFT(strings.NewReader(text))
		if err != nil || len(got.Targets) != 0 {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if _, _, ok := parseAge(strings.NewReader(text)); ok {
			t.Errorf("%s has an age", text)
		}
	}
	for _, text := range []string{"", "[", `{"nftables":7}`, strings.Repeat(" ", longestListing+1)} {
		if got, err := ParseNFT(strings.NewReader(text)); err == nil {
			t.Errorf("%.20q: %+v", text, got)
		}
	}
	many := strings.Repeat(`{"rule":{"chain":"pre","comment":"flood_few at udp/10.0.0.1:1","expr":[{"jump":{"target":"target1"}}]}},`, 2*maxTargets)
	if got, err := ParseNFT(strings.NewReader(`{"nftables":[` + strings.TrimSuffix(many, ",") + `]}`)); err != nil || len(got.Targets) != maxTargets {
		t.Errorf("%d targets, %v", len(got.Targets), err)
	}
}

// FuzzParseNFT: whatever the text, no more is dropped than was looked at, and what is shown is a mark.
func FuzzParseNFT(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "table.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Fuzz(func(t *testing.T, text string) {
		parseAge(strings.NewReader(text))
		got, err := ParseNFT(strings.NewReader(text))
		if err != nil {
			return
		}
		if len(got.Targets) > maxTargets {
			t.Errorf("%d targets", len(got.Targets))
		}
		for _, x := range got.Targets {
			if x.Dropped > x.Looked || len(x.Target) > 128 || strings.ContainsAny(x.Target+x.Kinds, "\x1b\n\x00") {
				t.Errorf("%+v", x)
			}
		}
	})
}

// TestDescribe: the sentence about the rules against a flood, as tables come.
func TestDescribe(t *testing.T) {
	at := flood.Target{End: netip.MustParseAddrPort(floodtest.Server)}
	start := time.Unix(1_700_000_000, 0)
	r := new(Reader)
	says := func(after time.Duration, tab *Table) string {
		t.Helper()
		r.put(tab, start.Add(after))
		return r.Latest().Describe(at, start.Add(after))
	}
	table := func(handle, looked, dropped uint64) *Table {
		return &Table{IsLoaded: true, Handle: handle, Since: start.Unix() - 180, Expires: start.Unix() + 60, Targets: []Target{{"flood_few", at.String(), looked, dropped}}}
	}
	for _, x := range []struct {
		after time.Duration
		table *Table
		want  string
	}{
		{0, &Table{}, ""},
		{0, &Table{Problem: "nft failed"}, ""},
		{0, table(1, 100, 50), "Your rules, loaded 3 min ago, are being counted."},
		{2 * time.Second, table(1, 100, 50), "Your rules, loaded 3 min ago, see nothing that they look at."},
		{4 * time.Second, table(1, 4100, 3890), "Your rules, loaded 3 min ago, drop 96 %: 960 of the 1,000 packets a second that they look at."},
		{12 * time.Second, table(1, 8100, 7890), "Your rules, loaded 3 min ago, drop 98 %: 784 of the 800 packets a second that they look at."},
		{14 * time.Second, table(1, 12100, 11890), "Your rules, loaded 3 min ago, drop 100 %: 800 of the 800 packets a second that they look at."},
		{16 * time.Second, table(2, 100, 50), "Your rules, loaded 3 min ago, are being counted."},
		{61 * time.Second, table(2, 100, 50), "Your rules have expired and match nothing any more: load them again."},
		{62 * time.Second, &Table{IsLoaded: true, Targets: []Target{{"flood_few", "udp/10.0.0.1:27015", 1, 1}}}, "The rules that are loaded are not for this target."},
		{64 * time.Second, nil, ""},
	} {
		if got := says(x.after, x.table); got != x.want {
			t.Errorf("after %v:\ngot  %s\nwant %s", x.after, got, x.want)
		}
	}
	if got := (*Reader)(nil).Latest().Describe(at, start); got != "" {
		t.Errorf("of what is not read: %s", got)
	}
}

// TestEffect: what rules change for clients is compared with what these got before, and said where it is no more.
func TestEffect(t *testing.T) {
	at := flood.Target{End: netip.MustParseAddrPort(floodtest.Server)}
	start := time.Unix(1_700_000_000, 0)
	answers := func(asked, given uint64, served int) flood.Answers {
		return flood.Answers{ProvenAsked: asked, ProvenGiven: given, FirstAsked: 1, Clients: 4, ClientsServed: served}
	}
	for _, x := range []struct {
		name             string
		before           *flood.Answers // nil: the rules were there already
		atLoading, later flood.Answers
		want             string
	}{
		{"helps", new(answers(100, 6, 0)), answers(100, 6, 0), answers(200, 103, 4),
			" Proven clients got a reply to 97 % of their queries since, and to 6 % before. Now 4 of 4 proven clients are served."},
		{"does not", new(answers(100, 6, 0)), answers(100, 6, 0), answers(200, 13, 1),
			" They do not help: proven clients got a reply to 7 % of their queries since, and to 6 % before. Now 1 of 4 proven clients are served."},
		{"was well before", new(answers(100, 95, 4)), answers(100, 95, 4), answers(200, 189, 4),
			" Proven clients got a reply to 94 % of their queries since, and to 95 % before. Now 4 of 4 proven clients are served."},
		{"before is unknown", nil, answers(100, 6, 0), answers(200, 26, 1),
			" Proven clients got a reply to 20 % of their queries since. Now 1 of 4 proven clients are served."},
		{"no client", new(answers(0, 0, 0)), answers(0, 0, 0), answers(3, 0, 0),
			" Whether clients are served is unknown: too few that proved their address asked since."},
	} {
		r := new(Reader)
		show := func(after time.Duration, tab *Table, a flood.Answers) *State {
			r.put(tab, start.Add(after))
			return r.LatestFor([]flood.Incident{{ID: 7, Target: at, Answers: a}})
		}
		if x.before != nil {
			show(0, &Table{}, *x.before)
		}
		table := &Table{IsLoaded: true, Handle: 3, Targets: []Target{{"flood_spoofed", at.String(), 100, 90}}}
		show(time.Second, table, x.atLoading)
		s := show(2*time.Second, table, x.later)
		if got := s.describeEffect(at); got != x.want {
			t.Errorf("%s:\ngot  %s\nwant %s", x.name, got, x.want)
		}
	}
}

// TestDescribeIdle: when nothing goes on, rules that are loaded are named with how to remove them.
func TestDescribeIdle(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, x := range []struct {
		table Table
		want  string
	}{
		{Table{}, ""},
		{Table{IsLoaded: true, Undo: undoNFT}, "Your rules are still loaded. Undo: sudo nft delete table inet qsniff"},
		{Table{IsLoaded: true, Undo: undoNFT, Expires: now.Unix() + 600}, "Your rules are still loaded, and expire in 10 min. Undo: sudo nft delete table inet qsniff"},
		{Table{IsLoaded: true, Undo: undoNFT, Expires: now.Unix() - 1}, "Your rules are still loaded, but have expired and match nothing any more. Undo: sudo nft delete table inet qsniff"},
	} {
		if got := (&State{Table: x.table}).DescribeIdle(now); got != x.want {
			t.Errorf("got  %s\nwant %s", got, x.want)
		}
	}
	if got := (*State)(nil).DescribeIdle(now); got != "" {
		t.Error(got)
	}
	at := flood.Target{End: netip.MustParseAddrPort(floodtest.Server)}
	s := &State{Table: Table{IsLoaded: true, Undo: undoNFT, Targets: []Target{{"flood_few", at.String(), 1, 1}}}}
	for _, x := range []struct {
		in   flood.Incident
		want string
	}{
		{flood.Incident{Target: at, Level: flood.Alert}, "udp/" + floodtest.Server + ": Your rules are being counted"},
		{flood.Incident{Target: at, Level: flood.Alert, End: 1}, "Your rules are still loaded. Undo: sudo nft delete table inet qsniff"},
		{flood.Incident{Target: at, Level: flood.Info}, "Your rules are still loaded. Undo: sudo nft delete table inet qsniff"},
	} {
		if got := s.Sentences([]flood.Incident{x.in}, now); len(got) != 1 || got[0] != x.want {
			t.Errorf("got %q, want %q", got, x.want)
		}
	}
	if got := (*State)(nil).Sentences(nil, now); got != nil {
		t.Error(got)
	}
}

// TestParseIPTables: saved.txt is what iptables-save 1.8.9 prints after 1,000 queries and 10 other packets in a moment.
// Without the line of the hook the rules are not loaded, and lines of others do not count.
func TestParseIPTables(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "saved.txt"))
	if err != nil {
		t.Fatal(err)
	}
	got := parseIPTables(map[string][]byte{"iptables": text})
	want := Table{IsLoaded: true, Expires: 1795899289, Undo: "sudo iptables -t raw -D PREROUTING -j QSNIFF", Handle: got.Handle,
		Targets: []Target{{Kinds: "flood_spoofed", Target: "udp/198.18.7.1:27015", Looked: 1000, Dropped: 599}}}
	if diff := cmp.Diff(&want, got); diff != "" || got.Handle == 0 {
		t.Errorf("want -, got +\n%s", diff)
	}
	later := strings.ReplaceAll(string(text), "[599:31747]", "[700:37000]")
	if again := parseIPTables(map[string][]byte{"iptables": []byte(later)}); again.Handle != got.Handle || again.Targets[0].Dropped != 700 {
		t.Errorf("counted on: %+v", again)
	}
	if again := parseIPTables(map[string][]byte{"ip6tables": text}); again.Handle == got.Handle || !strings.Contains(again.Undo, "sudo ip6tables") {
		t.Errorf("of another tool: %+v", again)
	}
	for _, without := range []string{"[1010:53330] -A PREROUTING -j QSNIFF\n", "] -A"} {
		if got := parseIPTables(map[string][]byte{"iptables": []byte(strings.ReplaceAll(string(text), without, ""))}); got.IsLoaded || got.Targets != nil {
			t.Errorf("without %q: %+v", without, got)
		}
	}
	if got := parseIPTables(nil); got.IsLoaded {
		t.Errorf("of nothing: %+v", got)
	}
}

// FuzzIPTables: a firewall has lines of others.
func FuzzIPTables(f *testing.F) {
	f.Add("*raw\n[1:2] -A PREROUTING -j QSNIFF\n[1:2] -A QSNIFF -m comment --comment \"a at udp/1.2.3.4:5\" -j QSNIFF1\n[9:9] -A QSNIFF1 -j DROP")
	f.Fuzz(func(t *testing.T, text string) {
		got := parseIPTables(map[string][]byte{"iptables": []byte(text)})
		if len(got.Targets) > maxTargets || strings.ContainsAny(got.Undo, "\x1b\x00") {
			t.Errorf("%+v", got)
		}
	})
}
