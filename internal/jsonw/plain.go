package jsonw

import (
	"math/bits"
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

// skipSafe returns the offset of the first byte from offset i on that is not safe, or
// the length of b. It looks at eight bytes together: most texts are safe
// from end to end.
func skipSafe[T []byte | string](b T, i int) int {
	for ; len(b)-i >= 8; i += 8 {
		c := b[i : i+8]
		x := uint64(c[0]) | uint64(c[1])<<8 | uint64(c[2])<<16 | uint64(c[3])<<24 |
			uint64(c[4])<<32 | uint64(c[5])<<40 | uint64(c[6])<<48 | uint64(c[7])<<56
		if m := markUnsafe(x); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(b) && safe[b[i]] {
		i++
	}
	return i
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
