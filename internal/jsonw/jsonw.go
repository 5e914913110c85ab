// Package jsonw appends JSON strings, numbers and times to a byte slice. The caller
// writes commas and braces. Nothing is allocated but the growth of dst.
package jsonw

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"qsniff/internal/digits"
	"qsniff/internal/display"
)

const hexDigits = "0123456789abcdef"

// String appends b as a JSON string. What display.Visible refuses is written as \u: C1
// controls, the separators that end a line in JavaScript, and what turns or hides text.
// A parser reads the same string. Each invalid byte of UTF-8 becomes U+FFFD; whole
// reports whether there was none, so that the string is b exactly.
func String(dst, b []byte) (out []byte, whole bool) {
	dst, n := appendASCII(append(dst, '"'), b)
	if n == len(b) {
		return append(dst, '"'), true
	}
	return appendRest(dst, b[n:])
}

// appendRest is String from where the first call of appendASCII ended.
func appendRest(dst, b []byte) (out []byte, whole bool) {
	whole = true
	for len(b) > 0 {
		if b[0] < utf8.RuneSelf {
			var n int
			dst, n = appendASCII(dst, b)
			b = b[n:]
			continue
		}
		n := countVisible(b)
		dst, b = append(dst, b[:n]...), b[n:]
		if len(b) == 0 || b[0] < utf8.RuneSelf {
			continue
		}
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			dst, whole = append(dst, "\ufffd"...), false
		} else { // as in text: it would let a name rewrite the line it is shown in
			dst = appendRune(dst, r)
		}
		b = b[n:]
	}
	return append(dst, '"'), whole
}

// countVisible returns how many bytes at the start of b are characters that are not ASCII and stand
// for themselves.
func countVisible(b []byte) (n int) {
	for n < len(b) && b[n] >= utf8.RuneSelf {
		r, size := utf8.DecodeRune(b[n:])
		if r == utf8.RuneError && size == 1 || !display.Visible(r) {
			break
		}
		n += size
	}
	return n
}

// Text is String for a text of the program.
func Text(dst []byte, s string) []byte {
	dst, _ = String(dst, []byte(s))
	return dst
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

// hexPairs holds the two digits of each byte, the first in the lower byte.
var hexPairs = func() (t [256]uint16) {
	for i := range t {
		t[i] = uint16(hexDigits[i>>4]) | uint16(hexDigits[i&0xf])<<8
	}
	return
}()

// Hex appends b as a JSON string of hexadecimal digits.
func Hex(dst, b []byte) []byte {
	dst = slices.Grow(append(dst, '"'), 2*len(b)+1)
	for _, c := range b {
		dst = binary.LittleEndian.AppendUint16(dst, hexPairs[c])
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
	return Fraction(append(dst, '.'), int64(t.Nanosecond()))
}

// Fraction appends what Time appends after the point, of nanoseconds below a second.
func Fraction(dst []byte, nanos int64) []byte {
	if micros := nanos / 1000; micros*1000 == nanos {
		dst = digits.AppendMillionths(dst, uint64(micros))
	} else {
		dst = appendDigits(dst, int(nanos), 9)
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
