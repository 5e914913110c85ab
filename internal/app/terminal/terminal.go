// Package terminal is what the programs on a whole screen share, qsniff top and qsniff
// browse: how they take the terminal and give it back, colours, text from the network in
// cells, tables, a line of input, help, and lines of state. Nothing in it depends on what
// the traffic is: the packages below it make the screens.
//
// A screen is made by a model of bubbletea: Update changes it, View returns it as text. What
// View returns goes through Look.Screen, which leaves only what the terminal can show.
package terminal

import (
	"context"
	"errors"
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// Check reports whether keys and screen are a terminal that can show one.
func Check(keys, screen *os.File) bool {
	return term.IsTerminal(int(keys.Fd())) && term.IsTerminal(int(screen.Fd())) && os.Getenv("TERM") != "dumb"
}

// Run shows m on the terminal, with keys from there, until it quits or ctx ends. The terminal
// is given back then, and after a crash of m; for crashes of other goroutines there is Guard.
// The error is context.Canceled if ctx ended.
func Run(ctx context.Context, m tea.Model, keys *os.File) error {
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithInput(keys)).Run()
	switch {
	case ctx.Err() != nil:
		return context.Canceled
	case errors.Is(err, tea.ErrProgramPanic):
		return errors.New("the program has an error: what it was doing is above")
	}
	return err
}

// Look is what a terminal can show. The zero value can show all of Unicode.
type Look struct {
	ASCII bool // no other characters: the locale is not UTF-8
}

// LookOf returns the Look for an environment, as the C library chooses the locale.
func LookOf(getenv func(string) string) Look {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToUpper(getenv(name)); v != "" {
			return Look{ASCII: !strings.Contains(v, "UTF-8") && !strings.Contains(v, "UTF8")}
		}
	}
	return Look{ASCII: true}
}

// Screen returns a view of a whole screen with mouse: width columns and height lines of
// content, the rest of which is cut off.
func (l Look) Screen(content string, width, height int) tea.View {
	lines := strings.Split(content, "\n")
	lines = lines[:min(len(lines), max(height, 0))]
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], width, "")
	}
	v := tea.NewView(l.Plain(strings.Join(lines, "\n")))
	v.AltScreen, v.MouseMode = true, tea.MouseModeCellMotion
	return v
}

// ascii are the characters of screens that have a likeness in ASCII.
var ascii = strings.NewReplacer(
	"…", "~", "│", "|", "─", "-", "┼", "+", "├", "+", "└", "`", "↑", "^", "↓", "v", "←", "<", "→", ">", "▲", "^", "▼", "v", "▸", "+", "▾", "-", "•", "*", "·", ".",
	"▁", "_", "▂", ".", "▃", ".", "▄", "-", "▅", "=", "▆", "+", "▇", "*", "█", "#", "─", "-", "½", "/")

// Plain returns s with the characters that the terminal can show: of ASCII alone, each other
// one becomes its likeness, or question marks in as many cells.
func (l Look) Plain(s string) string {
	if !l.ASCII {
		return s
	}
	s = ascii.Replace(s)
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Repeat("?", ansi.StringWidth(string(r))))
		}
	}
	return b.String()
}
