package top

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/BurntSushi/toml"

	"qsniff/internal/app/terminal"
	"qsniff/internal/render/manual"
)

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

// DefaultSettings returns those of somebody who has chosen nothing.
func DefaultSettings() Settings { return Settings{Columns: columnIDs(), Sort: "asked"} }

// ParseSettings parses a file of settings. What is wrong with it is in the error, and the settings
// are those that are right, with the usual ones for the rest.
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
