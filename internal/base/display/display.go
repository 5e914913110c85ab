// Package display makes text from the network fit for a terminal: nothing
// invisible, nothing that acts on the terminal or on the text around it, and its
// width in cells. Colours and layout are the
// business of packages that use it.
package display

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

const digits = "0123456789abcdef"

// MaxMarks is how many combining marks one character keeps; the rest are escaped.
// Vietnamese and Thai use two, pointed Hebrew three. Names with dozens of marks are
// written to smear over the lines above and below.
const MaxMarks = 4

// AppendEscaped appends wire bytes as printable text, the way Go quotes it:
// \n, \r, \t, \xNN for other control characters and for bytes that are not
// UTF-8, \uNNNN and \UNNNNNNNN for what is invisible, reorders its surroundings
// or is no character. The backslash is doubled and quote gets one before it,
// so the text can be turned back into the bytes. All other characters stay.
func AppendEscaped(dst, b []byte, quote byte) []byte { return appendEscaped(dst, b, '\\', quote) }

// AppendVisible is AppendEscaped that leaves backslashes and quotes alone, for messages
// of this program with names in them. What was escaped before stays as it is; the result
// cannot be turned back into the bytes.
func AppendVisible(dst, b []byte) []byte { return appendEscaped(dst, b, 0, 0) }

// appendEscaped puts a backslash before each slash and quote; a NUL is escaped in any
// case, so 0 is neither.
func appendEscaped(dst, b []byte, slash, quote byte) []byte {
	marks := MaxMarks // a mark at the start would sit on what stands before the text
	for len(b) > 0 {
		if c := b[0]; c < utf8.RuneSelf {
			b = b[1:]
			switch {
			case c < ' ' || c == 0x7f:
				dst, marks = appendControl(dst, c), MaxMarks
			case c == slash || c == quote:
				dst, marks = append(dst, '\\', c), MaxMarks
			default:
				dst, marks = append(dst, c), 0
			}
			continue
		}
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			dst, marks = appendByte(dst, b[0]), MaxMarks
		case !Visible(r):
			dst, marks = appendRune(dst, r), MaxMarks
		case RuneCells(r) > 0:
			dst, marks = append(dst, b[:n]...), 0
		case marks < MaxMarks:
			dst, marks = append(dst, b[:n]...), marks+1
		default:
			dst = appendRune(dst, r)
		}
		b = b[n:]
	}
	return dst
}

// appendControl appends an ASCII control character.
func appendControl(dst []byte, c byte) []byte {
	switch c {
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return appendByte(dst, c)
}

func appendByte(dst []byte, c byte) []byte {
	return append(dst, '\\', 'x', digits[c>>4], digits[c&0xf])
}

func appendRune(dst []byte, r rune) []byte {
	letter, shift := byte('u'), 12
	if r > 0xffff {
		letter, shift = 'U', 28
	}
	dst = append(dst, '\\', letter)
	for ; shift >= 0; shift -= 4 {
		dst = append(dst, digits[r>>shift&0xf])
	}
	return dst
}

// brailleBlank counts as a symbol but has no ink; it is a usual way to make an
// empty name.
const brailleBlank = '\u2800'

// Visible reports whether r, which is not ASCII, can be printed as it is. It is the one
// rule for text, JSON, tables and messages. unicode.IsPrint refuses control characters
// (C1 too), formats such as the soft hyphen and tags, spaces other than ASCII's, private
// use and unassigned code points. The tables add what it takes for marks and letters:
// variation selectors, fillers and joiners have no ink, bidirectional controls reorder
// the rest of the line.
func Visible(r rune) bool {
	switch { // most text, for which the tables take eight times as long
	case r >= 0xae && r < 0x300, r >= 0x400 && r < 0x530, r >= 0x2460 && r < 0x2800, r >= 0x4e00 && r < 0xa000, r >= 0xac00 && r < 0xd7a4:
		return true // Latin, Cyrillic, symbols such as stars, Chinese characters, Hangul: without exception
	}
	return isVisibleInTables(r)
}

func isVisibleInTables(r rune) bool {
	return unicode.IsPrint(r) && r != brailleBlank &&
		!unicode.In(r, unicode.Bidi_Control, unicode.Join_Control, unicode.Variation_Selector,
			unicode.Other_Default_Ignorable_Code_Point)
}

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
