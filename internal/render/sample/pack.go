package sample

import (
	"slices"

	"github.com/klauspost/compress/s2"
)

// pack compresses what follows from in dst: a rendered message takes a fifth of its length
// then. It uses memory after dst, so that goroutines can call it.
func pack(dst []byte, from int) []byte {
	text := dst[from:]
	dst = slices.Grow(dst, s2.MaxEncodedLen(len(text)))
	packed := s2.Encode(dst[len(dst):cap(dst)], dst[from:])
	return append(dst[:from], packed...)
}

// unpack appends what pack compressed.
func unpack(dst, packed []byte) []byte {
	n, err := s2.DecodedLen(packed)
	if err != nil {
		panic("sample: " + err.Error()) // pack made it
	}
	dst = slices.Grow(dst, n)
	if _, err = s2.Decode(dst[len(dst):len(dst)+n], packed); err != nil {
		panic("sample: " + err.Error())
	}
	return dst[:len(dst)+n]
}
