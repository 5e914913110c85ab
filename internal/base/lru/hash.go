package lru

import (
	"encoding/binary"
	"math/bits"
)

// Odd constants without structure: the fractional digits of the golden ratio
// and of the square roots of 2 and 3.
const (
	mixA = 0x9e3779b97f4a7c15
	mixB = 0x6a09e667f3bcc909
	mixC = 0xbb67ae8584caa73b
)

// Mix adds one word to a running hash that began as the seed. Both factors of
// the product contain the state, so nobody who does not know the seed can choose
// words that collide.
func Mix(h, word uint64) uint64 {
	hi, lo := bits.Mul64(h^word^mixA, bits.RotateLeft64(h, 29)^mixB)
	return hi ^ lo ^ mixC
}

// Mix2 adds two words, as of an address, to a running hash with one product.
func Mix2(h, a, b uint64) uint64 {
	hi, lo := bits.Mul64(h^a^mixA, bits.RotateLeft64(h, 29)^b^mixB)
	return hi ^ lo ^ mixC
}

// Mix16 is Mix2 for the 16 bytes of an address.
func Mix16(h uint64, b *[16]byte) uint64 {
	return Mix2(h, binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:]))
}

// MixBytes adds b to a running hash, eight bytes at a time. Cutting b at a
// multiple of eight gives the same hash as one call; the length is not part of
// it, so hash that too where lengths differ.
func MixBytes(h uint64, b []byte) uint64 {
	for ; len(b) >= 8; b = b[8:] {
		h = Mix(h, binary.LittleEndian.Uint64(b))
	}
	if len(b) > 0 {
		var tail [8]byte
		copy(tail[:], b)
		h = Mix(h, binary.LittleEndian.Uint64(tail[:]))
	}
	return h
}
