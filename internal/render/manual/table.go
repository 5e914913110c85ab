package manual

import (
	"strings"
	"unicode/utf8"
)

const (
	indent = 2
	gap    = 2

	// leastProse is the least width of the last column: where less is left, it goes below
	// the row, indented. Chosen: four or five words are pleasant to read.
	leastProse = 28

	// mostProse is the greatest width of the last column. Chosen: in longer lines the eye
	// does not find the beginning of the next one.
	mostProse = 90
)

// table is rows of cells. The last cell of a row is prose. A column that is empty in all
// rows is not shown.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// append appends the table, laid out for a terminal of width cells.
func (t *table) append(dst []byte, width int) []byte {
	starts, at := t.columns()
	below := width-at < leastProse
	if below {
		at = indent + 2*gap
	} else {
		dst = appendRow(dst, t.head, starts, at, width)
	}
	for _, r := range t.rows {
		if below {
			dst = appendRow(dst, r[:len(r)-1], starts, 0, 0)
			r = append(make([]string, len(r)-1), r[len(r)-1])
		}
		dst = appendRow(dst, r, starts, at, width)
	}
	return dst
}

// columns returns the cell where each column before the prose begins, 0 for an empty one,
// and the cell where the prose begins.
func (t *table) columns() (starts []int, prose int) {
	starts = make([]int, len(t.head)-1)
	at := indent
	for i := range starts {
		w := 0
		for _, r := range t.rows {
			w = max(w, utf8.RuneCountInString(r[i]))
		}
		if w > 0 {
			starts[i] = at
			at += max(w, len(t.head[i])) + gap
		}
	}
	return starts, at
}

// appendRow appends a row. Its cells begin at starts, and the prose, which is the cell
// after these, at at: in as many lines as it takes.
func appendRow(dst []byte, cells []string, starts []int, at, width int) []byte {
	col := 0
	for i, cell := range cells[:min(len(cells), len(starts))] {
		if cell != "" && starts[i] > 0 {
			dst = append(appendSpaces(dst, starts[i]-col), cell...)
			col = starts[i] + utf8.RuneCountInString(cell)
		}
	}
	if len(cells) > len(starts) {
		for i, line := range wrap(cells[len(starts)], min(max(width-at, leastProse), mostProse)) {
			if i > 0 {
				dst, col = append(dst, '\n'), 0
			}
			dst = append(appendSpaces(dst, at-col), line...)
		}
	}
	return append(dst, '\n')
}

func appendSpaces(dst []byte, n int) []byte { return append(dst, strings.Repeat(" ", max(n, 0))...) }

// wrap breaks prose at spaces into lines of at most width characters. A word that
// is longer has a line of its own.
func wrap(text string, width int) []string {
	var lines []string
	line, n := "", 0
	for _, word := range strings.Fields(text) {
		w := utf8.RuneCountInString(word)
		if n > 0 && n+1+w > width {
			lines = append(lines, line)
			line, n = "", 0
		}
		if n > 0 {
			line, n = line+" ", n+1
		}
		line, n = line+word, n+w
	}
	if n > 0 {
		lines = append(lines, line)
	}
	return lines
}
