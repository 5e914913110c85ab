package text

import (
	"bytes"
	"slices"
	"strings"

	"qsniff/internal/base/display"
)

// table is rows of cells, laid out in columns. Cells are escaped text.
type table struct {
	columns []column
	rows    []tableRow
	// hasProse is set where the notes are prose, which is wrapped in a column of its own
	// after the cells.
	hasProse bool
}

// column is one column of a table. Where not all fit, those with the highest rank are
// hidden first, all of one rank together; those of rank 0 never are.
type column struct {
	head   string
	isText bool // aligned left; numbers are aligned right
	rank   int
}

// tableRow has a cell for each column, and a note. Notes go after the cells if all of them
// fit there, else each into a line below its row.
type tableRow struct {
	cells []string
	note  string
	style style // of the first cell
}

// dropEmpty removes the columns in which no row has anything, of those that a narrow page hides.
func (t *table) dropEmpty() {
	for i := len(t.columns) - 1; i >= 0; i-- {
		isUsed := func(r tableRow) bool { return r.cells[i] != "" }
		if t.columns[i].rank == 0 || slices.ContainsFunc(t.rows, isUsed) {
			continue
		}
		t.columns = slices.Delete(t.columns, i, i+1)
		for j := range t.rows {
			t.rows[j].cells = slices.Delete(t.rows[j].cells, i, i+1)
		}
	}
}

// leastProse is the least width of a column of prose. Chosen: four or five words are
// pleasant to read.
const leastProse = 28

// tableIndent is the indent of rows, belowIndent that of the lines below them.
const (
	tableIndent = 2
	belowIndent = 4
)

// append appends the table, laid out for a terminal of width cells.
func (t *table) append(dst []byte, c *Palette, width int) []byte {
	if len(t.rows) == 0 {
		return dst
	}
	shown, widths, used := t.fitColumns(width)
	beside := t.notesFit(width - used - gap)
	wrapped := t.hasProse && width-used-gap >= leastProse
	if len(t.columns) > 1 { // a single column has its heading in the title
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
			note := appendWrapped(nil, []byte(r.note), used+gap, width)
			dst = append(appendSpaces(dst, gap), note[used+gap:]...)
		default:
			dst = appendWrapped(append(dst, '\n'), []byte(r.note), belowIndent, width)
		}
		dst = append(dst, '\n')
	}
	return dst
}

// fitColumns returns the indices of the columns that are shown, the width of each, and the
// width of all together.
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

// notesFit reports whether each note fits into room cells.
func (t *table) notesFit(room int) bool {
	for _, r := range t.rows {
		if display.Cells([]byte(r.note)) > room {
			return false
		}
	}
	return true
}

// appendRow appends a row without its line break. A last cell of text is not padded,
// unless prose follows.
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

// appendWrapped appends prose in lines of at most width cells, without the break of the
// last line.
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

// bars are the characters of a sparkline, lowest first.
const bars = "▁▂▃▄▅▆▇█"

// sparkline returns values as a line of bars. The largest value has the highest bar, any
// value above 0 has one, and 0 is a blank.
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
