package top

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"qsniff/internal/app/terminal"
	"qsniff/internal/base/digits"
	"qsniff/internal/monitor"
)

// servers is the screen that the program begins with: the verdict, and a table of servers.
type servers struct {
	m      *Model
	head   []string // the lines before the table
	table  terminal.Table
	shown  []*column // of the table
	rows   []*row    // those that the filter chooses, in order
	hidden int       // rows that it does not
	made   []terminal.Cell
	filter rowFilter
	search string
	chosen netip.AddrPort // the server that is selected
	moved  bool           // a server was selected: it stays so wherever its row goes
}

func newServers(m *Model) *servers {
	s := &servers{m: m}
	s.table.Row = s.cells
	s.refresh()
	return s
}

func (s *servers) title() string {
	if s.filter.text == "" {
		return "Servers"
	}
	return fmt.Sprintf("Servers with %s: %d of %d", s.filter.text, len(s.rows), len(s.rows)+s.hidden)
}

// refresh makes the rows anew.
func (s *servers) refresh() {
	m := s.m
	s.layOut()
	if m.state == nil {
		return
	}
	s.rows, s.hidden = s.rows[:0], 0
	for i := range m.state.Servers {
		s.add(&m.state.Servers[i])
	}
	by := columnOf(m.opt.Settings.Sort)
	slices.SortStableFunc(s.rows, func(a, b *row) int {
		if m.opt.Settings.Rising {
			return by.compare(a, b)
		}
		return by.compare(b, a)
	})
	if o := &m.state.Other; o.In.Packets+o.Out.Packets+o.Junk.Packets > 0 {
		s.add(o)
	}
	s.table.SetRows(len(s.rows))
	if at := slices.IndexFunc(s.rows, func(r *row) bool { return r.Addr == s.chosen }); s.moved && at >= 0 {
		s.table.Select(at)
	}
}

func (s *servers) add(x *monitor.Server) {
	m := s.m
	r := &row{Server: x, points: m.state.Points, kinds: m.history.kindsOf(x), look: m.looks[x.Addr]}
	if !s.filter.matches(r) {
		s.hidden++
		return
	}
	s.rows = append(s.rows, r)
}

// layOut makes the columns for the width of the screen.
func (s *servers) layOut() {
	m := s.m
	var chosen []*column
	for _, id := range m.opt.Settings.Columns {
		chosen = append(chosen, columnOf(id))
	}
	s.table.Columns = fit(chosen, m.width)
	s.shown = s.shown[:0]
	s.table.Sorted, s.table.Falling = -1, !m.opt.Settings.Rising
	for i := range s.table.Columns {
		c := columnOfTitle(s.table.Columns[i].Title)
		s.shown = append(s.shown, c)
		if c.id == m.opt.Settings.Sort {
			s.table.Sorted = i
		}
	}
	s.head = s.head[:0]
	first, second := m.verdict()
	for _, text := range []string{first, second, s.totals()} {
		lines := wrap(text, m.width)
		s.head = append(s.head, lines[:min(len(lines), headLines)]...)
	}
	s.table.Y = len(s.head)
	s.table.SetSize(m.width, m.room()-len(s.head))
}

func columnOfTitle(title string) *column {
	return &columns[slices.IndexFunc(columns, func(c column) bool { return c.title == title })]
}

// cells returns the cells of a row.
func (s *servers) cells(i int) []terminal.Cell {
	r, cells := s.rows[i], s.made[:0] // drawn before the next row is made
	for j, c := range s.shown {
		r.width = s.table.Columns[j].Width
		text, style := c.show(r)
		if m := s.m; c.id == "server" && m.isAttacked(r.Addr) {
			style = terminal.Bad
		}
		cells = append(cells, terminal.Cell{Text: text, Style: style})
	}
	s.made = cells
	return cells
}

// selected returns the selected row, nil if there is none.
func (s *servers) selected() *row {
	if i := s.table.Selected(); i >= 0 {
		return s.rows[i]
	}
	return nil
}

func (s *servers) update(msg tea.Msg) tea.Cmd {
	handled, head := s.table.Update(msg)
	if head >= 0 {
		s.sortBy(s.shown[head].id)
		return nil
	}
	if r := s.selected(); handled && r != nil {
		_, isClick := msg.(tea.MouseClickMsg)
		isOpened := isClick && s.moved && s.chosen == r.Addr // a second click on the same row
		s.chosen, s.moved = r.Addr, true
		if isOpened {
			return s.open()
		}
	}
	return nil
}

// open opens the selected server.
func (s *servers) open() tea.Cmd {
	r := s.selected()
	switch {
	case r == nil:
		return nil
	case !r.Addr.IsValid():
		return s.m.say("all others never answered, or were too many: --servers ADDR:PORT,... gives rows to those that it names")
	}
	s.chosen, s.moved = r.Addr, true
	return s.m.openServer(r.Addr)
}

// sortBy sorts by a column; by the same one again the other way round.
func (s *servers) sortBy(id string) {
	x := &s.m.opt.Settings
	x.Rising = x.Sort == id && !x.Rising
	x.Sort = id
	s.refresh()
}

// sortNext sorts by a column right or left of the one at hand.
func (s *servers) sortNext(step int) {
	n := len(s.shown)
	at := slices.IndexFunc(s.shown, func(c *column) bool { return c.id == s.m.opt.Settings.Sort })
	s.m.opt.Settings.Rising = false
	s.m.opt.Settings.Sort = s.shown[((at+step)%n+n)%n].id
	s.refresh()
}

// find selects the next row with the text that is searched for.
func (s *servers) find() tea.Cmd {
	if s.search == "" {
		return s.m.say("nothing to search for: s")
	}
	from := s.table.Selected()
	for i := range s.rows {
		at := (from + 1 + i) % len(s.rows)
		if s.rows[at].contains(s.search) {
			s.table.Select(at)
			s.chosen, s.moved = s.rows[at].Addr, true
			return nil
		}
	}
	return s.m.say(fmt.Sprintf("no server with %q", s.search))
}

func (s *servers) view(width, height int) string {
	return strings.Join(s.head, "\n") + "\n" + s.table.View()
}

// wrap returns a text in lines, in its style each. Words are never broken at hyphens, as flags have
// these.
func wrap(text string, width int) (lines []string) {
	for _, line := range strings.Split(ansi.Wordwrap(strings.ReplaceAll(text, "-", hyphen), max(width, 1), ""), "\n") {
		lines = append(lines, strings.ReplaceAll(line, hyphen, "-"))
	}
	return lines
}

const hyphen = "\u2011" // one at which no line ends

// totals is the line of totals: what all servers are asked, and what the capture missed.
func (s *servers) totals() string {
	x := s.m.state
	if x == nil {
		return ""
	}
	asked, answered, all := 0.0, 0.0, 0.0
	add := func(o *monitor.Server) {
		asked += o.Rates.Requests
		answered += float64(o.Lately.Answered)
		all += float64(o.Lately.Answered) + float64(o.Lately.Unanswered)
	}
	for i := range x.Servers {
		add(&x.Servers[i])
	}
	add(&x.Other)
	text := fmt.Sprintf("%s, %s queries/s", digits.Counted(uint64(len(x.Servers)), "server"), rate(asked))
	if all > 0 {
		text += fmt.Sprintf(", %s answered in the last %s", percent(100*answered/all), digits.Span(max(x.LatelySpan.Round(time.Second), time.Second)))
	}
	text += "; " + digits.Counted(x.Counters.Run.Packets, "packet")
	if n := x.Counters.Live.Kernel + x.Counters.Live.Card + x.Counters.Run.Dropped; n > 0 {
		text += terminal.Warn.Render("; " + digits.Counted(n, "packet was", "packets were") + " missed: figures are too low")
	}
	if n := x.Counters.Run.LooksSampled(); n > 1 {
		text += terminal.Warn.Render(fmt.Sprintf("; looks sampled, 1 of %d packets or fewer: --sampled N", n))
	}
	return text
}

// lookedMsg is what the packets of a server show; nil: nothing new.
type lookedMsg struct{ look *lookAt }

// lookOn has the packets of the next server on the screen decoded, beside the screen, if they
// changed.
func (m *Model) lookOn() tea.Cmd {
	s := m.servers
	first, n := s.table.Window()
	if len(m.looks) > 2*len(m.state.Servers) { // of servers that gave their counters to others
		clear(m.looks)
	}
	if m.isLooking || m.opt.Decoder == nil || len(s.rows) == 0 {
		return nil
	}
	for range min(n, len(s.rows)) {
		at := first + m.nextLook%max(n, 1)
		m.nextLook++
		if at >= len(s.rows) || !s.rows[at].Addr.IsValid() {
			continue
		}
		a := s.rows[at].Addr
		if old := m.looks[a]; old != nil && old.added == m.opt.Decoder.Store.Added(a) {
			continue
		}
		m.isLooking = true
		return func() tea.Msg {
			look, err := m.opt.Decoder.decode(context.Background(), a, "")
			if err != nil {
				return lookedMsg{}
			}
			return lookedMsg{&lookAt{server: a, added: look.added, findings: look.findings}}
		}
	}
	return nil
}
