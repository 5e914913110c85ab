package display

import (
	"bytes"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// widths measures characters in terminal cells. displaywidth rather than
// golang.org/x/text/width, which has East Asian classes only, and combining marks as
// wide as letters; and rather than go-runewidth, which makes tables of 2.2 MiB at the first
// character that is not ASCII. The options are fixed, because others can set the package's own.
var widths displaywidth.Options

// WidestUnit is the width in cells of the longest escape sequence, the widest text that
// Fit does not break.
const WidestUnit = len(`\UNNNNNNNN`)

// firstMark is the first combining character. All printable characters before
// it have one cell, and most texts have no others.
const firstMark = 0x300

// The regional indicators: two of them are a flag, of two cells.
const firstRegional, lastRegional = 0x1F1E6, 0x1F1FF

// RuneCells returns how many cells a character takes; 0 for a combining mark.
func RuneCells(r rune) int {
	if r < firstMark || firstRegional <= r && r <= lastRegional {
		return 1
	}
	return widths.Rune(r)
}

// measureUnit returns the length in bytes and in cells of the unit that escaped text
// starts with: an escape sequence, or a character with its marks. A unit is never broken.
func measureUnit(b []byte) (n, w int) {
	if b[0] == '\\' && len(b) > 1 {
		n = 2
		switch b[1] {
		case 'x':
			n = len(`\xNN`)
		case 'u':
			n = len(`\uNNNN`)
		case 'U':
			n = len(`\UNNNNNNNN`)
		}
		n = min(n, len(b))
		return n, n
	}
	r, n := utf8.DecodeRune(b)
	w = RuneCells(r)
	for n < len(b) && b[n] >= utf8.RuneSelf {
		r, size := utf8.DecodeRune(b[n:])
		if RuneCells(r) > 0 {
			break
		}
		n += size
	}
	return n, w
}

// Fit returns the longest start of escaped text that has at most width cells,
// and its cells. It holds at least one unit, even a wider one, so that callers
// make progress.
func Fit(b []byte, width int) (n, w int) {
	for n < len(b) {
		size, cells := measureUnit(b[n:])
		if w+cells > width && n > 0 {
			break
		}
		n, w = n+size, w+cells
	}
	return n, w
}

// FitWords is Fit that breaks at a space where there is one, but not between a number and its
// unit, as in "1.5 ms".
func FitWords(b []byte, width int) (n, w int) {
	n, w = Fit(b, width)
	if n == len(b) || breaksAt(b, n) {
		return n, w
	}
	for i := n - 1; i > 0; i-- {
		if breaksAt(b, i) {
			return i, Cells(b[:i])
		}
	}
	return n, w
}

// breaksAt reports whether a line may end before b[i].
func breaksAt(b []byte, i int) bool {
	if b[i] != ' ' {
		return false
	}
	if i == 0 || b[i-1] < '0' || b[i-1] > '9' {
		return true
	}
	word, _, _ := bytes.Cut(b[i+1:], []byte{' '})
	switch string(bytes.TrimRight(word, ".,;:)")) {
	case "s", "ms", "µs", "ns", "%", "KiB", "MiB", "GiB":
		return false
	}
	return true
}

// Cells returns the width of escaped text in terminal cells.
func Cells(b []byte) int {
	w := 0
	for len(b) > 0 {
		n, c := measureUnit(b)
		b, w = b[n:], w+c
	}
	return w
}
