package jsonw

import (
	"encoding/binary"
	"unicode/utf8"

	"qsniff/internal/base/display"
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
