package display

import (
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// widths measures characters in terminal cells. go-runewidth rather than
// golang.org/x/text/width, which knows East Asian classes only: to it, combining
// marks are as wide as letters. The condition is fixed, because the package's
// own depends on the locale and output must not.
var widths = runewidth.Condition{StrictEmojiNeutral: true}

// WidestUnit is how many cells what must stay together can have: the longest
// escape sequence.
const WidestUnit = len(`\UNNNNNNNN`)

// firstMark is the first combining character. All printable characters before
// it have one cell, and most texts have no others.
const firstMark = 0x300

// RuneCells is how many cells a character has: 0 for one that sits on another.
func RuneCells(r rune) int {
	if r < firstMark {
		return 1
	}
	return widths.RuneWidth(r)
}

// unit returns the length and the cells of what must stay together at the start
// of escaped text: an escape sequence, or a character with its marks.
func unit(b []byte) (n, w int) {
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
// and its cells. It is never empty, so that callers get on.
func Fit(b []byte, width int) (n, w int) {
	for n < len(b) {
		size, cells := unit(b[n:])
		if w+cells > width && n > 0 {
			break
		}
		n, w = n+size, w+cells
	}
	return n, w
}

// FitWords is Fit that breaks at a space where there is one.
func FitWords(b []byte, width int) (n, w int) {
	n, w = Fit(b, width)
	if n == len(b) || b[n] == ' ' {
		return n, w
	}
	for i := n - 1; i > 0; i-- {
		if b[i] == ' ' {
			return i, Cells(b[:i])
		}
	}
	return n, w
}

// Cells is the width of escaped text.
func Cells(b []byte) int {
	w := 0
	for len(b) > 0 {
		n, c := unit(b)
		b, w = b[n:], w+c
	}
	return w
}
