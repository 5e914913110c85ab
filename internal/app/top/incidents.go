package top

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"qsniff/internal/app/terminal"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
	"qsniff/internal/render"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
)

// incidents is the screen of incidents: a list, and below it all that is known of the selected
// one, what to do, and the lines to paste.
type incidents struct {
	m      *Model
	table  terminal.Table
	page   viewport.Model
	list   []*flood.Incident
	chosen uint64 // ID of the selected one
	shown  string // what page was made of
}

func newIncidents(m *Model) *incidents {
	x := &incidents{m: m}
	x.table = terminal.Table{Row: x.cells, Sorted: -1, Columns: []terminal.Column{
		{Title: "LEVEL", Width: 5}, {Title: "KIND", Width: 17}, {Title: "TARGET"}, {Title: "SINCE", Width: 9}, {Title: "LASTED", Width: 8, Right: true},
		{Title: "PEAK/S", Width: 7, Right: true}, {Title: "SURE", Width: 6}}}
	x.page = viewport.New()
	return x
}

func (x *incidents) title() string { return "Incidents" }

func (x *incidents) cells(i int) []terminal.Cell {
	in, m := x.list[i], x.m
	lasted := m.length(in)
	if in.End == 0 {
		lasted += "+"
	}
	style := levelStyle(in.Level)
	if in.End != 0 {
		style = terminal.Dim
	}
	var cells []terminal.Cell
	for _, s := range []string{in.Level.String(), in.Kind.String(), in.Target.String(), m.clock(in.Start), lasted, rate(in.Peak), flood.ConfidenceWord(in.Confidence())} {
		cells = append(cells, terminal.Cell{Text: s, Style: style})
	}
	return cells
}

func (x *incidents) refresh() {
	x.list = x.m.urgent()
	at := slices.IndexFunc(x.list, func(in *flood.Incident) bool { return in.ID == x.chosen })
	x.table.SetRows(len(x.list))
	x.table.SetSize(x.m.width, x.tableHeight())
	x.table.Select(at)
	x.fill()
}

// tableHeight returns how many lines the list has.
func (x *incidents) tableHeight() int { return 1 + min(len(x.list), listedIncidents) }

// selected returns the selected incident, nil if there is none.
func (x *incidents) selected() *flood.Incident {
	if i := x.table.Selected(); i >= 0 {
		return x.list[i]
	}
	return nil
}

// fill makes the page of the selected incident, if that changed.
func (x *incidents) fill() {
	m, in := x.m, x.selected()
	x.page.SetWidth(m.width)
	x.page.SetHeight(max(m.room()-x.tableHeight()-1, 0))
	if in == nil {
		x.page.SetContent("No incidents.")
		return
	}
	if x.chosen != in.ID {
		x.chosen = in.ID
		x.page.GotoTop()
	}
	made := fmt.Sprint(in.ID, in.End, in.Kind, in.Peak, m.width, m.state.Nanos/1e9)
	if made == x.shown {
		return
	}
	x.shown = made
	x.page.SetContent(m.explain(in))
}

// explain returns all that is known of an incident, with the lines to paste.
func (m *Model) explain(in *flood.Incident) string {
	s := m.state
	f := &render.Floods{Run: tally.Run{Packets: s.Counters.Run.Packets, First: s.Counters.Run.First, Last: s.Nanos}, Incidents: []flood.Incident{*in},
		Limits: m.opt.Limits, Expiry: m.opt.Expiry, IsLive: s.Play == nil || !s.Play.IsAtEnd, Asked: m.opt.Asked}
	opt := text.Options{Width: m.width, UTC: m.opt.UTC, Palette: text.NewPalette(true)}
	do, rules := "Do: "+in.Kind.Doc().Do, m.rules(in)
	if rules != "" {
		do += " The lines are at the end of this page; y copies them."
	}
	page := terminal.Head.Render(strings.Join(wrap(do, m.width), "\n")) + "\n" + string(text.AppendFloodIncident(nil, f, in, opt))
	if rules != "" {
		page += "\n" + terminal.Head.Render("Lines to paste into a shell of root on the server's machine:") + "\n\n" + rules
	}
	return page
}

// rules returns the lines that load the rules against an incident; empty: there are none.
func (m *Model) rules(in *flood.Incident) string {
	if m.opt.Rules == nil || in.Advice.Rules == nil {
		return ""
	}
	return m.opt.Rules(in)
}

// copyAdvice copies the lines to paste, or where there are none the advice.
func (m *Model) copyAdvice(in *flood.Incident) tea.Cmd {
	what, lines := "The lines", m.rules(in)
	if lines == "" {
		what, lines = "The advice", in.Advice.Text()
	}
	m.say(fmt.Sprintf("%s against %s went to the clipboard of the terminal: %s.", what, in.Name(), digits.Counted(uint64(strings.Count(lines, "\n")), "line")))
	return terminal.Copy(lines)
}

func (x *incidents) update(msg tea.Msg) tea.Cmd {
	if k, ok := msg.(tea.KeyPressMsg); ok && key.Matches(k, terminal.KeyLast) {
		x.page.GotoBottom()
		return nil
	} else if ok && key.Matches(k, terminal.KeyFirst) {
		x.page.GotoTop()
		return nil
	} else if ok && (len(x.list) < 2 || key.Matches(k, terminal.KeyPageUp, terminal.KeyPageDown)) {
		x.page, _ = x.page.Update(msg)
		return nil
	}
	if w, ok := msg.(tea.MouseWheelMsg); ok && w.Y > x.tableHeight() {
		x.page, _ = x.page.Update(msg)
		return nil
	}
	if handled, _ := x.table.Update(msg); handled {
		x.fill()
	}
	return nil
}

func (x *incidents) view(width, height int) string {
	return x.table.View() + "\n" + terminal.Dim.Render(strings.Repeat("─", width)) + "\n" + x.page.View()
}
