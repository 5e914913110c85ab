package top

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/capture/play"
	"qsniff/capture/recent"
	"qsniff/internal/app/terminal"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/monitor"
	"qsniff/internal/pipeline"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render/tally"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/screentest"
	"qsniff/internal/track"
)

// still is a run that is over.
type still struct {
	*Feed
	state *State
}

func (s *still) Take(context.Context) *State { return s.state }

// feedOf runs a capture to its end, and returns the feed and what it gives out then.
func feedOf(t testing.TB, src capture.Source) (*still, *Decoder) {
	t.Helper()
	reg := protos.Registry(t)
	d := flood.New(flood.Defaults(), 1, advice.New(reg, advice.DefaultExpiry))
	d.Know(reg.ServerPorts(), reg.ForeignTypes())
	cfg := pipeline.Config{Source: src, Registry: reg, Out: io.Discard, Jobs: 1}
	f := NewFeed(&cfg, monitor.Options{MaxServers: 16, Scale: 1, Clock: func() int64 { return 1 }}, d, nil, recent.NewStore())
	run, err := pipeline.Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	f.Meter.Snapshot(canceled) // asks for one
	f.progress(src.Stats(), func() tally.Run { return run })
	s := &still{f, f.Take(context.Background())}
	if s.state.Counters.Run.Packets != run.Packets {
		t.Fatalf("the state has %d packets of %d", s.state.Counters.Run.Packets, run.Packets)
	}
	s.state.Play = &play.State{First: run.First, Position: s.state.Nanos, Speed: 1, IsAtEnd: true}
	return s, &Decoder{Registry: reg, Store: f.Store, Filter: func(text string) (*filter.Program, error) { return filter.Compile(text, reg, filter.Options{}) }}
}

// player notes what it is told.
type player struct{ told []string }

func (p *player) SetSpeed(x float64) { p.told = append(p.told, speedText(x)) }
func (p *player) SetPaused(x bool)   { p.told = append(p.told, fmt.Sprint("paused ", x)) }
func (p *player) GoTo(nanos int64)   { p.told = append(p.told, fmt.Sprint(nanos)) }

// screenOf returns a model that shows the end of a capture, without anything that runs beside it.
func screenOf(t testing.TB, name string, width, height int, change func(*Options)) *Model {
	t.Helper()
	r, err := file.Open("../../../pcapfiles/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, d := feedOf(t, r)
	o := Options{Source: s, Player: &player{}, Decoder: d, Input: name, Settings: DefaultSettings(), UTC: true, Expiry: time.Hour, Limits: flood.Defaults(),
		Rules: func(*flood.Incident) string { return "nft -f - <<'END'\nthe rules\nEND\n" }}
	o.Asked.Captures = name
	if change != nil {
		change(&o)
	}
	m := New(o)
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	run(m, m.show(s.state))
	return m
}

// run runs a command and those that follow from it, and gives the model what they bring. A
// command that waits for the time of day is not run.
func run(m *Model, cmd tea.Cmd) {
	for cmd != nil {
		switch msg := cmd().(type) {
		case tea.BatchMsg:
			for _, c := range msg {
				run(m, c)
			}
			return
		case nil:
			return
		default:
			_, cmd = m.Update(msg)
		}
	}
}

// press presses keys, and runs what they begin.
func press(m *Model, keys ...string) {
	for _, k := range keys {
		msg := screentest.Key(k)
		_, cmd := m.Update(msg)
		if m.input.IsOpen() { // its commands blink
			continue
		}
		run(m, cmd)
	}
}

// enter types a text.
func enter(m *Model, text string) {
	for _, c := range text {
		press(m, string(c))
	}
	press(m, "enter")
}

// TestScreens compares screens of captures with files, in two sizes.
func TestScreens(t *testing.T) {
	for _, tc := range []struct {
		name, capture string
		keys          []string
	}{
		{"flood", "floods/spoofed.pcap", nil},
		{"incident", "floods/spoofed.pcap", []string{"i"}},
		{"calm", "stories/garbage-replies.pcap", nil},
		{"server", "a2s/full-poll.pcap", []string{"enter"}},
		{"clients", "a2s/full-poll.pcap", []string{"enter", "tab"}},
		{"kinds", "a2s/full-poll.pcap", []string{"enter", "tab", "tab"}},
		{"findings", "a2s/challenge-loop.pcap", []string{"enter", "tab", "tab", "tab"}},
		{"exchange", "a2s/full-poll.pcap", []string{"enter", "up", "enter", "tab", "down", "down", "down"}},
		{"columns", "a2s/full-poll.pcap", []string{"c", "down", "enter"}},
		{"help", "a2s/full-poll.pcap", []string{"?"}},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			name := fmt.Sprintf("%s-%d", tc.name, size[0])
			t.Run(name, func(t *testing.T) {
				m := screenOf(t, tc.capture, size[0], size[1], nil)
				press(m, tc.keys...)
				screentest.Check(t, name, m)
			})
		}
	}
}

// TestRemarks: the line of totals has in brief what the other commands say in a sentence each, and a capture in
// which replies lack their requests first.
func TestRemarks(t *testing.T) {
	m := screenOf(t, "a2s/info-24-bytes.pcap", 160, 24, nil)
	const words = "looks sampled, 1 of 10 packets or fewer: --sampled N"
	if text := m.servers.totals(); strings.Contains(text, "sampled") || strings.Count(text, ";") != 1 {
		t.Errorf("whole: %s", text)
	}
	run := &m.state.Counters.Run
	end := netip.MustParseAddrPort
	*run = tally.Run{Packets: 100, Samples: 1, SampledFor: 10, Merged: 1, Segments: 2, Proxied: 3, Copies: 40,
		Translations: []tally.Translation{{Inner: end("10.0.0.1:1"), Outer: end("192.0.2.1:1")}, {Inner: end("10.0.0.2:2"), Outer: end("192.0.2.1:2")}},
		Clock:        tally.Clock{Steps: 1, All: 2e9}, Skews: []tally.Skew{{Clock: "eth0", Other: "eth1"}}}
	all := m.servers.totals()
	for _, words := range []string{"samples: counts", "2 datagrams merged", "3 datagrams came", "40 copies not counted", "192.0.2.1:1 is 10.0.0.1:1 inside, and 1 more", "set back by 2 s", "clocks of interfaces"} {
		if !strings.Contains(all, words) {
			t.Errorf("no %q in %s", words, all)
		}
	}
	if n := len(run.Sentences()); strings.Count(all, ";") != n+1 {
		t.Errorf("%d sentences: %s", n, all)
	}
	run.Samples = 0
	m.state.Counters.Run.Pairing = tally.Pairing{Requests: 4000, Replies: 4000, Answered: 100, Unanswered: 900, Paired: 100, Strays: 900}
	if text := m.servers.totals(); !strings.Contains(text, words) {
		t.Errorf("sampled\n got %s\nwant %s", text, words)
	}
}

// TestAway: an interface that is away is said in place of that all is well, and an attack comes first.
func TestAway(t *testing.T) {
	for capture, want := range map[string]string{"a2s/full-poll.pcap": "1 interface is down or gone", "floods/spoofed.pcap": "ATTACK"} {
		m := screenOf(t, capture, 80, 24, func(o *Options) {
			s := o.Source.(*still)
			s.state.Counters.Live.Away = 1
			for i := range s.state.Incidents {
				s.state.Incidents[i].End = 0
			}
		})
		if first, _ := m.verdict(); !strings.Contains(first, want) {
			t.Errorf("%s: %q", capture, first)
		}
	}
}

// TestHostile: whatever servers call themselves, no screen has anything that acts on the terminal,
// is wider or longer than it, or has text in a direction that the terminal does not expect.
func TestHostile(t *testing.T) {
	names := []string{"\x1b[2J\x1b]0;a title\a", "\x9b31mC1", "\u202egnp.exe\u2066", "e\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301", "日本語サーバー日本語サーバー", "a\nb\rc\td\be",
		"👩\u200d👩\u200d👧", "\xff\xfe", strings.Repeat("x", 10_000), strings.Repeat("\x1b", 10_000)}
	for _, name := range names {
		m := screenOf(t, "a2s/full-poll.pcap", 80, 24, func(o *Options) {
			o.Input = name
			s := o.Source.(*still)
			for i := range s.state.Servers {
				p := &s.state.Servers[i].Profile
				for _, text := range []*track.ShortText{&p.Name, &p.Map, &p.Version, &p.Tags} {
					text.Set([]byte(name))
				}
			}
		})
		checkSizes(t, "servers", m)
		press(m, "enter")
		checkSizes(t, "server", m)
		press(m, "enter", "tab")
		checkSizes(t, "exchange", m)
	}
}

// checkSizes checks a screen in several sizes, with all characters and in ASCII.
func checkSizes(t *testing.T, where string, m *Model) {
	t.Helper()
	for _, width := range []int{5, 80, 200} {
		for _, m.opt.Look.ASCII = range []bool{false, true} {
			m.Update(tea.WindowSizeMsg{Width: width, Height: 24})
			checkScreen(t, where, m, width, m.opt.Look.ASCII)
		}
	}
}

// checkScreen checks what any screen must be.
func checkScreen(t *testing.T, where string, m *Model, width int, ascii bool) {
	t.Helper()
	content := m.View().Content
	lines := strings.Split(content, "\n")
	if len(lines) > 24 {
		t.Errorf("%s: %d lines", where, len(lines))
	}
	for _, l := range lines {
		if n := ansi.StringWidth(l); n > width {
			t.Errorf("%s: %d cells of %d: %q", where, n, width, l)
		}
	}
	text := ansi.Strip(content)
	if strings.ContainsAny(text, "\x1b\u009b\r\t\b\a\u202e\u2066\u200d\u0085") || strings.Contains(content, "\x1b]0;") {
		t.Errorf("%s: %q", where, text)
	}
	for _, c := range text {
		if ascii && c > 0x7e {
			t.Fatalf("%s: %q on a terminal of ASCII", where, c)
		}
	}
}

// TestSecrets: a password is on no screen, and is not copied.
func TestSecrets(t *testing.T) {
	m := screenOf(t, "rcon/secret-forms.pcap", 160, 50, nil)
	shown := ""
	press(m, "enter")
	for _, keys := range [][]string{nil, {"enter"}, {"up", "up", "up", "up", "up", "up"}, {"tab"}, {"down", "down", "down", "down", "down", "y"}, {"tab", "y"}} {
		press(m, keys...)
		shown += m.View().Content + m.message
	}
	if !strings.Contains(shown, "<redacted>") || strings.Contains(shown, "s3cr3t") {
		t.Errorf("screens of a login:\n%s", ansi.Strip(shown))
	}
}

// TestKeys: what keys do besides showing a screen.
func TestKeys(t *testing.T) {
	var saved []string
	m := screenOf(t, "a2s/full-poll.pcap", 100, 24, func(o *Options) {
		o.Save = func(s Settings) error { saved = append(saved, s.Text()); return nil }
		o.Write = func(p recent.Packets) (string, error) { return fmt.Sprint(len(p)), nil }
	})
	p := m.opt.Player.(*player)
	press(m, "p", "+", "-", "]", "{", "0", "$")
	press(m, ":")
	enter(m, "22:13:21")
	first := m.state.Play.First
	want := fmt.Sprintf("[paused true x2 x0.5 %d %d %d %d %d]", m.state.Play.Position+10e9, first, first, int64(1<<63-1), first+1e9)
	if got := fmt.Sprint(p.told); got != want {
		t.Errorf("the player was told %s, want %s", got, want)
	}
	press(m, ">", "r", "c", "down", "enter", "esc")
	if len(saved) != 1 || strings.Contains(saved[0], `"name"`) || !strings.Contains(saved[0], "rising = true") {
		t.Errorf("saved %q", saved)
	}
	press(m, "enter", "w")
	if m.message != "8 packets as they were captured, passwords included: 8" {
		t.Errorf("w in a server: %q", m.message)
	}
	press(m, "enter", "w")
	if m.message != "2 packets as they were captured, passwords included: 2" {
		t.Errorf("w in an exchange: %q", m.message)
	}
	press(m, "esc")
	press(m, "/")
	enter(m, "frame.number == 5")
	if s := m.top().(*server); len(s.shown) != 1 || s.shown[0].ID != 5 {
		t.Errorf("filtered: %+v", s.shown)
	}
	press(m, "/")
	enter(m, "frame.nmber == 5")
	if !m.input.IsOpen() || !strings.Contains(m.View().Content, "frame.number") {
		t.Errorf("a wrong filter: %s", m.View().Content)
	}
	press(m, "esc", "esc", "esc")
	if m.top() != m.servers {
		t.Errorf("the screen is %T", m.top())
	}
}

// TestRowFilter: words and comparisons choose servers, and mistakes have their place.
func TestRowFilter(t *testing.T) {
	m := screenOf(t, "a2s/full-poll.pcap", 100, 24, nil)
	for text, want := range map[string]int{"": 2, "DUST": 1, "dust nothing": 0, "players>2": 1, "players>3": 0, "players>=3 dust2": 1, "answered=100": 2, "served=100": 1, "findings>0": 0} {
		f, wrong := parseRowFilter(text)
		m.servers.filter = f
		m.servers.refresh()
		if len(m.servers.rows) != want || wrong != nil {
			t.Errorf("%q: %d rows, %v, want %d", text, len(m.servers.rows), wrong, want)
		}
	}
	for text, want := range map[string]terminal.Mistake{"x plyers>2": {From: 2, To: 8, Message: `no column "plyers": players`}, "players>2x": {From: 0, To: 10, Message: "write COLUMN>NUMBER, as in players>10 or answered<90"}} {
		if _, wrong := parseRowFilter(text); wrong == nil || *wrong != want {
			t.Errorf("%q: %+v, want %+v", text, wrong, want)
		}
	}
}

// TestSettings: what is right in a file counts, what is wrong is named.
func TestSettings(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "",
		"columns = [\"map\"]\nsort = \"map\"": "",
		"colums = []":                         `unknown key "colums": did you mean columns?`,
		"columns = [\"server\", \"plyers\"]":  `no column "plyers": did you mean players?`,
		"sort = 1":                            "incompatible types",
	} {
		s, err := ParseSettings(text)
		if got := fmt.Sprint(err); want != "" && !strings.Contains(got, want) || want == "" && err != nil {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if len(s.Columns) == 0 || columnOf(s.Sort) == nil {
			t.Errorf("%q: %+v", text, s)
		}
		if again, err := ParseSettings(s.Text()); err != nil || again.Text() != s.Text() {
			t.Errorf("%q: %+v is read as %+v, %v", text, s, again, err)
		}
	}
}
