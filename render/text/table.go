package text

import (
	"bytes"
	"slices"
	"strings"

	"qsniff/internal/display"
)

// table is rows of cells, laid out in columns. Cells are escaped text.
type table struct {
	columns []column
	rows    []tableRow
	// hasProse says that what goes after the cells is prose, which is wrapped there.
	hasProse bool
}

// column is one of a table. Where all do not fit, those with the highest rank are
// left out first, all of one rank together.
type column struct {
	head   string
	isText bool // text; numbers stand at the right
	rank   int
}

// tableRow has a cell for each column, and a last one, which goes after them if
// the widest of its kind fits there, else on a line below.
type tableRow struct {
	cells []string
	note  string
	style style // of the first cell
}

// leastProse is the narrowest column of prose that is still pleasant to read.
const leastProse = 28

// tableIndent and belowIndent are before rows, and of the lines below them.
const (
	tableIndent = 2
	belowIndent = 4
)

// append lays the table out for width columns.
func (t *table) append(dst []byte, c *Palette, width int) []byte {
	if len(t.rows) == 0 {
		return dst
	}
	shown, widths, used := t.fitColumns(width)
	beside := t.notesFit(width - used - gap)
	wrapped := t.hasProse && width-used-gap >= leastProse
	if len(t.columns) > 1 { // else the title says what it is
		var head []string
		for i := range t.columns {
			head = append(head, t.columns[i].head)
		}
		dst = bytes.TrimRight(t.appendRow(append(dst, c.dim.on...), head, shown, widths, style{}), " ")
		dst = append(dst, c.dim.off...)
		dst = append(dst, '\n')
	}
	for _, r := range t.rows {
		dst = t.appendRow(dst, r.cells, shown, widths, r.style)
		switch {
		case r.note == "":
		case beside:
			dst = append(appendSpaces(dst, gap), r.note...)
		case wrapped: // in as many lines as it takes, each below the one before
			said := appendWrapped(nil, []byte(r.note), used+gap, width)
			dst = append(appendSpaces(dst, gap), said[used+gap:]...)
		default:
			dst = appendWrapped(append(dst, '\n'), []byte(r.note), belowIndent, width)
		}
		dst = append(dst, '\n')
	}
	return dst
}

// fitColumns returns the columns that are shown, the width of each and of all.
func (t *table) fitColumns(width int) (shown []int, widths []int, used int) {
	used = tableIndent - gap
	for i := range t.columns {
		w := len(t.columns[i].head)
		for _, r := range t.rows {
			w = max(w, display.Cells([]byte(r.cells[i])))
		}
		shown, widths = append(shown, i), append(widths, w)
		used += gap + w
	}
	for used > width && len(shown) > 1 {
		worst := 0
		for _, i := range shown {
			worst = max(worst, t.columns[i].rank)
		}
		if worst == 0 {
			break // a narrow terminal wraps
		}
		for j := len(shown) - 1; j >= 0; j-- {
			if t.columns[shown[j]].rank == worst {
				used -= gap + widths[j]
				shown, widths = slices.Delete(shown, j, j+1), slices.Delete(widths, j, j+1)
			}
		}
	}
	return shown, widths, used
}

// notesFit reports whether room cells hold what any row says.
func (t *table) notesFit(room int) bool {
	for _, r := range t.rows {
		if display.Cells([]byte(r.note)) > room {
			return false
		}
	}
	return true
}

// appendRow appends a row without its end. Nothing pads the last cell of text.
func (t *table) appendRow(dst []byte, cells []string, shown, widths []int, s style) []byte {
	dst = appendSpaces(dst, tableIndent)
	for j, i := range shown {
		if j > 0 {
			dst = appendSpaces(dst, gap)
		}
		pad := widths[j] - display.Cells([]byte(cells[i]))
		if !t.columns[i].isText {
			dst = appendSpaces(dst, pad)
		}
		if j == 0 {
			dst = append(dst, s.on...)
		}
		dst = append(dst, cells[i]...)
		if j == 0 {
			dst = append(dst, s.off...)
		}
		if t.columns[i].isText && (j < len(shown)-1 || t.hasProse) {
			dst = appendSpaces(dst, pad)
		}
	}
	return dst
}

// appendWrapped appends prose in lines of width columns, without the end of the
// last one.
func appendWrapped(dst, text []byte, indent, width int) []byte {
	for i := 0; len(text) > 0; i++ {
		if i > 0 {
			dst = append(dst, '\n')
		}
		n, _ := display.FitWords(text, max(width-indent, display.WidestUnit))
		dst = append(appendSpaces(dst, indent), bytes.TrimRight(text[:n], " ")...)
		text = bytes.TrimLeft(text[n:], " ")
	}
	return dst
}

// bars are the heights of a sparkline.
const bars = "▁▂▃▄▅▆▇█"

// sparkline draws values as a line of bars; the largest is the highest. A value
// above 0 is never as low as 0, which is a blank.
func sparkline(values []uint64) string {
	most := slices.Max(values)
	heights := []rune(bars)
	var b strings.Builder
	for _, v := range values {
		if v == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(heights[int(float64(v)/float64(most)*float64(len(heights)-1)+0.5)])
	}
	return b.String()
}
