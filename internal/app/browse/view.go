package browse

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"qsniff/dissect/finding"
	"qsniff/internal/app/terminal"
	"qsniff/internal/base/digits"
	"qsniff/internal/render"
)

// Widths of columns. Addresses take as much as those on the screen need, up to the longest of
// IPv4, or of IPv6 on a wide screen.
const (
	frameWidth  = 7
	timeWidth   = len("22:13:20.000000")
	shortTime   = len("22:13:20.000") // on a narrow screen
	clockWidth  = 11                  // of a time in seconds
	protoWidth  = 10
	addrWidth   = len("255.255.255.255:65535")
	addr6Width  = len("[2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff]:65535")
	narrow      = 100 // columns of a screen on which the protocol stands in the reading
	wide        = 160 // and from which addresses of IPv6 have room
	besideWidth = 110 // and from which tree and bytes are beside each other
)

// columns returns the columns of the list.
func (m *Model) columns() []terminal.Column {
	timeW := timeWidth
	switch {
	case m.width < narrow && m.s.o.Text.Clock == render.Absolute:
		timeW = shortTime
	case m.s.o.Text.UTC:
		timeW++
	}
	all := []terminal.Column{
		{Title: "Frame", Width: frameWidth, Right: true, Meaning: "number of the packet that completed the message"},
		{Title: "Time", Width: timeW, Meaning: "of that packet, as -t has it"},
		{Title: "Source", Width: max(m.srcW, len("Source")), Meaning: "address and port of the sender"},
		{Title: "Destination", Width: max(m.dstW, len("Destination")), Meaning: "address and port of the receiver"},
		{Title: "Protocol", Width: protoWidth, Meaning: "its name, as in filters; on a narrow screen it begins the reading"},
		{Title: "Reading", Meaning: "type, time since the request, findings, values, length: as qsniff read prints it"},
	}
	if m.width < narrow {
		all = append(all[:4], all[5])
	}
	return all
}

// cells returns a row of the list.
func (m *Model) cells(i int) []terminal.Cell {
	cells := make([]terminal.Cell, 0, 6)
	r := m.s.row(i)
	if r == nil {
		frame := ""
		if e := m.index.entries(i, i+1); len(e) > 0 {
			frame = fmt.Sprint(e[0].frame)
		}
		cells = append(cells, terminal.Cell{Text: frame, Style: terminal.Dim})
		for range len(m.table.Columns) - 2 {
			cells = append(cells, terminal.Cell{})
		}
		return append(cells, terminal.Cell{Text: "…", Style: terminal.Dim})
	}
	before := r.Nanos
	if p := m.s.row(i - 1); p != nil {
		before = p.Nanos
	}
	reading := r.Reading
	at := string(m.s.line.AppendTime(nil, r.Nanos, m.index.first(), before))
	cells = append(cells, terminal.Cell{Text: fmt.Sprint(r.Frame), Style: terminal.Dim},
		terminal.Cell{Text: at[:min(len(at), max(m.table.Columns[1].Width, clockWidth))]},
		terminal.Cell{Text: r.Src}, terminal.Cell{Text: r.Dst})
	if m.width >= narrow {
		cells = append(cells, terminal.Cell{Text: r.Proto, Style: terminal.Name})
	} else {
		reading = strings.TrimSpace(r.Proto + " " + reading)
	}
	return append(cells, terminal.Cell{Text: reading, Style: severityStyle(r.Severity)})
}

func severityStyle(n int) lipgloss.Style {
	switch n - 1 {
	case int(finding.Error):
		return terminal.Bad
	case int(finding.Warn):
		return terminal.Warn
	}
	return terminal.Plain
}

// layOut divides the screen: the list above, the tree below it, and the bytes beside that or
// below.
func (m *Model) layOut() {
	left := max(m.height-m.stateHeight(), 0)
	m.fitAddresses()
	m.table.Columns = m.columns()
	listH, treeH, bytesH := m.heights(left)
	m.table.SetSize(m.width, listH)
	treeW, bytesW := m.width, m.width
	if m.isBeside() {
		bytesW = bytesWidth(m.width)
		treeW = m.width - bytesW - 1
	}
	if treeH == 0 {
		treeW = 0
	}
	if bytesH == 0 {
		bytesW = 0
	}
	m.message.SetSize(treeW, treeH, bytesW, bytesH)
}

// isBeside reports whether tree and bytes are beside each other.
func (m *Model) isBeside() bool { return m.width >= besideWidth && !m.zoomed }

// bytesWidth is how much of the screen is for bytes beside the tree: rows of 16, or of 8.
func bytesWidth(width int) int {
	if width >= wide {
		return 78
	}
	return 46
}

// heights divides the lines of the screen, with a line between parts.
func (m *Model) heights(left int) (list, tree, rows int) {
	switch {
	case m.zoomed && m.pane == listPane:
		return left, 0, 0
	case m.zoomed && m.pane == treePane:
		return 0, left, 0
	case m.zoomed:
		return 0, 0, left
	case m.isBeside():
		list = m.listHeight(left / 2)
		return list, max(left-list-1, 0), max(left-list-1, 0)
	}
	list = m.listHeight(left * 9 / 20)
	rows = max(left/5, 3)
	return list, max(left-list-rows-2, 0), rows
}

// listHeight returns at most room lines for the list, and fewer for few messages.
func (m *Model) listHeight(room int) int {
	if n := m.index.len() + 1; n < room && m.index.done() {
		room = n
	}
	return max(room, 2)
}

// fitAddresses widens the columns of addresses to those on the screen.
func (m *Model) fitAddresses() {
	most := addrWidth
	if m.width >= wide {
		most = addr6Width
	}
	top, height := m.table.Window()
	for i := top; i < top+height; i++ {
		if r := m.s.row(i); r != nil {
			m.srcW, m.dstW = max(m.srcW, len(r.Src)), max(m.dstW, len(r.Dst))
		}
	}
	m.srcW, m.dstW = min(m.srcW, most), min(m.dstW, most)
}

// paneAt returns the pane at a place on the screen, and the line in it.
func (m *Model) paneAt(x, y int) (pane, int) {
	list, tree, _ := m.heights(m.height - m.stateHeight())
	switch {
	case m.zoomed:
		return m.pane, y
	case y < list:
		return listPane, y
	case m.isBeside() && x > m.width-bytesWidth(m.width)-1:
		return bytesPane, y - list - 1
	case m.isBeside() || y < list+1+tree:
		return treePane, y - list - 1
	}
	return bytesPane, y - list - tree - 2
}

// stateHeight is how many lines are below the panes.
func (m *Model) stateHeight() int {
	if m.input.IsOpen() {
		return m.input.Height()
	}
	return 1
}

// View implements tea.Model.
func (m *Model) View() tea.View {
	if m.help.IsOpen() {
		return m.look.Screen(m.help.View(), m.width, m.height)
	}
	var parts []string
	list, tree, rows := m.heights(max(m.height-m.stateHeight(), 0))
	if list > 0 {
		parts = append(parts, m.table.View())
	}
	switch {
	case m.isBeside():
		parts = append(parts, m.rule(treePane), beside(m.message.TreeView(), m.message.BytesView()))
	case m.zoomed && tree > 0:
		parts = append(parts, m.message.TreeView())
	case m.zoomed && rows > 0:
		parts = append(parts, m.message.BytesView())
	case !m.zoomed:
		parts = append(parts, m.rule(treePane), m.message.TreeView(), m.rule(bytesPane), m.message.BytesView())
	}
	if m.input.IsOpen() {
		parts = append(parts, m.input.View(m.width))
	} else {
		parts = append(parts, m.state())
	}
	return m.look.Screen(strings.Join(parts, "\n"), m.width, m.height)
}

// beside joins the lines of two panes.
func beside(a, b string) string {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range left {
		left[i] += terminal.Dim.Render("│") + right[i]
	}
	return strings.Join(left, "\n")
}

// rule returns the line above a pane; it is bold where that pane, or the other one below it,
// has the keys.
func (m *Model) rule(p pane) string {
	style := terminal.Dim
	if m.pane == p || m.isBeside() && m.pane != listPane {
		style = terminal.Head
	}
	return style.Render(strings.Repeat("─", m.width))
}

// state returns the line below: what is selected, of how many, the filter, and how far the
// capture is read; or what the last key did. Messages that were found since the last Update
// do not count yet: a key that goes to the last one would not reach them.
func (m *Model) state() string {
	x, n := m.index, m.table.Rows()
	x.mu.RLock()
	err, isDone, isFull, stats := x.err, x.isDone && x.n == n, x.isFull, x.stats
	x.mu.RUnlock()
	right := " ? keys  q end"
	if !isDone {
		right = " " + m.progress(stats.Bytes, stats.Received)
	}
	left := fmt.Sprintf("%s of %s", digits.Grouped(int64(m.table.Selected()+1)), digits.Counted(uint64(n), "message"))
	if f := m.filter(); f != "" {
		left += "  filter: " + terminal.Clean(f)
	}
	switch {
	case m.say != "":
		left = terminal.Clean(m.say)
	case isFull:
		left += fmt.Sprintf("  no more are listed than %s: a filter (/) lists a part", digits.Grouped(maxEntries))
	case isDone && err != nil && m.ctx.Err() == nil:
		left += "  " + terminal.Clean(err.Error())
		right = ""
	case n == 0 && isDone:
		left = "no messages"
		if f := m.filter(); f != "" {
			left += " match " + terminal.Clean(f) + "; Esc goes back"
		}
	}
	return terminal.Bar(left, right, m.width)
}

// progress returns how far the capture is read.
func (m *Model) progress(bytes int64, packets uint64) string {
	read, size := m.s.in.progress(bytes)
	if size > 0 && !m.s.o.Follow {
		return fmt.Sprintf("reading %d %%", min(100*read/size, 100))
	}
	return fmt.Sprintf("reading, %s", digits.Counted(packets, "packet"))
}
