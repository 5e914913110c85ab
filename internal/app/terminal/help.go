package terminal

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Help is a page over the screen that explains keys and columns. The zero value is closed.
type Help struct {
	view   viewport.Model
	isOpen bool
}

// HelpPart is a part of the page: a title, then keys, columns or sentences.
type HelpPart struct {
	Title   string
	Keys    []key.Binding
	Columns []Column
	Text    string
}

// IsOpen reports whether keys are for the page.
func (h *Help) IsOpen() bool { return h.isOpen }

// Open shows parts in a page of the given size.
func (h *Help) Open(width, height int, parts ...HelpPart) {
	h.view = viewport.New(viewport.WithWidth(width), viewport.WithHeight(max(height-1, 1)))
	h.isOpen = true
	var lines []string
	for i, p := range parts {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, Head.Render(p.Title))
		for _, k := range p.Keys {
			lines = append(lines, explain(k.Help().Key, k.Help().Desc, width)...)
		}
		for _, c := range p.Columns {
			lines = append(lines, explain(c.Title, c.Meaning, width)...)
		}
		if p.Text != "" {
			lines = append(lines, strings.Split(ansi.Wordwrap(p.Text, width, ""), "\n")...)
		}
	}
	h.view.SetContentLines(lines)
}

// explain returns lines with a word and its meaning beside it.
func explain(word, meaning string, width int) []string {
	const nameW = 14
	lines := strings.Split(ansi.Wordwrap(meaning, max(width-nameW-2, 10), ""), "\n")
	for i := range lines {
		lines[i] = Fit("", nameW+2) + lines[i]
	}
	lines[0] = Name.Render(Fit(word, nameW)) + "  " + strings.TrimLeft(lines[0], " ")
	return lines
}

// Update takes a message while the page is open: keys that scroll it, and any other key,
// which closes it.
func (h *Help) Update(msg tea.Msg) {
	if k, ok := msg.(tea.KeyPressMsg); ok && !key.Matches(k, MoveKeys...) {
		h.isOpen = false
		return
	} else if ok && key.Matches(k, KeyFirst) {
		h.view.GotoTop()
		return
	} else if ok && key.Matches(k, KeyLast) {
		h.view.GotoBottom()
		return
	}
	h.view, _ = h.view.Update(msg)
}

// View returns the page.
func (h *Help) View() string {
	left := "any other key closes this"
	if !h.view.AtBottom() {
		left = "↓ for more; " + left
	}
	return h.view.View() + "\n" + Bar(left, "", h.view.Width())
}

// Copy returns a command that puts text into the clipboard of the terminal, by OSC 52: over
// ssh too. In tmux that takes set-clipboard on.
func Copy(text string) tea.Cmd { return tea.SetClipboard(text) }
