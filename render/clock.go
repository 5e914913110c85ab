package render

import (
	"qsniff/internal/digits"
)

// Clock says how a renderer writes the time of a message.
type Clock uint8

// The clocks.
const (
	Absolute Clock = iota // date and time of day
	Relative              // seconds since the first packet
	Delta                 // seconds since the line before
	Epoch                 // seconds since 1970
	Offset                // seconds since the first message of the dialogue
)

// TruncateMicros cuts a time in nanoseconds to microseconds.
func TruncateMicros(nanos int64) int64 { return nanos - nanos%1000 }

// Hole is room for a time that only the writer of the output knows: the time since
// the line before, which another partition may have rendered, or since the start of
// a dialogue.
type Hole struct {
	IsSet bool
	At    int // offset in what was appended to
	Width int // places that are free there, and blank
}

// AppendSeconds appends a time of any clock but Absolute in seconds, right-aligned in
// width places. Under Delta and Offset it leaves a hole for it.
func (c Clock) AppendSeconds(dst []byte, nanos, start int64, width int, h *Hole) []byte {
	switch c {
	case Relative:
		return digits.AppendSeconds(dst, nanos-start, width)
	case Delta, Offset:
		*h = Hole{IsSet: true, At: len(dst), Width: width}
		for range width {
			dst = append(dst, ' ')
		}
		return dst
	}
	return digits.AppendSeconds(dst, nanos, width)
}

// FillHole writes a number of nanoseconds into the hole at offset at of dst, with as
// much room made for it as it needs.
func FillHole(dst []byte, at, width int, nanos int64) []byte {
	lo := len(dst)
	dst = digits.AppendSeconds(dst, nanos, width)
	n := len(dst) - lo
	if n == width {
		copy(dst[at:], dst[lo:])
		return dst[:lo]
	}
	var text [32]byte // longer than any number of seconds
	copy(text[:n], dst[lo:])
	dst = dst[:lo+n-width]
	copy(dst[at+n:], dst[at+width:lo])
	copy(dst[at:], text[:n])
	return dst
}
