// Package browse is the screen of qsniff browse: the messages of a capture as a list, and of
// the selected one its annotated tree and its bytes.
//
// The capture is read once, by package pipeline, into an index: 16 bytes a message, and every
// thousand packets a place from which it can be read again. Rows on the screen, and around
// it, are made by reading again from such a place. What a message is may depend on packets
// further up: its exchange, its connection. So the index has a hash of all that is shown of
// a message, and a row is shown only if it has that one; otherwise reading begins further
// up. So rows are those of qsniff read, and memory does not grow with what messages hold.
package browse

import (
	"context"
	"errors"
	"time"

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
