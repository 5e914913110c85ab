// Package browse is the screen of qsniff browse: the messages of a capture as a list, and of
// the selected one its annotated tree and its bytes.
//
// The capture is read once, by package pipeline, into an index: 16 bytes a message, and every
// thousand packets a place from which it can be read again. Rows on the screen, and around
// it, are made by reading again from such a place. The reading of a message may depend on
// packets further up: its exchange, its connection. So the index has a hash of all that is
// shown of a message, and a row is shown only if it has that one; otherwise reading begins
// further up. So rows are those of qsniff read, and memory does not grow with what messages hold.
package browse

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"qsniff/internal/app/terminal"
	"qsniff/internal/app/terminal/message"
	"qsniff/internal/pipeline/filter"
)

// pane is a part of the screen.
type pane uint8

const (
	listPane pane = iota
	treePane
	bytesPane
)

// Model is the screen. It is a model of bubbletea.
type Model struct {
	ctx  context.Context
	s    *session
	look terminal.Look

	width, height int
	pane          pane
	zoomed        bool // the pane has the screen
	table         terminal.Table
	message       *message.Panes
	input         terminal.Input
	asks          asked
	help          terminal.Help

	index   *index
	filters []string // of the index, and those before it
	say     string   // what the last key did
	srcW    int      // widths of the columns of addresses, which only grow
	dstW    int
	goFrame uint64 // to be selected once it is there

	fetching *fetching // nil: none
	hasTick  bool
	writing  bool
}

// asked is what the input is for.
type asked uint8

const (
	askFilter asked = iota
	askFrame
	askFile
)

// fetching is a fetch of rows under way.
type fetching struct {
	lo, hi int
	since  time.Time
	stop   context.CancelFunc
}

// New opens a capture and returns a model that begins with a filter, "" for none. The errors
// are those of the capture and of the filter. The capture is read until ctx ends.
func New(ctx context.Context, o Options, text string, look terminal.Look) (*Model, error) {
	s, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	m := &Model{ctx: ctx, s: s, look: look, message: message.New(o.Text), filters: []string{""}}
	m.table.Sorted = -1
	m.table.Row = m.cells
	if err := m.setFilter(text); err != nil {
		return nil, err
	}
	m.filters = []string{text}
	return m, nil
}

// Damage returns what was wrong with the capture, nil for nothing, as far as it was read.
func (m *Model) Damage() error {
	m.index.mu.RLock()
	defer m.index.mu.RUnlock()
	if isDamage(m.index.err) && m.ctx.Err() == nil {
		return m.index.err
	}
	return nil
}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd { return m.tick() }

// setFilter lists what a filter chooses, and stays at the selected frame.
func (m *Model) setFilter(text string) error {
	var p *filter.Program
	if text != "" {
		var err error
		if p, err = m.s.o.Compile(text); err != nil {
			return err
		}
	}
	if r := m.selected(); r != nil {
		m.goFrame = r.Frame
	}
	m.stopFetch()
	m.index = m.s.list(m.ctx, p)
	m.message.SetEvent(nil)
	m.table.SetRows(m.index.len())
	return nil
}

// selected returns the selected row, or nil.
func (m *Model) selected() *Row {
	if i := m.table.Selected(); i >= 0 && m.index != nil {
		return m.s.row(i)
	}
	return nil
}

// The messages of the model itself.
type (
	tickMsg    struct{}
	fetchedMsg struct{ f *fetching }
	wroteMsg   struct {
		text string
		err  error
	}
)

// tickEvery is how often the screen is made while something is under way. Chosen: fast enough
// to look immediate, and a screen takes about 1 ms.
const tickEvery = 40 * time.Millisecond

func (m *Model) tick() tea.Cmd {
	if m.hasTick {
		return nil
	}
	m.hasTick = true
	return tea.Tick(tickEvery, func(time.Time) tea.Msg { return tickMsg{} })
}

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.help = terminal.Help{}
	case tickMsg:
		m.hasTick = false
	case fetchedMsg:
		if m.fetching == msg.f {
			m.fetching = nil
		}
	case wroteMsg:
		m.writing, m.say = false, msg.text
		if msg.err != nil {
			m.say = msg.err.Error()
		}
	case tea.KeyPressMsg:
		cmd = m.press(msg)
	case tea.MouseMsg:
		m.mouse(msg)
	default:
		if m.input.IsOpen() {
			_, _, cmd = m.input.Update(msg)
		}
	}
	return m, tea.Batch(cmd, m.refresh())
}

// refresh takes over what the session has found, has rows made that the screen lacks, and
// keeps the clock running while something is under way.
func (m *Model) refresh() tea.Cmd {
	m.layOut()
	isDone := m.index.done() // asked first: what is listed in between is taken over at the next tick
	m.table.SetRows(m.index.len())
	if m.goFrame != 0 && m.index.has(m.goFrame) {
		m.table.Select(m.index.findFrame(m.goFrame))
		m.goFrame = 0
	}
	cmds := []tea.Cmd{m.fetch()}
	if r := m.selected(); r == nil || r.Event == nil {
		m.message.SetEvent(nil)
	} else if m.message.Event() != r.Event {
		m.message.SetEvent(r.Event)
	}
	if m.fetching != nil || m.writing || !isDone {
		cmds = append(cmds, m.tick())
	}
	return tea.Batch(cmds...)
}

// patience is how long a fetch for rows that have left the screen goes on. Chosen: most take
// less.
const patience = 200 * time.Millisecond

// fetch begins to make the rows that the screen lacks, and those around it.
func (m *Model) fetch() tea.Cmd {
	top, height := m.table.Window()
	selected := m.table.Selected()
	missing := m.s.missing(top, top+height, selected)
	if f := m.fetching; len(missing) == 0 || f != nil && (f.lo <= missing[0] && missing[len(missing)-1] < f.hi || time.Since(f.since) < patience) {
		return nil
	}
	m.stopFetch()
	lo, hi := top-height, top+2*height
	ctx, stop := context.WithCancel(m.ctx)
	f := &fetching{lo, hi, time.Now(), stop}
	m.fetching = f
	x := m.index
	return func() tea.Msg {
		defer stop()
		m.s.prune(top-4*height, top+5*height)
		m.s.fetch(ctx, x, missing)
		for _, around := range [2][]int{m.s.missing(top+height, hi, -1), m.s.missing(lo, top, -1)} {
			m.s.fetch(ctx, x, around)
		}
		return fetchedMsg{f}
	}
}

func (m *Model) stopFetch() {
	if m.fetching != nil {
		m.fetching.stop()
		m.fetching = nil
	}
}

// mouse handles the mouse: wheel and clicks go to the pane that they are over.
func (m *Model) mouse(msg tea.MouseMsg) {
	if m.help.IsOpen() {
		m.help.Update(msg)
		return
	}
	at := msg.Mouse()
	p, y := m.paneAt(at.X, at.Y)
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		if p == listPane {
			m.table.Update(msg)
		} else {
			m.message.Update(msg)
		}
	case tea.MouseClickMsg:
		m.focus(p)
		switch p {
		case listPane:
			m.table.Update(msg)
		case treePane:
			m.message.Click(message.Tree, y)
		case bytesPane:
			m.message.Click(message.Bytes, y)
		}
	}
}

// focus gives a pane the keys.
func (m *Model) focus(p pane) {
	m.pane = p
	m.table.Blur(p != listPane)
	m.message.SetPane(map[pane]message.Pane{treePane: message.Tree, bytesPane: message.Bytes}[p])
}

// check returns what is wrong with a filter.
func (m *Model) check(text string) *terminal.Mistake {
	if text == "" {
		return nil
	}
	_, err := m.s.o.Compile(text)
	var wrong *filter.Error
	if errors.As(err, &wrong) {
		return &terminal.Mistake{From: wrong.From, To: wrong.To, Message: wrong.Error()}
	}
	return nil
}

// The keys of the screen besides those of lists and of messages.
var (
	keyPane    = key.NewBinding(key.WithKeys("tab"), key.WithHelp("Tab", "next part of the screen: list, tree, bytes"))
	keyBack    = key.NewBinding(key.WithKeys("shift+tab"), key.WithHelp("Shift-Tab", "the part before"))
	keyOpen    = key.NewBinding(key.WithKeys("enter"), key.WithHelp("Enter", "from the list into the tree; there, fold or unfold"))
	keyZoom    = key.NewBinding(key.WithKeys("z"), key.WithHelp("z", "this part alone on the screen, and back"))
	keyFilter  = key.NewBinding(key.WithKeys("/"), key.WithHelp("/", "filter, as after -Y; Tab completes, Enter without one lists all"))
	keyFrame   = key.NewBinding(key.WithKeys(":"), key.WithHelp(": N", "go to frame N; a digit begins its number, too"))
	keyNext    = key.NewBinding(key.WithKeys("n"), key.WithHelp("n", "next message with a finding (note or worse)"))
	keyBefore  = key.NewBinding(key.WithKeys("N"), key.WithHelp("N", "the one before"))
	keyFollow  = key.NewBinding(key.WithKeys("f"), key.WithHelp("f", "follow: list its exchange; again, all between its two ends"))
	keyEscape  = key.NewBinding(key.WithKeys("esc", "backspace"), key.WithHelp("Esc", "back: to the list, then to the filter before"))
	keyWrite   = key.NewBinding(key.WithKeys("w"), key.WithHelp("w", "write the packets of the listed messages into a file, as pcapng"))
	keyCopy    = key.NewBinding(key.WithKeys("y"), key.WithHelp("y", "copy: the reading; in the tree the value, in the bytes these as hex (OSC 52)"))
	keyHelp    = key.NewBinding(key.WithKeys("?", "f1"), key.WithHelp("?", "this page"))
	keySuspend = key.NewBinding(key.WithKeys("ctrl+z"), key.WithHelp("Ctrl-Z", "suspend; fg goes on"))
	keyQuit    = key.NewBinding(key.WithKeys("q", "ctrl+c"), key.WithHelp("q Ctrl-C", "end"))

	screenKeys = []key.Binding{keyPane, keyBack, keyOpen, keyZoom, keyFilter, keyFrame, keyNext, keyBefore, keyFollow, keyEscape, keyWrite, keyCopy, keyHelp, keySuspend, keyQuit}
)

// press handles a key.
func (m *Model) press(k tea.KeyPressMsg) tea.Cmd {
	switch {
	case m.help.IsOpen():
		m.help.Update(k)
		return nil
	case m.input.IsOpen():
		text, accepted, cmd := m.input.Update(k)
		if accepted {
			return m.answer(strings.TrimSpace(text))
		}
		return cmd
	}
	m.say, m.goFrame = "", 0
	if cmd, ok := m.command(k); ok {
		return cmd
	}
	if m.pane == listPane {
		m.table.Update(k)
	} else {
		m.message.Update(k)
	}
	return nil
}

// command handles a key that is the same in all panes.
func (m *Model) command(k tea.KeyPressMsg) (tea.Cmd, bool) {
	switch {
	case key.Matches(k, keyQuit):
		return tea.Quit, true
	case key.Matches(k, keySuspend):
		return tea.Suspend, true
	case key.Matches(k, keyHelp):
		m.openHelp()
	case key.Matches(k, keyPane):
		m.focus((m.pane + 1) % 3)
	case key.Matches(k, keyBack):
		m.focus((m.pane + 2) % 3)
	case key.Matches(k, keyOpen) && m.pane == listPane:
		m.focus(treePane)
	case key.Matches(k, keyZoom):
		m.zoomed = !m.zoomed
	case key.Matches(k, keyFilter):
		return m.ask(askFilter, "filter: ", m.filter()), true
	case key.Matches(k, keyFrame):
		return m.ask(askFrame, "frame: ", ""), true
	case len(k.Text) == 1 && k.Text >= "0" && k.Text <= "9":
		return m.ask(askFrame, "frame: ", k.Text), true
	case key.Matches(k, keyNext):
		m.goFinding(1)
	case key.Matches(k, keyBefore):
		m.goFinding(-1)
	case key.Matches(k, keyFollow):
		m.follow()
	case key.Matches(k, keyEscape):
		m.escape()
	case key.Matches(k, keyWrite):
		return m.askWrite(), true
	case key.Matches(k, keyCopy):
		return m.copy(), true
	default:
		return nil, false
	}
	return nil, true
}

// filter returns the filter of the list.
func (m *Model) filter() string { return m.filters[len(m.filters)-1] }

// ask opens the input.
func (m *Model) ask(what asked, prompt, text string) tea.Cmd {
	m.asks, m.input = what, terminal.Input{}
	if what == askFilter {
		m.input.Check, m.input.Complete = m.check, m.s.o.Complete
	}
	return m.input.Open(prompt, text)
}

// answer does what was entered.
func (m *Model) answer(text string) tea.Cmd {
	switch m.asks {
	case askFilter:
		m.pushFilter(text)
	case askFrame:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			m.say = "a frame is a number from 1"
			return nil
		}
		i := m.index.findFrame(n)
		m.table.Select(i)
		if e := m.index.entries(i, i+1); len(e) > 0 && e[0].frame != n {
			m.say = fmt.Sprintf("no listed message was completed by frame %d; this is the nearest", n)
		}
	case askFile:
		return m.write(text)
	}
	return nil
}

// pushFilter lists what a filter chooses.
func (m *Model) pushFilter(text string) {
	if text == m.filter() {
		return
	}
	if err := m.setFilter(text); err != nil {
		m.say = err.Error()
		return
	}
	m.filters = append(m.filters, text)
}

// follow lists the exchange of the selected message, or if that is listed, what its two ends
// sent each other.
func (m *Model) follow() {
	r := m.selected()
	if r == nil || r.Event == nil {
		m.say = "nothing to follow here"
		return
	}
	e := r.Event
	conversation := fmt.Sprintf("addr == %s && addr == %s", e.Src, e.Dst)
	if e.Exchange.ID != 0 {
		exchange := fmt.Sprintf("exchange.id == %d", e.Exchange.ID)
		if m.filter() != exchange {
			m.pushFilter(exchange)
			return
		}
	}
	m.pushFilter(conversation)
}

// escape goes back: out of a pane, then to the filter before.
func (m *Model) escape() {
	switch {
	case m.zoomed:
		m.zoomed = false
	case m.pane != listPane:
		m.focus(listPane)
	case len(m.filters) > 1:
		m.filters = m.filters[:len(m.filters)-1]
		if err := m.setFilter(m.filter()); err != nil {
			m.say = err.Error()
		}
	}
}

// goFinding selects the next message with a finding.
func (m *Model) goFinding(step int) {
	if i := m.index.findFinding(m.table.Selected(), step); i >= 0 {
		m.table.Select(i)
	} else {
		m.say = "no more findings of note or worse in this direction"
	}
}

// copy copies the reading, the value or the bytes at the place.
func (m *Model) copy() tea.Cmd {
	text, why := "", "nothing to copy yet"
	switch r := m.selected(); {
	case m.pane != listPane && m.message.Event() != nil:
		text, why = m.message.Copied()
	case r != nil && m.pane == listPane:
		text, why = strings.TrimSpace(r.Proto+" "+r.Reading), ""
	}
	if why != "" {
		m.say = why
		return nil
	}
	m.say = fmt.Sprintf("copied %d bytes of text", len(text))
	return terminal.Copy(text)
}

// askWrite asks for the name of a file.
func (m *Model) askWrite() tea.Cmd {
	switch {
	case m.s.o.Write == nil:
		m.say = "what came through a pipe is not written: put it into a file first"
	case m.writing:
		m.say = "still writing"
	default:
		return m.ask(askFile, "write the packets of the listed messages to: ", "out.pcapng")
	}
	return nil
}

// write writes the packets of the listed messages.
func (m *Model) write(path string) tea.Cmd {
	if path == "" || path == "-" {
		m.say = "a name for the file is needed"
		return nil
	}
	m.writing, m.say = true, "writing to "+path
	text := m.filter()
	return func() tea.Msg {
		said, err := m.s.o.Write(m.ctx, path, text)
		return wroteMsg{said, err}
	}
}

func (m *Model) openHelp() {
	m.help.Open(m.width, m.height,
		terminal.HelpPart{Title: "Keys", Keys: screenKeys},
		terminal.HelpPart{Title: "To move, in each part", Keys: terminal.MoveKeys},
		terminal.HelpPart{Title: "In the tree and the bytes", Keys: message.TreeKeys},
		terminal.HelpPart{Title: "Columns", Columns: m.columns()},
		terminal.HelpPart{Title: "What else", Text: "The mouse selects, and its wheel scrolls. Text is selected with Shift held. Rows are those of qsniff read, " +
			"and are read again from the capture as they come onto the screen. Passwords are shown as <redacted> unless --show-secrets is given."})
}
