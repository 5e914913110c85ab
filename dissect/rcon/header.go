package rcon

import (
	"encoding/binary"

	"qsniff/dissect"
)

const (
	sizeLen   = 4
	headerLen = 12 // size, id, type
	endLen    = 2  // the two NULs
	minLen    = sizeLen + minSize
)

// The numbers of types. 2 means a command or the answer to a password, by direction.
const (
	numValue        = 0
	numPush         = 1 // Squad: what happens in the game
	numExec         = 2
	numAuthResponse = 2
	numAuth         = 3
	numOutput       = 4 // Rust before WebRCON: a line of the console
)

// failedID is the id of the answer to a wrong password.
const failedID = -1

// header is the start of a packet as far as it is there: what is missing counts as
// zeros.
type header struct {
	n    int // bytes that are there
	size uint32
	id   int32
	num  int32
}

func parseHeader(b []byte) header {
	var x [headerLen]byte
	n := copy(x[:], b)
	return header{n: n, size: binary.LittleEndian.Uint32(x[:]),
		id: int32(binary.LittleEndian.Uint32(x[4:])), num: int32(binary.LittleEndian.Uint32(x[8:]))}
}

// fits reports whether the size can be one of at most so many bytes, as far as it
// was received.
func (h header) fits(most uint32) bool {
	return h.size <= most && (h.n < sizeLen || h.size >= minSize)
}

// whole reports whether all of the header is there.
func (h header) whole() bool { return h.n == headerLen }

// length is that of the packet, where its size counts bytes.
func (h header) length() int { return sizeLen + int(h.size) }

// hasUsualType reports whether packets in this direction have the type, as far as it is
// there: the standard ones, and for servers those of dialects.
func (h header) hasUsualType(dir dissect.Direction) bool {
	if !h.whole() { // the bytes that are missing can make the number larger
		return uint32(h.num) <= numOutput
	}
	switch h.num {
	case numValue, numExec:
		return true
	case numAuth:
		return dir != dissect.ToClient
	case numPush, numOutput:
		return dir != dissect.ToServer
	}
	return false
}

// typeOf is the type of the message after a whole header.
func (h header) typeOf(dir dissect.Direction) *dissect.Type {
	if !h.whole() {
		return nil
	}
	if dir == dissect.ToServer {
		switch h.num {
		case numAuth:
			return &typeAuth
		case numExec:
			return &typeExec
		case numValue:
			return &typeValueRequest
		}
		return &typeOtherRequest
	}
	switch h.num {
	case numAuthResponse:
		return &typeAuthResponse
	case numValue:
		return &typeValue
	}
	return &typeOtherReply
}

// endsWithNULs reports whether the packet of n bytes at the start of b ends with its two NULs.
func endsWithNULs(b []byte, n int) bool { return b[n-2] == 0 && b[n-1] == 0 }
