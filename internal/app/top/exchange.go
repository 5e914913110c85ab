package top

import (
	"context"
	"fmt"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"qsniff/capture/recent"
	"qsniff/internal/app/terminal"
	"qsniff/internal/app/terminal/message"
	"qsniff/internal/base/digits"
	"qsniff/internal/render"
	"qsniff/internal/render/text"
)

// exchangeScreen is the screen of an exchange: its messages, and the selected one as a tree and as
// bytes.
type exchangeScreen struct {
	m       *Model
	of      exchange
	packets recent.Packets // those that were kept of the server
	list    []*render.Event
	table   terminal.Table
	panes   *message.Panes
	pane    message.Pane // NoPane: the list of messages has the keys
}

// openExchange opens an exchange of a server.
func (m *Model) openExchange(s *server, e exchange) tea.Cmd {
	x := &exchangeScreen{m: m, of: e, packets: s.look.packets, panes: message.New(text.Options{UTC: m.opt.UTC, Location: m.location(), Micros: true})}
	x.table = terminal.Table{Row: x.cells, Sorted: -1, Columns: []terminal.Column{
		{Title: "FRAME", Width: 9, Right: true}, {Title: "TIME", Width: 15}, {Title: "AFTER", Width: 8, Right: true}, {Title: "FROM", Width: 7}, {Title: "MESSAGE", Width: 20}, {Title: "BYTES", Width: 6, Right: true}}}
	x.setPane(message.NoPane)
	m.push(x)
	return func() tea.Msg {
		list, err := m.opt.Decoder.messagesOf(context.Background(), x.packets, &x.of)
		return messagesMsg{x, list, err}
	}
}

// messagesMsg is the messages of an exchange.
type messagesMsg struct {
	of   *exchangeScreen
	list []*render.Event
	err  error
}

func (x *exchangeScreen) title() string {
	if x.of.IsStream {
		return "Connection"
	}
	return "Exchange, " + x.of.outcome().Text
}

func (x *exchangeScreen) setPane(p message.Pane) {
	x.pane = p
	x.table.Blur(p != message.NoPane)
	x.panes.SetPane(p)
}

// nextPane gives the keys to the next pane.
func (x *exchangeScreen) nextPane() tea.Cmd {
	x.setPane((x.pane + 1) % (message.Bytes + 1))
	return nil
}

// cells returns the cells of a message.
func (x *exchangeScreen) cells(i int) []terminal.Cell {
	e := x.list[i]
	from, name := "client", "unknown"
	if e.Reply {
		from = "server"
	}
	if e.Msg.Type != nil {
		name = e.Msg.Type.Name
	}
	after := string(digits.AppendElapsed(nil, max(e.Nanos-x.list[0].Nanos, 0), " "))
	return []terminal.Cell{{Text: fmt.Sprint(e.Frame), Style: terminal.Dim}, {Text: x.m.millis(e.Nanos), Style: terminal.Dim}, {Text: after}, {Text: from}, {Text: name, Style: terminal.Name}, {Text: fmt.Sprint(e.Msg.Wire)}}
}

// head is how many lines there are before the tree.
func (x *exchangeScreen) head() int { return 3 + min(len(x.list), listedMessages) }

func (x *exchangeScreen) refresh() {
	m := x.m
	x.table.Y = 1
	x.table.SetSize(m.width, x.head()-2)
	x.table.SetRows(len(x.list))
	width, height, bytesX, bytesY := x.places()
	x.panes.SetSize(width, height, m.width-bytesX, m.room()-x.head()-bytesY)
	x.show()
}

// show shows the selected message.
func (x *exchangeScreen) show() {
	if i := x.table.Selected(); i >= 0 && x.panes.Event() != x.list[i] {
		x.panes.SetEvent(x.list[i])
	}
}

func (x *exchangeScreen) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case messagesMsg:
		if msg.err != nil {
			return x.m.fail(msg.err)
		}
		if x.list = msg.list; len(x.list) == 0 {
			return x.m.say("its packets are gone: others took their place")
		}
		x.refresh()
		x.table.Select(len(x.list) - 1) // the answer says more than the question
		x.show()
		return nil
	case tea.MouseClickMsg:
		return x.click(msg)
	case tea.MouseWheelMsg:
		if msg.Y >= x.head() {
			x.panes.Update(msg)
			return nil
		}
	case tea.KeyPressMsg:
		if x.pane != message.NoPane {
			x.panes.Update(msg)
			return nil
		}
		if key.Matches(msg, message.KeyRight) {
			return x.nextPane()
		}
	}
	if handled, _ := x.table.Update(msg); handled {
		x.show()
	}
	return nil
}

func (x *exchangeScreen) click(msg tea.MouseClickMsg) tea.Cmd {
	y := msg.Y - x.head()
	_, treeHeight, bytesX, bytesY := x.places()
	switch {
	case y < 0:
		x.setPane(message.NoPane)
		x.table.Update(msg)
		x.show()
	case msg.X >= bytesX && y >= bytesY:
		x.setPane(message.Bytes)
		x.panes.Click(message.Bytes, y-bytesY)
	case y < treeHeight:
		x.setPane(message.Tree)
		x.panes.Click(message.Tree, y)
	}
	return nil
}

// places returns the size of the tree, and where the bytes begin after it.
func (x *exchangeScreen) places() (treeWidth, treeHeight, bytesX, bytesY int) {
	rest := max(x.m.room()-x.head(), 0)
	if x.m.width >= besideFrom {
		return x.m.width - besideFrom/2 - 1, rest, x.m.width - besideFrom/2, 0
	}
	bytes := max(rest/3, min(rest, 3))
	return x.m.width, max(rest-bytes-1, 0), 0, max(rest-bytes, 0)
}

func (x *exchangeScreen) view(width, height int) string {
	e := &x.of
	outcome := e.outcome()
	first := terminal.Head.Render(e.Server.String()) + terminal.Dim.Render("  asked by ") + e.Client.String() + "  " + outcome.Style.Render(outcome.Text)
	if e.RTT >= 0 {
		first += " after " + string(digits.AppendElapsed(nil, e.RTT, " "))
	}
	if e.findings != "" {
		first += "  " + terminal.Warn.Render(e.findings)
	}
	line := terminal.Dim.Render(strings.Repeat("─", width))
	top := terminal.Fit(first, width) + "\n" + x.table.View() + "\n" + line + "\n"
	if len(x.list) == 0 {
		return top
	}
	if width < besideFrom {
		return top + x.panes.TreeView() + "\n" + line + "\n" + x.panes.BytesView()
	}
	left, right := strings.Split(x.panes.TreeView(), "\n"), strings.Split(x.panes.BytesView(), "\n")
	for i := range left {
		left[i] += terminal.Dim.Render("│") + right[min(i, len(right)-1)]
	}
	return top + strings.Join(left, "\n")
}
