// Package jsonw appends JSON tokens to a byte slice. It does not know objects:
// commas and braces are the caller's. It allocates nothing but dst's growth.
package jsonw

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// String appends b as a JSON string. Each invalid byte of UTF-8 becomes U+FFFD,
// and whole tells whether there was none, so that the string says b exactly.
func String[T []byte | string](dst []byte, b T) (out []byte, whole bool) {
	dst = append(dst, '"')
	whole = true
	start := 0
	for i := 0; i < len(b); {
		c := b[i]
		if c < utf8.RuneSelf {
			if safe[c] {
				i = plain(b, i+1)
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
		case mustEscape(r):
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

// mustEscape tells which characters are written as \u: C1 controls, the line and
// paragraph separators, which end a line in JavaScript, and the marks that turn
// or hide text, which would let a name from the wire rewrite the line it is
// shown in.
func mustEscape(r rune) bool {
	switch {
	case r >= 0x80 && r < 0xa0, r == 0x061c, r >= 0x200b && r <= 0x200f,
		r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0xfeff:
		return true
	}
	return false
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
	return appendRune(dst, rune(c))
}

func appendRune(dst []byte, r rune) []byte {
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
	dst = digits(dst, year, 4)
	dst = digits(append(dst, '-'), int(month), 2)
	dst = digits(append(dst, '-'), day, 2)
	dst = digits(append(dst, 'T'), hour, 2)
	dst = digits(append(dst, ':'), minute, 2)
	dst = digits(append(dst, ':'), sec, 2)
	dst = append(dst, '.')
	if ns := t.Nanosecond(); ns%1000 == 0 {
		dst = digits(dst, ns/1000, 6)
	} else {
		dst = digits(dst, ns, 9)
	}
	return append(dst, 'Z', '"')
}

// digits appends v with leading zeros to width places.
func digits(dst []byte, v, width int) []byte {
	var buf [20]byte
	i := len(buf)
	for ; width > 0 || v > 0; width-- {
		i--
		buf[i] = byte('0' + v%10)
		v /= 10
	}
	return append(dst, buf[i:]...)
}
