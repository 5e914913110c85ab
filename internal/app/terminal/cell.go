package terminal

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"qsniff/internal/base/display"
)

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
