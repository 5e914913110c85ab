package terminal

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/screentest"
)

// hostile are names that servers were given, or could be.
var hostile = []string{
	"\x1b[2J\x1b]0;a title\a", "\x9b31mC1", "\u009b31mC1", "\u202egnp.exe\u2066", "e\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301", "日本語サーバー", "a\nb\rc\td\be",
	"\u0301first", "👩\u200d👩\u200d👧", "\U000e0041tag", "\xff\xfe", strings.Repeat("x", 10_000), strings.Repeat("\x1b", 10_000), "\ufe0f\u00ad\u3164",
}

func TestHostileCells(t *testing.T) {
	for _, s := range hostile {
		for _, width := range []int{0, 1, 2, 7, 30} {
			for _, right := range []bool{false, true} {
				got := cell(s, width, right)
				if w := ansi.StringWidth(got); w != width || strings.ContainsAny(got, "\x1b\u009b\n\r\t\b\a\u202e\u2066\u200d") {
					t.Errorf("cell(%.20q, %d) = %q, %d cells", s, width, got, w)
				}
			}
		}
	}
}

func newTable(rows int) *Table {
	t := &Table{Columns: []Column{{Title: "no", Width: 4, Right: true}, {Title: "name"}}, Sorted: -1,
		Row: func(i int) []Cell {
			return []Cell{{fmt.Sprint(i), Dim}, {hostile[i%len(hostile)], Plain}}
		}}
	t.SetSize(20, 6)
	t.SetRows(rows)
	return t
}

func TestTable(t *testing.T) {
	x := newTable(100)
	for _, k := range []string{"G", "up", "pgup", "g", "down", "down"} {
		x.Update(screentest.Key(k))
	}
	if top, height := x.Window(); x.Selected() != 2 || top != 0 || height != 5 {
		t.Errorf("selected %d, top %d, height %d; want 2, 0, 5", x.Selected(), top, height)
	}
	x.Update(screentest.Key("end"))
	lines := strings.Split(x.View(), "\n")
	for _, l := range lines {
		if w := ansi.StringWidth(l); w != 20 {
			t.Errorf("%q has %d cells, want 20", l, w)
		}
	}
	if want := "  99 "; len(lines) != 6 || !strings.HasPrefix(ansi.Strip(lines[5]), want) {
		t.Errorf("last line of %d is %q, want %q", len(lines), lines[len(lines)-1], want)
	}
	x.Y = 3
	x.Update(tea.MouseClickMsg{X: 1, Y: 5})
	if x.Selected() != 96 {
		t.Errorf("a click selected %d, want 96", x.Selected())
	}
	if handled, head := x.Update(tea.MouseClickMsg{X: 8, Y: 3}); !handled || head != 1 {
		t.Errorf("a click on a head: %v, %d; want true, 1", handled, head)
	}
	x.SetRows(0)
	if x.Selected() != -1 || x.View() == "" {
		t.Errorf("an empty table selects %d, want -1", x.Selected())
	}
}

func TestInput(t *testing.T) {
	in := Input{
		Check: func(s string) *Mistake {
			if i := strings.Index(s, "!"); i >= 0 {
				return &Mistake{i, i + 1, "no ! here"}
			}
			return nil
		},
		Complete: func(prefix string) []string { return []string{"players", "playing"} },
	}
	in.Open("/ ", "pl")
	in.Update(screentest.Key("tab"))
	in.Update(screentest.Key("tab"))
	if got := ansi.Strip(in.View(30)); !strings.Contains(got, "/ play") || !strings.Contains(got, "players  playing") {
		t.Errorf("completed twice it is\n%s", got)
	}
	for _, k := range []string{"e", "r", "s", "!"} {
		in.Update(screentest.Key(k))
	}
	if _, accepted, _ := in.Update(screentest.Key("enter")); accepted || !in.IsOpen() {
		t.Fatal("a mistake was accepted")
	}
	want := "/ players!\n         ^\nno ! here"
	got := ansi.Strip(in.View(20))
	for i, l := range strings.Split(got, "\n") {
		if d := cmp.Diff(strings.Split(want, "\n")[i], strings.TrimRight(l, " ")); d != "" {
			t.Errorf("line %d (-want +got):\n%s", i, d)
		}
	}
	in.Update(screentest.Key("backspace"))
	if text, accepted, _ := in.Update(screentest.Key("enter")); !accepted || text != "players" || in.IsOpen() {
		t.Errorf("got %q, %v; want players, true", text, accepted)
	}
}

func TestLook(t *testing.T) {
	for env, want := range map[string]bool{"LANG=C": true, "LANG=en_US.UTF-8": false, "LC_ALL=C LANG=en_US.UTF-8": true, "LC_CTYPE=C.utf8": false, "": true} {
		get := func(name string) string {
			for _, w := range strings.Fields(env) {
				if v, ok := strings.CutPrefix(w, name+"="); ok {
					return v
				}
			}
			return ""
		}
		if got := LookOf(get).ASCII; got != want {
			t.Errorf("%q: ASCII %v, want %v", env, got, want)
		}
	}
	s := Sparkline([]float64{0, 1, 2, 8}, 6) + "│日…"
	got := Look{ASCII: true}.Plain(s)
	if want := "   ..#|??~"; got != want || ansi.StringWidth(got) != ansi.StringWidth(s) {
		t.Errorf("Plain(%q) = %q, want %q", s, got, want)
	}
	if v := (Look{}).Screen("abc\ndef\nghi", 2, 2); v.Content != "ab\nde" {
		t.Errorf("a screen of 2x2 is %q", v.Content)
	}
}

func TestHelp(t *testing.T) {
	var h Help
	h.Open(30, 8, HelpPart{Title: "Keys", Keys: MoveKeys}, HelpPart{Title: "Columns", Columns: []Column{{Title: "name", Meaning: "what the server calls itself, as it says"}}})
	h.Update(screentest.Key("G"))
	if got := ansi.Strip(h.View()); !strings.Contains(got, "name            what the") || !strings.Contains(got, "any other key") {
		t.Errorf("the end of the page is\n%s", got)
	}
	h.Update(screentest.Key("q"))
	if h.IsOpen() {
		t.Error("q did not close the page")
	}
}
