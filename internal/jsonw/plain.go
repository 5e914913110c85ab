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
	if room := longestEscape*len(b) + 8; cap(dst)-at < room {
		dst = slices.Grow(dst, room)
	}
	to := dst[:cap(dst)]
	for n < len(b) {
		var x uint64
		if len(b)-n >= 8 {
			x = binary.LittleEndian.Uint64(b[n : n+8 : n+8])
		} else {
			x = loadRest(b, n)
		}
		binary.LittleEndian.PutUint64(to[at:at+8:at+8], x)
		unsafe := markUnsafe(x)
		if unsafe == 0 {
			n, at = n+8, at+8
			continue
		}
		same := bits.TrailingZeros64(unsafe) / 8
		if n, at = n+same, at+same; n == len(b) {
			break
		}
		c := b[n]
		if c >= utf8.RuneSelf {
			break
		}
		y := escapes[c]
		binary.LittleEndian.PutUint64(to[at:at+8:at+8], y)
		n, at = n+1, at+int(y>>56)
	}
	return dst[:at], n
}

// loadRest returns the last bytes of b from offset n on, seven at most, with zeros after them: these
// are not safe, so that the text is cut where it ends. Byte after byte it took as long as all else.
func loadRest(b []byte, n int) uint64 {
	left := len(b) - n
	switch {
	case len(b) >= 8:
		return binary.LittleEndian.Uint64(b[len(b)-8:]) >> (8 * (8 - left) & 63)
	case left >= 4:
		return uint64(binary.LittleEndian.Uint32(b[n:])) | uint64(binary.LittleEndian.Uint32(b[len(b)-4:]))<<(8*(left-4)&63)
	default: // the first, the middle and the last of one to three
		return uint64(b[n]) | uint64(b[n+left/2])<<(8*(left/2)&63) | uint64(b[len(b)-1])<<(8*(left-1)&63)
	}
}

// A byte times ones is that byte eight times.
const (
	ones  = 0x0101_0101_0101_0101
	highs = 0x80 * ones
)

// markUnsafe sets the highest bit of the bytes of x that are not safe. Only the lowest
// such bit is exact: the sums carry and the differences borrow from the bytes above it, and they
// set it in bytes that are not ASCII as well, which x itself marks. Two characters that differ in
// one bit are found together, with that bit set.
func markUnsafe(x uint64) uint64 {
	quoteAmp := (x | 0x04*ones) ^ '&'*ones
	lessMore := (x | 0x02*ones) ^ '>'*ones
	backslash := x ^ '\\'*ones
	del := x + ones
	return highs & (x | del | (x - 0x20*ones) | (quoteAmp - ones) | (lessMore - ones) | (backslash - ones))
}
