package terminal

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"qsniff/internal/base/display"
)

// Column is a column of a Table.
type Column struct {
	Title   string
	Meaning string // for help: a sentence
	Width   int    // cells; 0: what the others leave, of the last one
	Right   bool   // numbers: aligned at their end
}

// Cell is a text of a row, which may come from the network: the table cleans it.
type Cell struct {
	Text  string
	Style lipgloss.Style
}

// Table shows rows that its owner makes when they are to be seen, so that there may be any
// number of them. The table of bubbles wants all rows as text, has no numbers at the right
// and no mouse. Order and content are the owner's; the table keeps what is selected and
// where the screen begins.
type Table struct {
	Columns []Column
	Row     func(i int) []Cell // called for rows on the screen only
	Y       int                // line of the screen where the table begins, for the mouse
	Sorted  int                // column that is marked as the one of the order; -1: none
	Falling bool               // the order is from the greatest

	rows, selected, top int
	width, height       int // height without the head
	blurred             bool
}

// Keys of a table.
var (
	KeyUp       = key.NewBinding(key.WithKeys("up", "k"), key.WithHelp("↑ k", "up"))
	KeyDown     = key.NewBinding(key.WithKeys("down", "j"), key.WithHelp("↓ j", "down"))
	KeyPageUp   = key.NewBinding(key.WithKeys("pgup", "ctrl+b"), key.WithHelp("PgUp", "page up"))
	KeyPageDown = key.NewBinding(key.WithKeys("pgdown", "ctrl+f", "space"), key.WithHelp("PgDn Space", "page down"))
	KeyFirst    = key.NewBinding(key.WithKeys("home", "g"), key.WithHelp("g Home", "first"))
	KeyLast     = key.NewBinding(key.WithKeys("end", "G"), key.WithHelp("G End", "last"))
)

// MoveKeys are the keys by which a Table moves, for help.
var MoveKeys = []key.Binding{KeyUp, KeyDown, KeyPageUp, KeyPageDown, KeyFirst, KeyLast}

// SetSize sets the size, with the head.
func (t *Table) SetSize(width, height int) {
	t.width, t.height = width, max(height-1, 0)
	t.show()
}

// Rows returns how many rows there are.
func (t *Table) Rows() int { return t.rows }

// SetRows sets how many rows there are.
func (t *Table) SetRows(n int) {
	t.rows = n
	t.Select(t.selected)
}

// Blur draws the selected row as one that has not the keys.
func (t *Table) Blur(blurred bool) { t.blurred = blurred }

// Selected returns the selected row, or -1 where there is none.
func (t *Table) Selected() int { return min(t.selected, t.rows-1) }

// Window returns the first row on the screen and how many there is room for.
func (t *Table) Window() (top, height int) { return t.top, t.height }

// Select selects a row, or the nearest one that there is, and brings it onto the screen.
func (t *Table) Select(i int) {
	t.selected = max(min(i, t.rows-1), 0)
	t.show()
}

// show moves the screen to where the selected row is.
func (t *Table) show() {
	t.top = min(t.top, t.selected)
	t.top = max(t.top, t.selected-t.height+1, 0)
	t.top = max(min(t.top, t.rows-t.height), 0)
}

// Update handles a key or the mouse. It reports whether it was for the table, and returns
// the column whose head was clicked, or -1.
func (t *Table) Update(msg tea.Msg) (handled bool, head int) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return t.press(msg), -1
	case tea.MouseWheelMsg:
		const step = 3 // chosen: as in less and browsers
		switch msg.Button {
		case tea.MouseWheelUp:
			t.Select(t.selected - step)
		case tea.MouseWheelDown:
			t.Select(t.selected + step)
		}
		return true, -1
	case tea.MouseClickMsg:
		return t.click(msg.X, msg.Y-t.Y)
	}
	return false, -1
}

func (t *Table) press(k tea.KeyPressMsg) bool {
	n, ok := Rows(k, t.height)
	if ok {
		t.Select(t.selected + n)
	}
	return ok
}

// allRows is more rows than anything has.
const allRows = 1 << 30

// Rows returns by how many rows a key of MoveKeys moves on pages of that many, and whether it is
// one. The caller has to stop at the first and at the last row.
func Rows(k tea.KeyPressMsg, page int) (n int, ok bool) {
	switch {
	case key.Matches(k, KeyUp):
		return -1, true
	case key.Matches(k, KeyDown):
		return 1, true
	case key.Matches(k, KeyPageUp):
		return -page, true
	case key.Matches(k, KeyPageDown):
		return page, true
	case key.Matches(k, KeyFirst):
		return -allRows, true
	case key.Matches(k, KeyLast):
		return allRows, true
	}
	return 0, false
}

func (t *Table) click(x, y int) (handled bool, head int) {
	switch {
	case y < 0 || y > t.height:
		return false, -1
	case y > 0:
		if i := t.top + y - 1; i < t.rows {
			t.selected = i
		}
		return true, -1
	}
	for i := range t.Columns {
		w := t.cells(i)
		if x < w {
			return true, i
		}
		x -= w + 1
	}
	return true, -1
}

// cells returns the width of column i.
func (t *Table) cells(i int) int {
	if w := t.Columns[i].Width; w > 0 {
		return w
	}
	left := t.width
	for j := range t.Columns {
		if w := t.Columns[j].Width; w > 0 {
			left -= w + 1
		}
	}
	return max(left, 0)
}

// View returns the head and the rows on the screen, in the size that was set.
func (t *Table) View() string {
	var b strings.Builder
	var head []Cell
	for i, c := range t.Columns {
		if i == t.Sorted && t.Falling {
			c.Title += "▼"
		} else if i == t.Sorted {
			c.Title += "▲"
		}
		head = append(head, Cell{c.Title, Head})
	}
	b.WriteString(t.line(head))
	for i := t.top; i < t.top+t.height; i++ {
		b.WriteByte('\n')
		switch {
		case i >= t.rows:
			b.WriteString(strings.Repeat(" ", t.width))
		case i != t.selected:
			b.WriteString(t.line(t.Row(i)))
		case t.blurred:
			b.WriteString(Head.Underline(true).Render(ansi.Strip(t.line(t.Row(i)))))
		default:
			b.WriteString(Selected.Render(ansi.Strip(t.line(t.Row(i)))))
		}
	}
	return b.String()
}

// line returns cells in the columns.
func (t *Table) line(cells []Cell) string {
	var b strings.Builder
	for i := range cells {
		if i > 0 {
			b.WriteByte(' ')
		}
		text := cell(cells[i].Text, t.cells(i), t.Columns[i].Right)
		b.WriteString(cells[i].Style.Render(text))
	}
	return Fit(b.String(), t.width)
}

// The styles of screens: the 16 colours of a terminal, none of them bright, so that they can
// be read on dark and light backgrounds. With NO_COLOR bubbletea leaves bold, faint and
// reverse.
var (
	Plain    = lipgloss.NewStyle()
	Head     = Plain.Bold(true)
	Dim      = Plain.Faint(true)
	Name     = Plain.Foreground(lipgloss.Cyan)
	Good     = Plain.Foreground(lipgloss.Green)
	Warn     = Plain.Foreground(lipgloss.Yellow)
	Bad      = Plain.Foreground(lipgloss.Red).Bold(true)
	Selected = Plain.Reverse(true)
)

// Clean returns text from anywhere as one line without anything that acts on a terminal.
func Clean(s string) string { return string(display.AppendVisible(nil, []byte(s))) }

// Fit returns s cut and padded to width cells; … marks a cut. s may have styles, but nothing
// from the network that was not cleaned.
func Fit(s string, width int) string {
	if width <= 0 {
		return ""
	}
	w := ansi.StringWidth(s)
	if w > width {
		s = ansi.Truncate(s, width, "…")
		w = ansi.StringWidth(s)
	}
	return s + strings.Repeat(" ", max(width-w, 0))
}

// fitRight is Fit with the padding before s.
func fitRight(s string, width int) string {
	if w := ansi.StringWidth(s); w < width {
		return strings.Repeat(" ", width-w) + s
	}
	return Fit(s, width)
}

// longestClean is how many bytes of a text become a cell. Chosen: no cell has as many
// columns, and each byte may be four when it is escaped; what is longer is cut before it is
// looked at.
const longestClean = 4096

// cell returns a text from anywhere in width cells.
func cell(s string, width int, right bool) string {
	if len(s) > longestClean {
		s = s[:longestClean]
	}
	s = Clean(s)
	if right {
		return fitRight(s, width)
	}
	return Fit(s, width)
}

// bars are the heights of a sparkline, from the least.
var bars = []rune("▁▂▃▄▅▆▇█")

// Sparkline returns the last width values as bars, each in one cell; the greatest has the
// full height, and 0 is a space.
func Sparkline(values []float64, width int) string {
	values = values[max(0, len(values)-width):]
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", width-len(values)))
	for _, v := range values {
		if v <= 0 || most == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(bars[min(int(v/most*float64(len(bars))), len(bars)-1)])
	}
	return b.String()
}

// Bar returns a line of state in reverse: left, and right at the other end if there is room.
func Bar(left, right string, width int) string {
	w := ansi.StringWidth(right)
	if ansi.StringWidth(left)+w+1 > width {
		return Selected.Render(Fit(left, width))
	}
	return Selected.Render(Fit(left, width-w) + right)
}
