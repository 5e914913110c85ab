// Package jsonw appends JSON strings, numbers and times to a byte slice. The caller
// writes commas and braces. Nothing is allocated but the growth of dst.
package jsonw

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"qsniff/internal/base/digits"
	"qsniff/internal/base/display"
)

const hexDigits = "0123456789abcdef"

// String appends b as a JSON string. What display.Visible refuses is written as \u: C1
// controls, the separators that end a line in JavaScript, and what turns or hides text.
// A parser reads the same string. Each invalid byte of UTF-8 becomes U+FFFD; whole
// reports whether there was none, so that the string is b exactly.
func String(dst, b []byte) (out []byte, whole bool) {
	room := len(b) + roomPerWord
	if cap(dst)-len(dst) < room {
		dst = slices.Grow(dst, room)
	}
	at, n := len(dst)+1, 0
	to := dst[:cap(dst)]
	to[at-1] = '"'
	if last := len(b) - 8; last < 0 {
		x := loadShort(b)
		binary.LittleEndian.PutUint64(to[at:at+8:at+8], x)
		if markSpecial(x) == 0 {
			n = len(b)
		}
	} else {
		for { // most texts need no escapes from end to end
			x := binary.LittleEndian.Uint64(b[n : n+8 : n+8])
			binary.LittleEndian.PutUint64(to[at+n:at+n+8:at+n+8], x)
			if markSpecial(x) != 0 {
				break
			}
			if n == last {
				n = len(b)
				break
			}
			n = min(n+8, last) // the last eight bytes, some of them again
		}
	}
	if n < len(b) {
		return appendRest(to[:at+n], b, n)
	}
	to[at+n] = '"'
	return to[:at+n+1], true
}

// appendRest is String from offset n of b on. It goes from one word of eight bytes in which
// something is special to the next, and from one special character of that word to the next.
func appendRest(dst, b []byte, n int) (out []byte, whole bool) {
	whole = true
	for n < len(b) {
		if room := len(b) - n + roomPerWord; cap(dst)-len(dst) < room {
			dst = slices.Grow(dst, room)
		}
		var x, special uint64
		to, at := dst[:cap(dst)], len(dst)
		for ; len(b)-n >= 8; n, at = n+8, at+8 {
			x = binary.LittleEndian.Uint64(b[n : n+8 : n+8])
			binary.LittleEndian.PutUint64(to[at:at+8:at+8], x)
			if special = markSpecial(x&^highs) | x&highs; special != 0 {
				break
			}
		}
		next := n + 8
		if next > len(b) {
			x, next = loadRest(b, n), len(b)
			special = markSpecial(x&^highs) | x&highs
			binary.LittleEndian.PutUint64(to[at:at+8:at+8], x)
		}
		word, i := (*[roomPerWord]byte)(to[at:]), 0
		for special != 0 {
			same := bits.TrailingZeros64(special) &^ 7 // bits before it
			n, i, x, special = n+same/8, i+same/8, x>>(same&63), special>>(same&63)
			if x&utf8.RuneSelf == 0 {
				y := escapes[x&0x7f]
				n, x, special = n+1, x>>8, special>>8
				binary.LittleEndian.PutUint64(word[i&63:i&63+8], y)
				i += int(y >> 56)
				binary.LittleEndian.PutUint64(word[i&63:i&63+8], x) // the rest of the word
				continue
			}
			if !isTwo(x) {
				break
			}
			n, i, x, special = n+2, i+2, x>>16, special>>16
		}
		if special == 0 {
			dst, n = to[:at+i+next-n], next
			continue
		}
		var ok bool
		dst, i, ok = appendUnusual(to[:at+i], b[n:])
		n, whole = n+i, whole && ok
	}
	return append(dst, '"'), whole
}

// appendUnusual appends the first character of b, which is not ASCII, and returns its length. ok is
// false if b starts with an invalid byte.
func appendUnusual(dst, b []byte) (out []byte, n int, ok bool) {
	r, n := utf8.DecodeRune(b)
	switch {
	case r == utf8.RuneError && n == 1:
		return append(dst, "\ufffd"...), n, false
	case display.Visible(r):
		return append(dst, b[:n]...), n, true
	}
	return appendRune(dst, r), n, true // as in text: it would let a name rewrite the line it is shown in
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
