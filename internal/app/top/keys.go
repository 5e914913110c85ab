package top

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/BurntSushi/toml"

	"qsniff/capture/play"
	"qsniff/capture/recent"
	"qsniff/internal/app/terminal"
	"qsniff/internal/app/terminal/message"
	"qsniff/internal/render/manual"
)

// binding is a key and what it does. keys is the one list of them, besides those that move in
// lists: help, the line of state and the manual are made of it.
type binding struct {
	key.Binding
	hint  string // in the line of state; empty: it is not there
	isFor func(*Model) bool
	do    func(*Model) tea.Cmd
}

func bind(help, meaning, hint string, isFor func(*Model) bool, do func(*Model) tea.Cmd, names ...string) binding {
	return binding{key.NewBinding(key.WithKeys(names...), key.WithHelp(help, meaning)), hint, isFor, do}
}

// Which screens keys are for.
func anywhere(*Model) bool     { return true }
func inServers(m *Model) bool  { return m.top() == m.servers }
func inServer(m *Model) bool   { _, ok := m.top().(*server); return ok }
func inExchange(m *Model) bool { _, ok := m.top().(*exchangeScreen); return ok }
func inColumns(m *Model) bool  { _, ok := m.top().(*chooser); return ok }
func inTables(m *Model) bool   { return inServers(m) || inServer(m) }
func inPanes(m *Model) bool    { return inServer(m) || inExchange(m) }
func canCopy(m *Model) bool    { return inServers(m) || inExchange(m) || inIncidents(m) }
func plays(m *Model) bool      { return m.opt.Player != nil && m.state != nil && m.state.Play != nil }
func inIncidents(m *Model) bool {
	_, ok := m.top().(*incidents)
	return ok
}

// keys are all there are. It is filled in by init, because help, which it names, is made of it.
var keys []binding

func init() {
	keys = []binding{
		bind("Enter", "open what is selected: a server, an exchange, a client's exchanges", "open", inTables, (*Model).open, "enter"),
		bind("Enter", "in the list of columns: show the selected one, or not", "show", inColumns, func(m *Model) tea.Cmd { return m.top().(*chooser).toggle() }, "enter"),
		bind("Esc", "back", "back", func(m *Model) bool { return len(m.stack) > 1 || m.servers.filter.text != "" }, (*Model).back, "esc", "backspace"),
		bind("?", "this page", "help", anywhere, (*Model).openHelp, "?"),
		bind("i", "incidents: evidence, advice, and the lines to paste", "incidents", func(m *Model) bool { return !inIncidents(m) }, func(m *Model) tea.Cmd { return m.push(newIncidents(m)) }, "i"),
		bind("/", "filter: of servers by words and by comparisons of columns (players>10 answered<90); of exchanges by an expression, as of qsniff read -Y", "filter", inTables, (*Model).enterFilter, "/"),
		bind("s", "search a server by a text", "", inServers, (*Model).enterSearch, "s"),
		bind("n", "the next one that has the text", "", inServers, func(m *Model) tea.Cmd { return m.servers.find() }, "n"),
		bind("< >", "sort by the column to the left or right; in columns: move it", "sort", func(m *Model) bool { return inServers(m) || inColumns(m) }, func(m *Model) tea.Cmd { return m.step(1) }, ">"),
		bind("<", "", "", func(m *Model) bool { return inServers(m) || inColumns(m) }, func(m *Model) tea.Cmd { return m.step(-1) }, "<"),
		bind("r", "sort the other way round", "", inServers, func(m *Model) tea.Cmd { m.servers.sortBy(m.opt.Settings.Sort); return nil }, "r"),
		bind("c", "choose columns, and their order", "columns", inServers, func(m *Model) tea.Cmd { return m.push(newChooser(m)) }, "c"),
		bind("Tab", "the next list or pane", "next pane", inPanes, func(m *Model) tea.Cmd { return m.nextPane(1) }, "tab"),
		bind("Shift-Tab", "the one before", "", inServer, func(m *Model) tea.Cmd { return m.nextPane(-1) }, "shift+tab"),
		bind("f", "follow: the newest exchange stays selected, or not", "follow", inServer, (*Model).follow, "f"),
		bind("w", "write the packets of the server, or of the exchange, into a pcapng file in the current folder", "write", inPanes, (*Model).write, "w"),
		bind("W", "write the rules against all attacks into a file for nft -f, in the current folder or where --rules says", "rules file", func(m *Model) bool { return m.opt.WriteRules != nil && (inServers(m) || inIncidents(m)) }, (*Model).writeRules, "W"),
		bind("y", "copy to the clipboard of the terminal (OSC 52): the lines against the incident; in an exchange the field", "copy", canCopy, (*Model).copy, "y"),
		bind("p", "stop the time of a capture, or let it go on", "pause", plays, (*Model).pause, "p"),
		bind("+ -", "faster, slower", "speed", plays, func(m *Model) tea.Cmd { return m.changeSpeed(1) }, "+", "="),
		bind("-", "", "", plays, func(m *Model) tea.Cmd { return m.changeSpeed(-1) }, "-"),
		bind("[ ]", "10 seconds back, forward", "10 s", plays, func(m *Model) tea.Cmd { return m.jump(10 * time.Second) }, "]"),
		bind("[", "", "", plays, func(m *Model) tea.Cmd { return m.jump(-10 * time.Second) }, "["),
		bind("{ }", "a minute back, forward", "", plays, func(m *Model) tea.Cmd { return m.jump(time.Minute) }, "}"),
		bind("{", "", "", plays, func(m *Model) tea.Cmd { return m.jump(-time.Minute) }, "{"),
		bind("0 $", "to the begin, to the end of the capture", "", plays, func(m *Model) tea.Cmd { return m.jump(math.MinInt64) }, "0"),
		bind("$", "", "", plays, func(m *Model) tea.Cmd { return m.jump(math.MaxInt64) }, "$"),
		bind(":", "to a time: 22:14:05, or +90s and -5m from here", "", plays, (*Model).enterTime, ":"),
		bind("Ctrl-Z", "suspend; fg continues", "", anywhere, func(*Model) tea.Cmd { return tea.Suspend }, "ctrl+z"),
		bind("q", "end", "end", anywhere, (*Model).quit, "q", "ctrl+c"),
	}
}

// HelpParts is what the help explains.
func HelpParts() []terminal.HelpPart {
	var bindings []key.Binding
	for i := range keys {
		if keys[i].Help().Desc != "" {
			bindings = append(bindings, keys[i].Binding)
		}
	}
	servers := make([]terminal.Column, len(columns))
	for i, c := range columns {
		servers[i] = terminal.Column{Title: c.title, Meaning: c.meaning + " In filters: " + c.id + "."}
		if c.isText {
			servers[i].Meaning = c.meaning
		}
	}
	parts := []terminal.HelpPart{{Title: "Keys", Keys: append(bindings, terminal.MoveKeys...)}, {Title: "In the tree and the bytes of a message", Keys: message.TreeKeys},
		{Title: "Mouse", Text: "A click selects, a second one opens; on the head of a column it sorts. The wheel moves."}, {Title: "Columns of the table of servers", Columns: servers}}
	for i := range lists {
		parts = append(parts, terminal.HelpPart{Title: "Columns of a server's list: " + lists[i].name, Columns: lists[i].columns})
	}
	return parts
}

func (m *Model) openHelp() tea.Cmd {
	m.help.Open(m.width, m.height, HelpParts()...)
	return nil
}

func (m *Model) open() tea.Cmd {
	switch x := m.top().(type) {
	case *servers:
		return x.open()
	case *server:
		return x.open()
	}
	return nil
}

// back undoes the last step: a choice of exchanges, a filter, a screen.
func (m *Model) back() tea.Cmd {
	switch x := m.top().(type) {
	case *server:
		if x.only.IsValid() || x.filter != "" {
			x.only, x.filter = netip.Addr{}, ""
			x.refresh()
			return x.decode()
		}
	case *exchangeScreen:
		if x.pane != message.NoPane {
			x.setPane(message.NoPane)
			return nil
		}
	case *servers:
		x.filter = rowFilter{}
		x.refresh()
		return nil
	case *chooser:
		if err := m.save(); err != nil {
			m.fail(err)
		}
	}
	return m.pop()
}

// quit ends the program, and keeps what was chosen meanwhile if that is possible.
func (m *Model) quit() tea.Cmd {
	_ = m.save()
	return tea.Quit
}

// save keeps the settings if they changed.
func (m *Model) save() error {
	text := m.opt.Settings.Text()
	if m.opt.Save == nil || text == m.saved {
		return nil
	}
	err := m.opt.Save(m.opt.Settings)
	if err == nil {
		m.saved = text
	}
	return err
}

// step moves to the right or left: the order of servers, a column.
func (m *Model) step(n int) tea.Cmd {
	if c, ok := m.top().(*chooser); ok {
		return c.move(n)
	}
	m.servers.sortNext(n)
	return nil
}

func (m *Model) nextPane(step int) tea.Cmd {
	switch x := m.top().(type) {
	case *server:
		x.list = (x.list + step + len(lists)) % len(lists)
		x.refresh()
	case *exchangeScreen:
		return x.nextPane()
	}
	return nil
}

func (m *Model) follow() tea.Cmd {
	x := m.top().(*server)
	x.follows, x.list = !x.follows, 0
	x.refresh()
	if !x.follows {
		return m.say("the list stays as it is: f follows again")
	}
	return x.decode()
}

// enterFilter asks for a filter of servers or of exchanges.
func (m *Model) enterFilter() tea.Cmd {
	if x, ok := m.top().(*server); ok {
		check := func(text string) *terminal.Mistake {
			if strings.TrimSpace(text) == "" {
				return nil
			}
			return m.opt.Decoder.check(text)
		}
		return m.ask("exchanges with, as after -Y: ", x.filter, check, func(text string) tea.Cmd {
			x.filter, x.list, x.follows = strings.TrimSpace(text), 0, true
			return x.decode()
		})
	}
	check := func(text string) *terminal.Mistake {
		_, wrong := parseRowFilter(text)
		return wrong
	}
	return m.ask("servers with: ", m.servers.filter.text, check, func(text string) tea.Cmd {
		m.servers.filter, _ = parseRowFilter(text)
		m.servers.refresh()
		return nil
	})
}

func (m *Model) enterSearch() tea.Cmd {
	return m.ask("search: ", m.servers.search, nil, func(text string) tea.Cmd {
		m.servers.search = strings.ToLower(strings.TrimSpace(text))
		return m.servers.find()
	})
}

// write writes the packets of what is on the screen.
func (m *Model) write() tea.Cmd {
	var packets recent.Packets
	switch x := m.top().(type) {
	case *server:
		packets = m.opt.Decoder.Store.Packets(x.addr)
	case *exchangeScreen:
		packets = packetsOf(x.list, x.packets)
	}
	if len(packets) == 0 {
		return m.say("no packets to write")
	}
	name, err := m.opt.Write(packets)
	if err != nil {
		return m.fail(err)
	}
	return m.say(fmt.Sprintf("%d packets as they were captured, passwords included: %s", len(packets), name))
}

// copy copies the lines against an incident, or a field.
func (m *Model) copy() tea.Cmd {
	switch x := m.top().(type) {
	case *exchangeScreen:
		text, why := x.panes.Copied()
		if why != "" {
			return m.say(why)
		}
		m.say("copied to the clipboard of the terminal: " + text)
		return terminal.Copy(text)
	case *incidents:
		if in := x.selected(); in != nil {
			return m.copyAdvice(in)
		}
	default:
		if all := m.urgent(); len(all) > 0 {
			return m.copyAdvice(all[0])
		}
	}
	return m.say("no incident, so no advice")
}

// speeds are those that + and - choose.
var speeds = []float64{.25, .5, 1, 2, 5, 10, 30, 100, 300, 1000, play.Max}

// speedText writes a speed.
func speedText(speed float64) string {
	if speed == play.Max {
		return "max"
	}
	return fmt.Sprintf("x%g", speed)
}

func (m *Model) changeSpeed(step int) tea.Cmd {
	at := slices.IndexFunc(speeds, func(s float64) bool { return s >= m.state.Play.Speed })
	speed := speeds[max(min(at+step, len(speeds)-1), 0)]
	m.opt.Player.SetSpeed(speed)
	return m.say("speed " + speedText(speed))
}

func (m *Model) pause() tea.Cmd {
	m.opt.Player.SetPaused(!m.state.Play.IsPaused)
	return nil
}

// jump goes to another time of the capture, from the one at hand.
func (m *Model) jump(by time.Duration) tea.Cmd {
	p := m.state.Play
	to := max(p.Position, p.Target%math.MaxInt64) + int64(by)
	switch by {
	case math.MinInt64:
		to = p.First
	case math.MaxInt64:
		to = math.MaxInt64
	}
	m.opt.Player.GoTo(max(to, p.First))
	return nil
}

// enterTime asks for a time to go to.
func (m *Model) enterTime() tea.Cmd {
	check := func(text string) *terminal.Mistake {
		if _, ok := m.timeOf(text); !ok {
			return &terminal.Mistake{To: len(text), Message: "write a time of day as 22:14:05, or a way from here as +90s or -5m"}
		}
		return nil
	}
	return m.ask("to: ", "", check, func(text string) tea.Cmd {
		to, _ := m.timeOf(text)
		m.opt.Player.GoTo(max(to, m.state.Play.First))
		return nil
	})
}

// timeOf returns the time that was entered: of day, of which the first after the begin counts, or
// from the one at hand.
func (m *Model) timeOf(text string) (nanos int64, ok bool) {
	p, text := m.state.Play, strings.TrimSpace(text)
	if strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") {
		d, err := time.ParseDuration(text)
		return p.Position + int64(d), err == nil
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if t, err := time.Parse(layout, strings.TrimSuffix(text, "Z")); err == nil {
			first := time.Unix(0, p.First).In(m.location())
			at := time.Date(first.Year(), first.Month(), first.Day(), t.Hour(), t.Minute(), t.Second(), 0, m.location())
			if at.Before(first.Truncate(time.Second)) {
				at = at.AddDate(0, 0, 1)
			}
			return at.UnixNano(), true
		}
	}
	return 0, false
}

// chooser is the screen on which the columns of the table of servers are chosen.
type chooser struct {
	m     *Model
	table terminal.Table
	list  []*column // those that are shown, in their order, then the others
}

func newChooser(m *Model) *chooser {
	c := &chooser{m: m}
	c.table = terminal.Table{Row: c.cells, Sorted: -1, Columns: []terminal.Column{{Title: "SHOWN", Width: 5}, {Title: "COLUMN", Width: 20}, {Title: "WHAT IT SAYS"}}}
	for _, id := range m.opt.Settings.Columns {
		c.list = append(c.list, columnOf(id))
	}
	for i := range columns {
		if !slices.Contains(c.list, &columns[i]) {
			c.list = append(c.list, &columns[i])
		}
	}
	return c
}

func (c *chooser) title() string { return "Columns" }

func (c *chooser) refresh() {
	c.table.SetSize(c.m.width, c.m.room())
	c.table.SetRows(len(c.list))
}

func (c *chooser) isShown(x *column) bool { return slices.Contains(c.m.opt.Settings.Columns, x.id) }

func (c *chooser) cells(i int) []terminal.Cell {
	x := c.list[i]
	mark := ""
	if c.isShown(x) {
		mark = "yes"
	}
	return []terminal.Cell{{Text: mark, Style: terminal.Good}, {Text: x.title}, {Text: x.meaning, Style: terminal.Dim}}
}

// toggle shows the selected column, or does not. One is always shown.
func (c *chooser) toggle() tea.Cmd {
	x := c.list[c.table.Selected()]
	if c.isShown(x) && len(c.m.opt.Settings.Columns) == 1 {
		return c.m.say("one column has to stay")
	}
	c.change(func(y *column) bool { return c.isShown(y) != (y == x) })
	return nil
}

// move moves the selected column by a place among the others.
func (c *chooser) move(step int) tea.Cmd {
	at := c.table.Selected()
	to := max(min(at+step, len(c.list)-1), 0)
	c.list[at], c.list[to] = c.list[to], c.list[at]
	c.table.Select(to)
	c.change(c.isShown)
	return nil
}

// change makes the settings anew of what is in the list.
func (c *chooser) change(isShown func(*column) bool) {
	var ids []string
	for _, x := range c.list {
		if isShown(x) {
			ids = append(ids, x.id)
		}
	}
	c.m.opt.Settings.Columns = ids
	c.m.servers.refresh()
}

func (c *chooser) update(msg tea.Msg) tea.Cmd {
	before := c.table.Selected()
	_, isClick := msg.(tea.MouseClickMsg)
	if handled, _ := c.table.Update(msg); handled && isClick && c.table.Selected() == before {
		return c.toggle()
	}
	return nil
}

func (c *chooser) view(int, int) string { return c.table.View() }

// Settings are what a user chose, and finds the next time.
type Settings struct {
	Columns []string `toml:"columns"` // of the table of servers, in their order
	Sort    string   `toml:"sort"`    // the column by which they are sorted
	Rising  bool     `toml:"rising"`  // from the least
}

// DefaultSettings returns the settings that apply without a file.
func DefaultSettings() Settings { return Settings{Columns: columnIDs(), Sort: "asked"} }

// ParseSettings parses a file of settings. The settings are those
// that are right, with defaults for the rest; the error lists what is wrong.
func ParseSettings(text string) (Settings, error) {
	s := DefaultSettings()
	var read Settings
	meta, err := toml.Decode(text, &read)
	if err != nil {
		return s, err
	}
	var wrong []string
	for _, key := range meta.Undecoded() {
		wrong = append(wrong, fmt.Sprintf("unknown key %q%s", key, orNearest(key.String(), []string{"columns", "sort", "rising"})))
	}
	if cols := slices.DeleteFunc(slices.Clone(read.Columns), func(id string) bool { return columnOf(id) == nil }); len(cols) > 0 {
		s.Columns = slices.Compact(cols)
	}
	for _, id := range append(read.Columns, read.Sort) {
		if id != "" && columnOf(id) == nil {
			wrong = append(wrong, fmt.Sprintf("no column %q%s", id, orNearest(id, columnIDs())))
		}
	}
	if columnOf(read.Sort) != nil {
		s.Sort, s.Rising = read.Sort, read.Rising
	}
	if wrong != nil {
		return s, errors.New(strings.Join(wrong, "; "))
	}
	return s, nil
}

// orNearest returns which names a wrong one may be meant as.
func orNearest(name string, names []string) string {
	if near := manual.Nearest(name, names); len(near) > 0 {
		return ": did you mean " + strings.Join(near, ", ") + "?"
	}
	return ": there are " + strings.Join(names, ", ")
}

// Text returns settings as a file.
func (s *Settings) Text() string {
	b, err := toml.Marshal(s)
	if err != nil { // they are texts and a bool
		panic(err)
	}
	return "# What qsniff top shows. It writes this file when columns or their order change.\n" + string(b)
}
