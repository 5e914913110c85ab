// Package terminal is what the programs on a whole screen share, qsniff top and qsniff
// browse: how they take the terminal and give it back, colours, text from the network in
// cells, tables, a line of input, help, and lines of state. Nothing in it depends on what
// the traffic is: the packages below it make the screens.
//
// A screen is made by a model of bubbletea: Update changes it, View returns it as text. The
// text goes through Look.Screen, which leaves only what the terminal can show.
package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"qsniff/internal/base/display"
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

// restore takes a terminal that a program did not give back to its usual state: not the other screen,
// a cursor, no mouse, no bracketed paste, no protocol of keys, no colours.
const restore = "\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[<u\x1b[>4;0m\x1b[0m\r\n"

// Guard runs a program that takes the terminal, which is standard output, as another process,
// and waits for it. However that ends, the terminal is as it was before; what it wrote to
// standard error, of which the first part is kept, is returned, for no screen has a place for
// it. crashed is set where it ended by a signal, or as programs in Go do that crash. Once ctx
// ends the program gets SIGTERM.
func Guard(ctx context.Context, cmd *exec.Cmd) (status int, stderr []byte, crashed bool, err error) {
	fd := int(os.Stdout.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return 0, nil, false, err
	}
	var kept head
	cmd.Stderr = &kept
	if err := cmd.Start(); err != nil {
		return 0, nil, false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) }) // it may be over
	defer stop()
	defer followStops(cmd.Process.Pid)()
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, kept, false, err
	}
	status = cmd.ProcessState.ExitCode()
	const crash = 2 // of the runtime of Go
	if crashed = status < 0 || status == crash && kept.isDump(); crashed {
		_, _ = os.Stdout.WriteString(restore)
	}
	return status, kept, crashed, term.Restore(fd, before)
}

// head keeps the first part of what is written to it.
type head []byte

// keptError is how much is kept of standard error. Chosen: what a crash prints first, with the
// goroutines at work.
const keptError = 64 << 10

// Write implements io.Writer: of more than is kept, the first part stays.
func (t *head) Write(b []byte) (int, error) {
	*t = append(*t, b[:min(len(b), keptError-len(*t))]...)
	return len(b), nil
}

// isDump reports whether it is what Go writes of a crash.
func (t head) isDump() bool {
	for _, lead := range []string{"panic: ", "fatal error: ", "SIG", "runtime: "} {
		if len(t) >= len(lead) && string(t[:len(lead)]) == lead {
			return true
		}
	}
	return false
}

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

// Notes keeps what runs print, each in a goroutine of its own, until the screen is gone.
type Notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds a text.
func (n *Notes) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(b)
}

// PrintTo prints what was kept so far, line by line: w may take each text for one.
func (n *Notes) PrintTo(w io.Writer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for line := range bytes.Lines(n.text.Bytes()) {
		_, _ = w.Write(line)
	}
	n.text.Reset()
}
