package terminal

import (
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"qsniff/internal/base/display"
)

// Mistake is what is wrong with what was entered, and where: bytes [From, To).
type Mistake struct {
	From, To int
	Message  string
}

// Input is a line in which something is entered: a filter, a number. The zero value is closed.
type Input struct {
	// Check returns what is wrong with a text, nil for nothing; Complete returns texts that
	// begin with a prefix, for Tab. Both may be nil.
	Check    func(text string) *Mistake
	Complete func(prefix string) []string

	field   textinput.Model
	mistake *Mistake
	choices []string // how the text may go on, after Tab
	isOpen  bool
}

// Open begins to take keys, with a prompt and a text to change.
func (in *Input) Open(prompt, text string) tea.Cmd {
	in.field = textinput.New()
	in.field.Prompt = prompt
	in.field.CharLimit = longestInput
	in.field.KeyMap.Paste.SetEnabled(false) // it would start programs; terminals paste themselves
	styles := in.field.Styles()
	styles.Cursor.Blink = false
	styles.Focused.Prompt = Head
	in.field.SetStyles(styles)
	in.field.SetValue(text)
	in.field.CursorEnd()
	in.mistake, in.choices, in.isOpen = nil, nil, true
	return in.field.Focus()
}

// longestInput is how many characters can be entered. Chosen: far more than a filter has, and
// checked at each key.
const longestInput = 4096

// IsOpen reports whether keys are for the input.
func (in *Input) IsOpen() bool { return in.isOpen }

// Update takes a message while the input is open. accepted is set where Enter was pressed and
// Check found nothing wrong: the input is closed then, as with Escape.
func (in *Input) Update(msg tea.Msg) (text string, accepted bool, cmd tea.Cmd) {
	if k, ok := msg.(tea.KeyPressMsg); ok {
		switch k.String() {
		case "esc", "ctrl+c":
			in.isOpen = false
			return "", false, nil
		case "enter":
			text = in.field.Value()
			if in.Check != nil {
				in.mistake = in.Check(text)
			}
			in.isOpen = in.mistake != nil
			return text, !in.isOpen, nil
		case "tab":
			in.complete()
			return "", false, nil
		}
	}
	in.field, cmd = in.field.Update(withoutHidden(msg))
	in.mistake, in.choices = nil, nil
	return "", false, cmd
}

// withoutHidden returns a key or a paste without characters that would be no part of what is seen of
// the line: marks of direction turn what follows them.
func withoutHidden(msg tea.Msg) tea.Msg {
	visible := func(r rune) rune {
		if r >= 0x80 && !display.Visible(r) {
			return -1
		}
		return r
	}
	switch m := msg.(type) {
	case tea.PasteMsg:
		m.Content = strings.Map(visible, m.Content)
		return m
	case tea.KeyPressMsg:
		m.Text = strings.Map(visible, m.Text)
		return m
	}
	return msg
}

// complete adds to the text what all ways to go on begin with, and shows these if that is
// nothing.
func (in *Input) complete() {
	if in.Complete == nil {
		return
	}
	text := in.field.Value()
	all := in.Complete(text)
	if len(all) == 0 {
		return
	}
	more := all[0]
	for _, s := range all[1:] {
		for !strings.HasPrefix(s, more) {
			more = more[:len(more)-1]
		}
	}
	if len(more) > len(text) {
		in.field.SetValue(strings.ToValidUTF8(more, ""))
		in.field.CursorEnd()
		in.choices = nil
		return
	}
	in.choices = all
}

// shownChoices returns ways to go on, without what they have in common, as a line.
func (in *Input) shownChoices() string {
	text := in.field.Value()
	from := strings.LastIndexAny(text, " (") + 1
	var words []string
	for _, s := range in.choices {
		words = append(words, s[min(from, len(s)):])
	}
	return Clean(strings.Join(words, "  "))
}

// Height returns how many lines View has.
func (in *Input) Height() int {
	switch {
	case in.mistake != nil:
		return 3
	case len(in.choices) > 0:
		return 2
	}
	return 1
}

// View returns the line, and below it what is wrong, with the place marked.
func (in *Input) View(width int) string {
	in.field.SetWidth(max(width-ansi.StringWidth(in.field.Prompt)-2, 1))
	s := Fit(in.field.View(), width)
	m := in.mistake
	switch {
	case m == nil && len(in.choices) > 0:
		return s + "\n" + Dim.Render(Fit(in.shownChoices(), width))
	case m == nil:
		return s
	}
	text := in.field.Value()
	from := min(m.From, len(text))
	at := ansi.StringWidth(in.field.Prompt) + ansi.StringWidth(text[:from])
	n := max(ansi.StringWidth(text[from:min(max(m.To, from), len(text))]), 1)
	mark, message := strings.Repeat(" ", at)+"^"+strings.Repeat("~", n-1), Clean(m.Message)
	if at+n > width { // the line is longer than the screen, which shows a part of it
		mark = ""
	}
	return s + "\n" + Bad.Render(Fit(mark, width)) + "\n" + Bad.Render(Fit(message, width))
}
