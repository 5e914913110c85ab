// Package jsonw appends JSON strings, numbers and times to a byte slice. The caller
// writes commas and braces. Nothing is allocated but the growth of dst.
package jsonw

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
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

// Float appends the shortest number that reads back as v in bits bits, or null,
// with false, for what JSON has no number for.
func Float(dst []byte, v float64, bits int) ([]byte, bool) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(dst, "null"...), false
	}
	if bits == 32 {
		if out, ok := appendUsualFloat(dst, float32(v)); ok {
			return out, true
		}
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

// appendUsualFloat is Float for numbers of 32 bits from 1 to 2^24 and their negatives, as the seconds
// that players are there: it takes a third of strconv's instructions. It reports whether v is one of
// them, and the answer is not a matter of how halves are rounded.
//
// Without its sign, v is m/2^s. A decimal reads back as v if it is less than half of 1/2^s away. Of those with k digits
// after the point the nearest one is n/10^k, and the first k for which that is near enough makes the
// shortest: fewer digits before the point never do.
func appendUsualFloat(dst []byte, v float32) (out []byte, ok bool) {
	const mantissa = 23 // bits; those above are the exponent
	if v < 0 {
		dst, v = append(dst, '-'), -v
	}
	x := math.Float32bits(v)
	m, s := uint64(x&(1<<mantissa-1)|1<<mantissa), uint(127+mantissa)-uint(x>>mantissa)
	if s > mantissa || m == 1<<mantissa { // of a power of two, the number below it is nearer than the one above
		return dst, false
	}
	scaled, scale := m, uint64(1) // times 10^k
	for half := uint64(1) << s >> 1; ; scaled, scale = 10*scaled, 10*scale {
		n := (scaled + half) >> s
		distance := max(scaled, n<<s) - min(scaled, n<<s) // in 1/2^s of 1/10^k
		switch {
		case 2*distance > scale:
			continue
		case 2*distance == scale, distance == half && half > 0:
			return dst, false
		}
		if scale == 1 {
			return digits.AppendUint(dst, n), true
		}
		whole := m >> s
		dst = digits.AppendUint(dst, whole)
		point := len(dst)
		dst = digits.AppendUint(dst, n-whole*scale+scale) // with a one in the place of the point
		dst[point] = '.'
		return dst, true
	}
}

// safe marks the bytes that stand for themselves in a JSON string. The characters
// that HTML gives a meaning are escaped too, because lines of JSON end up in
// pages.
var safe = func() (t [256]bool) {
	for i := range utf8.RuneSelf {
		t[i] = i >= 0x20 && i != '"' && i != '\\' && i != 0x7f && i != '<' && i != '>' && i != '&'
	}
	return
}()

// escapes holds the form of each byte below utf8.RuneSelf in a JSON string, with its first
// character in the lowest byte, and the length of that form in the highest one.
var escapes = func() (t [utf8.RuneSelf]uint64) {
	for i := range t {
		var form []byte
		switch c := byte(i); c {
		case '"', '\\':
			form = []byte{'\\', c}
		case '\n':
			form = []byte(`\n`)
		case '\r':
			form = []byte(`\r`)
		case '\t':
			form = []byte(`\t`)
		default:
			if form = appendUnit(nil, rune(c)); safe[c] {
				form = []byte{c}
			}
		}
		var x [8]byte
		copy(x[:], form)
		x[7] = byte(len(form))
		t[i] = binary.LittleEndian.Uint64(x[:])
	}
	return
}()

// roomPerWord is what is kept free for eight bytes: the longest escape of each, the eight bytes that
// the last one is copied as, and the quote after all. More than that makes an index below 64 safe.
const roomPerWord = 64 + 8

// spaces follow the bytes of a text that is shorter than a word.
const spaces = ' ' * ones

// loadRest returns the last bytes of b from offset n on, from none to seven, with spaces after them.
// Byte after byte it took as long as all else.
func loadRest(b []byte, n int) uint64 {
	if left := len(b) - n; left > 0 && len(b) >= 8 {
		return binary.LittleEndian.Uint64(b[len(b)-8:])>>(8*(8-left)&63) | spaces<<(8*left&63)
	}
	return loadShort(b[n:])
}

// loadShort is loadRest of a whole text.
func loadShort(b []byte) uint64 {
	n := len(b)
	switch {
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<(8*(n-4)&63) | spaces<<(8*n&63)
	case n > 0: // the first, the middle and the last
		return uint64(b[0]) | uint64(b[n/2])<<(8*(n/2)&63) | uint64(b[n-1])<<(8*(n-1)&63) | spaces<<(8*n&63)
	}
	return spaces
}

// A byte times ones is that byte eight times.
const (
	ones  = 0x0101_0101_0101_0101
	highs = 0x80 * ones
)

// markSpecial sets the highest bit of the bytes of x that are not safe, and of ^ | ~ beside them,
// which share all bits but one or two with < > \. It is 0 where there are none, and exact where all
// of x is ASCII: elsewhere, differences borrow from the bytes that follow.
func markSpecial(x uint64) uint64 {
	low := (x ^ 0x02*ones) &^ (0x04 * ones) // makes 0x20 of " and &, and more than that of all from 0x20 on
	lessMoreBackslash := (x | 0x62*ones) ^ 0x7e*ones
	return highs & (x | (x + ones) | (0xa0*ones - low) | (highs - lessMoreBackslash))
}

// twoBytes holds, for each first byte of a character of two, which second bytes make a visible one.
// Bytes that begin none, or a longer one, have no bit set. Their highest bit is not in the index.
var twoBytes = func() (t [128]uint64) {
	for r := rune(utf8.RuneSelf); r < 0x800; r++ {
		if display.Visible(r) {
			t[0x40|r>>6] |= 1 << (r & 0x3f)
		}
	}
	return
}()

// isTwo reports whether the two lowest bytes of x, of which the first is not ASCII, are a visible
// character.
func isTwo(x uint64) bool { return x&0xc000 == 0x8000 && twoBytes[x&0x7f]>>(x>>8&0x3f)&1 != 0 }
