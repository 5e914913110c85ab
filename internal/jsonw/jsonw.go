// Package jsonw appends JSON strings, numbers and times to a byte slice. The caller
// writes commas and braces. Nothing is allocated but the growth of dst.
package jsonw

import (
	"math"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"qsniff/internal/display"
)

const hexDigits = "0123456789abcdef"

// String appends b as a JSON string. What display.Visible refuses is written as \u: C1
// controls, the separators that end a line in JavaScript, and what turns or hides text.
// A parser reads the same string. Each invalid byte of UTF-8 becomes U+FFFD; whole
// reports whether there was none, so that the string is b exactly.
func String[T []byte | string](dst []byte, b T) (out []byte, whole bool) {
	dst = append(dst, '"')
	whole = true
	start := 0
	for i := 0; i < len(b); {
		c := b[i]
		if c < utf8.RuneSelf {
			if safe[c] {
				i = skipSafe(b, i+1)
				continue
			}
			dst = append(dst, b[start:i]...)
			dst = appendEscape(dst, c)
			i++
			start = i
			continue
		}
		r, n := decode(b[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(dst, b[start:i]...)
			dst = append(dst, "\ufffd"...)
			whole = false
		case !display.Visible(r): // as in text: it would let a name rewrite the line it is shown in
			dst = append(dst, b[start:i]...)
			dst = appendRune(dst, r)
		default:
			i += n
			continue
		}
		i += n
		start = i
	}
	dst = append(dst, b[start:]...)
	return append(dst, '"'), whole
}

func decode[T []byte | string](b T) (rune, int) {
	var buf [utf8.UTFMax]byte
	n := copy(buf[:], b)
	return utf8.DecodeRune(buf[:n])
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return appendUnit(dst, rune(c))
}

// appendRune appends a character as \u, or as the two of its surrogates.
func appendRune(dst []byte, r rune) []byte {
	if high, low := utf16.EncodeRune(r); r > 0xffff {
		return appendUnit(appendUnit(dst, high), low)
	}
	return appendUnit(dst, r)
}

func appendUnit(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&0xf], hexDigits[r>>8&0xf], hexDigits[r>>4&0xf], hexDigits[r&0xf])
}

// Hex appends b as a JSON string of hexadecimal digits.
func Hex(dst, b []byte) []byte {
	dst = append(dst, '"')
	for _, c := range b {
		dst = append(dst, hexDigits[c>>4], hexDigits[c&0xf])
	}
	return append(dst, '"')
}

// Float appends the shortest number that reads back as v in bits bits, or null,
// with false, for what JSON has no number for.
func Float(dst []byte, v float64, bits int) ([]byte, bool) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(dst, "null"...), false
	}
	abs := math.Abs(v)
	format := byte('f')
	// the limits of encoding/json: beyond them the plain form gets long
	if abs != 0 && (bits == 64 && (abs < 1e-6 || abs >= 1e21) ||
		bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21)) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, bits), true
}

// Time appends a Unix time in nanoseconds as a JSON string in UTC with
// microseconds, or with nanoseconds where there are any.
func Time(dst []byte, nanos int64) []byte {
	t := time.Unix(0, nanos).UTC()
	year, month, day := t.Date()
	hour, minute, sec := t.Clock()
	dst = append(dst, '"')
	dst = appendDigits(dst, year, 4)
	dst = appendDigits(append(dst, '-'), int(month), 2)
	dst = appendDigits(append(dst, '-'), day, 2)
	dst = appendDigits(append(dst, 'T'), hour, 2)
	dst = appendDigits(append(dst, ':'), minute, 2)
	dst = appendDigits(append(dst, ':'), sec, 2)
	dst = append(dst, '.')
	if ns := t.Nanosecond(); ns%1000 == 0 {
		dst = appendDigits(dst, ns/1000, 6)
	} else {
		dst = appendDigits(dst, ns, 9)
	}
	return append(dst, 'Z', '"')
}

// appendDigits appends v with leading zeros to width places.
func appendDigits(dst []byte, v, width int) []byte {
	var buf [20]byte
	i := len(buf)
	for ; width > 0 || v > 0; width-- {
		i--
		buf[i] = byte('0' + v%10)
		v /= 10
	}
	return append(dst, buf[i:]...)
}
