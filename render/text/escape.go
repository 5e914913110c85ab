package text

import (
	"unicode"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendEscaped appends wire bytes as printable text, the way Go quotes it:
// \n, \r, \t, \xNN for other control characters and for bytes that are not
// UTF-8, \uNNNN and \UNNNNNNNN for what is invisible, reorders its surroundings
// or is no character. The backslash is doubled and quote gets one in front, so
// the bytes can be told from the text. All other characters stay.
func appendEscaped(dst, b []byte, quote byte) []byte {
	marks := maxMarks // a mark at the start would sit on what stands before the text
	for len(b) > 0 {
		if c := b[0]; c < utf8.RuneSelf {
			b = b[1:]
			switch {
			case c < ' ' || c == 0x7f:
				dst, marks = appendControl(dst, c), maxMarks
			case c == '\\' || c == quote:
				dst, marks = append(dst, '\\', c), maxMarks
			default:
				dst, marks = append(dst, c), 0
			}
			continue
		}
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			dst, marks = appendByte(dst, b[0]), maxMarks
		case !visible(r):
			dst, marks = appendRune(dst, r), maxMarks
		case runeCells(r) > 0:
			dst, marks = append(dst, b[:n]...), 0
		case marks < maxMarks:
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
	return append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&0xf])
}

func appendRune(dst []byte, r rune) []byte {
	letter, shift := byte('u'), 12
	if r > 0xffff {
		letter, shift = 'U', 28
	}
	dst = append(dst, '\\', letter)
	for ; shift >= 0; shift -= 4 {
		dst = append(dst, hexDigits[r>>shift&0xf])
	}
	return dst
}

// brailleBlank counts as a symbol but has no ink; it is a usual way to make an
// empty name.
const brailleBlank = '\u2800'

// visible tells whether r, which is not ASCII, can be printed as it is.
// unicode.IsPrint refuses control characters (C1 too), formats, spaces other
// than ASCII's, private use and unassigned code points. The tables add what it
// takes for marks and letters: variation selectors, fillers and joiners have no
// ink, bidirectional controls reorder the rest of the line.
func visible(r rune) bool {
	return unicode.IsPrint(r) && r != brailleBlank &&
		!unicode.In(r, unicode.Bidi_Control, unicode.Join_Control, unicode.Variation_Selector,
			unicode.Other_Default_Ignorable_Code_Point)
}
