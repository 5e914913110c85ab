package jsonw

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

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

const (
	longestEscape = len(`\u0000`)
	// asciiChunk is how many bytes are escaped at a time, because there must be room for the
	// longest escape of each.
	asciiChunk = 1 << 10
)

// appendASCII appends the start of b up to the first byte that is not ASCII, at most
// asciiChunk bytes, escaped, and returns its length. It copies eight bytes together and
// looks at them after that: most texts need no escapes from end to end.
func appendASCII(dst, b []byte) (out []byte, n int) {
	b = b[:min(len(b), asciiChunk)]
	at := len(dst)
	dst = slices.Grow(dst, longestEscape*len(b)+8)
	to := dst[:at+longestEscape*len(b)+8]
	for n < len(b) {
		if len(b)-n >= 8 {
			x := binary.LittleEndian.Uint64(b[n:])
			binary.LittleEndian.PutUint64(to[at:], x)
			same := 8
			m := markUnsafe(x)
			if m != 0 {
				same = bits.TrailingZeros64(m) / 8
			}
			n, at = n+same, at+same
			if m == 0 {
				continue
			}
		}
		c := b[n]
		if c >= utf8.RuneSelf {
			break
		}
		x := escapes[c]
		binary.LittleEndian.PutUint64(to[at:], x)
		n, at = n+1, at+int(x>>56)
	}
	return dst[:at], n
}

// A byte times ones is that byte eight times.
const (
	ones  = 0x0101_0101_0101_0101
	highs = 0x80 * ones
)

// markUnsafe sets the highest bit of the bytes of x that are not safe. Only the lowest
// such bit is exact: the subtractions borrow from the bytes above it. Two characters that differ in
// one bit are found together, with that bit set.
func markUnsafe(x uint64) uint64 {
	control := (x - 0x20*ones) &^ x
	quoteAmp := (x | 0x04*ones) ^ '&'*ones
	lessMore := (x | 0x02*ones) ^ '>'*ones
	backslash := x ^ '\\'*ones
	del := x ^ 0x7f*ones
	return highs & (x | control | (quoteAmp-ones)&^quoteAmp | (lessMore-ones)&^lessMore |
		(backslash-ones)&^backslash | (del-ones)&^del)
}
