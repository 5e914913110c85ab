package browse

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"qsniff/internal/app/terminal"
	"qsniff/internal/test/screentest"
)

// newModel returns a model of a capture of pcapfiles, which is read.
func newModel(t testing.TB, name string, width, height int) *Model {
	t.Helper()
	m, err := New(t.Context(), options(t, filepath.Join("../../../pcapfiles", name)), "", terminal.Look{})
	if err != nil {
		t.Fatal(err)
	}
	m.hasTick = true // no clock runs
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	settle(t, m, nil)
	return m
}

// settle does what commands are for, until nothing is left.
func settle(t testing.TB, m *Model, cmd tea.Cmd) {
	t.Helper()
	whole(t, m.index)
	for range 5 {
		runCmd(m, cmd)
		m.fetching = nil
		cmd = m.refresh()
	}
}

func runCmd(m *Model, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			runCmd(m, c)
		}
	case fetchedMsg, wroteMsg:
		_, next := m.Update(msg)
		runCmd(m, next)
	}
}

func keys(t testing.TB, m *Model, names ...string) {
	t.Helper()
	for _, k := range names {
		_, cmd := m.Update(screentest.Key(k))
		settle(t, m, cmd)
	}
}

func TestScreens(t *testing.T) {
	for _, x := range []struct {
		name, capture string
		width, height int
		keys          string
	}{
		{"list-80", "a2s/full-poll.pcap", 80, 24, "down down down"},
		{"tree-120", "a2s/full-poll.pcap", 120, 40, "G tab down down down down down"},
		{"bytes-200", "goldsource/rules-93.pcap", 200, 50, "G tab tab pgdown right"},
		{"zoomed-80", "goldsource/rules-93.pcap", 80, 24, "G enter z G"},
		{"filter-80", "a2s/full-poll.pcap", 80, 24, "/ m e s s a g e = = S 2 A _ R U L E S enter"},
		{"mistake-80", "a2s/full-poll.pcap", 80, 24, "/ a 2 s . x enter"},
		{"follow-120", "stories/three-replies.pcap", 120, 40, "down f"},
		{"secret-120", "rcon/secret-commands.pcap", 120, 40, "down down down"},
		{"help-80", "a2s/full-poll.pcap", 80, 24, "?"},
		{"nothing-80", "a2s/full-poll.pcap", 80, 24, "/ r c o n enter"},
	} {
		t.Run(x.name, func(t *testing.T) {
			m := newModel(t, x.capture, x.width, x.height)
			keys(t, m, strings.Fields(x.keys)...)
			screentest.Check(t, x.name, m)
		})
	}
}

// TestKeys: what keys do that no screen above shows.
func TestKeys(t *testing.T) {
	m := newModel(t, "a2s/full-poll.pcap", 80, 24)
	frame := func() uint64 { return m.selected().Frame }
	for _, x := range []struct {
		keys string
		want uint64
	}{
		{"G", 8}, {"g", 1}, {": 5 enter", 5}, {"3 enter", 3}, {"f", 3}, {"f", 3}, {"esc esc", 3}, {"tab esc", 3}, {"down shift+tab esc", 4},
	} {
		keys(t, m, strings.Fields(x.keys)...)
		if frame() != x.want {
			t.Errorf("after %s frame %d is selected, want %d; filters %q", x.keys, frame(), x.want, m.filters)
		}
	}
	if len(m.filters) != 1 {
		t.Errorf("filters %q are left", m.filters)
	}
	_, cmd := m.Update(screentest.Key("y"))
	if !strings.Contains(m.say, "copied") || cmd == nil {
		t.Errorf("y says %q", m.say)
	}
	if _, cmd = m.Update(screentest.Key("q")); cmd == nil || cmd() == nil {
		t.Error("q does nothing")
	}
	wrote := ""
	m.s.o.Write = func(_ context.Context, path, filter string) (string, error) {
		wrote = path + " " + filter
		return "wrote it", nil
	}
	keys(t, m, "f", "w", "enter")
	if want := "out.pcapng exchange.id == 1"; wrote != want || m.say != "wrote it" {
		t.Errorf("w wrote %q, want %q; it says %q", wrote, want, m.say)
	}
	m.Update(tea.MouseClickMsg{X: 3, Y: 2})
	if i := m.table.Selected(); i != 1 {
		t.Errorf("a click selected row %d, want 1", i)
	}
}

// TestCountIsThatOfTheList: the line below does not count messages that the list does not have yet.
func TestCountIsThatOfTheList(t *testing.T) {
	m := newModel(t, "a2s/full-poll.pcap", 80, 24)
	m.table.SetRows(3) // as when more were found after the last Update
	if got := ansi.Strip(m.state()); !strings.HasPrefix(got, "1 of 3 messages") || strings.Contains(got, "? keys") {
		t.Errorf("got  %q\nwant 1 of 3 messages, and that the capture is being read", got)
	}
	m.refresh()
	if got := ansi.Strip(m.state()); !strings.HasPrefix(got, "1 of 9 messages") || !strings.Contains(got, "? keys") {
		t.Errorf("after a refresh\n got %q\nwant 1 of 9 messages  ? keys", got)
	}
}

func TestFindings(t *testing.T) {
	m := newModel(t, "stories/rcon-guessing.pcap", 80, 24)
	keys(t, m, "g", "n")
	first := m.selected()
	if first.Severity < 2 {
		t.Errorf("n selected a message with severity %d", first.Severity)
	}
	keys(t, m, "n", "N")
	if m.selected() != first {
		t.Error("n and N do not come back")
	}
}

// TestDamage: of a capture that is cut, what precedes that is shown, and then what is wrong.
func TestDamage(t *testing.T) {
	data, err := os.ReadFile("../../../pcapfiles/a2s/css-2007.pcap")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "cut.pcap")
	if err := os.WriteFile(name, data[:len(data)-40], 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := New(t.Context(), options(t, name), "", terminal.Look{ASCII: true})
	if err != nil {
		t.Fatal(err)
	}
	m.hasTick = true
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 30})
	settle(t, m, nil)
	screen := m.View().Content
	if m.index.len() != 7 || m.Damage() == nil || !strings.Contains(screen, "record cut") {
		t.Errorf("%d messages, damage %v, and the screen is\n%s", m.index.len(), m.Damage(), ansi.Strip(screen))
	}
	for _, r := range screen {
		if r >= 0x80 {
			t.Fatalf("%U on a screen of ASCII", r)
		}
	}
}

// TestSizes: no size and no key is too much, and no line wider than the screen.
func TestSizes(t *testing.T) {
	m := newModel(t, "hostile/name-ansi.pcap", 80, 24)
	for _, size := range [][2]int{{0, 0}, {1, 1}, {5, 3}, {20, 6}, {40, 10}, {99, 11}, {110, 4}, {300, 100}} {
		m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		keys(t, m, "z", "tab", "G", "z", "tab", "left", "?", "q", "/", "x", "enter", "esc", "down")
		lines := strings.Split(m.View().Content, "\n")
		if len(lines) > max(size[1], 1) {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, l := range lines {
			if plain := ansi.Strip(l); ansi.StringWidth(l) > size[0] || plain != terminal.Clean(plain) {
				t.Errorf("%v: %d cells: %q", size, ansi.StringWidth(l), l)
			}
		}
	}
}

// TestHostile: whatever a capture and its file hold, no screen has anything that acts on the terminal, or is wider or
// longer than it.
func TestHostile(t *testing.T) {
	names, err := filepath.Glob("../../../pcapfiles/hostile/*.pcap")
	if err != nil || len(names) < 30 {
		t.Fatal(len(names), err)
	}
	ping, err := os.ReadFile("../../../pcapfiles/hostile/name-ansi.pcap")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a\x1b]0;a title\a.pcap", "a\nb\r.pcap", "a\u202egnp.pcap", "a\u009b31m\xff.pcap", strings.Repeat("é", 120) + ".pcap"} {
		name = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(name, ping, 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	for i, name := range names {
		if testing.Short() && i%3 != 0 && !strings.Contains(name, "/name-") && !strings.Contains(name, "rcon") && i < len(names)-5 {
			continue
		}
		for _, ascii := range []bool{false, true} {
			m, err := New(t.Context(), options(t, name), "", terminal.Look{ASCII: ascii})
			if err != nil {
				t.Fatalf("%q: %v", name, err)
			}
			m.hasTick = true
			m.Update(tea.WindowSizeMsg{Width: 90, Height: 24})
			settle(t, m, nil)
			for _, key := range []string{"G", "tab", "G", "tab", "G", "z", "up", "enter", "z", "tab", "up", "enter", "?", "esc", "up", "up"} {
				keys(t, m, key)
				checkHarmless(t, name, m, 90, 24, ascii)
			}
			keys(t, m, "/")
			for _, key := range []string{"\x1b", "\u202e", "\u009b", "é", "enter"} {
				keys(t, m, key)
				checkHarmless(t, name, m, 90, 24, ascii)
			}
		}
	}
}

// checkHarmless checks what any screen of a size must be.
func checkHarmless(t *testing.T, name string, m *Model, width, height int, ascii bool) {
	t.Helper()
	v := m.View()
	lines := strings.Split(v.Content, "\n")
	if len(lines) > height || v.WindowTitle != "" && v.WindowTitle != terminal.Clean(v.WindowTitle) {
		t.Errorf("%q: %d lines, title %q", name, len(lines), v.WindowTitle)
	}
	if strings.Contains(v.Content, "\x1b]") {
		t.Errorf("%q: a sequence of the capture: %q", name, v.Content)
	}
	for _, l := range lines {
		plain := ansi.Strip(l)
		if ansi.StringWidth(l) > width || plain != terminal.Clean(plain) {
			t.Errorf("%q: %d cells: %q", name, ansi.StringWidth(l), l)
		}
		for _, c := range plain {
			if c < ' ' || ascii && c > '~' {
				t.Fatalf("%q: %q on the screen: %q", name, c, plain)
			}
		}
	}
}
