// Package screentest compares screens of models with files.
package screentest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the screens of testdata")

// Check compares the screen of m with testdata/NAME.screen, or with -update writes it: the text,
// and which cells are in reverse.
func Check(t *testing.T, name string, m interface{ View() tea.View }) {
	t.Helper()
	got := Text(m.View().Content)
	path := filepath.Join("testdata", name+".screen")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

// Text returns a screen as plain text, each line with what ends it, and then the cells in
// reverse, of each line the columns.
func Text(content string) string {
	var b, marks strings.Builder
	for y, line := range strings.Split(content, "\n") {
		b.WriteString(strings.TrimRight(ansi.Strip(line), " ") + "\n")
		if m := reversed(line); m != "" {
			fmt.Fprintf(&marks, "reverse in line %d:%s\n", y+1, m)
		}
	}
	return b.String() + marks.String()
}

// reversed returns the columns of a line that are in reverse, as " 3-5" each.
func reversed(line string) string {
	var out strings.Builder
	x, from, state := 0, -1, byte(0)
	end := func() {
		if from >= 0 && x > from {
			fmt.Fprintf(&out, " %d-%d", from+1, x)
		}
		from = -1
	}
	for len(line) > 0 {
		seq, w, n, next := ansi.DecodeSequence(line, state, nil)
		if inner, ok := strings.CutPrefix(seq, "\x1b["); ok && strings.HasSuffix(inner, "m") {
			for _, p := range strings.Split(strings.TrimSuffix(inner, "m"), ";") {
				switch p {
				case "", "0", "27":
					end()
				case "7":
					end()
					from = x
				}
			}
		}
		x, line, state = x+w, line[n:], next
	}
	end()
	return out.String()
}

// Key returns the message of a key: a letter, or a name as bubbletea has it.
func Key(name string) tea.KeyPressMsg {
	named := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft,
		"right": tea.KeyRight, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "backspace": tea.KeyBackspace}
	if c, ok := named[name]; ok {
		return tea.KeyPressMsg{Code: c}
	}
	if rest, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: []rune(rest)[0], Mod: tea.ModCtrl}
	}
	if rest, ok := strings.CutPrefix(name, "shift+"); ok {
		return tea.KeyPressMsg{Code: named[rest], Mod: tea.ModShift}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}
