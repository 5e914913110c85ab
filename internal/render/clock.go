package render

import (
	"qsniff/internal/base/digits"
)

// Clock chooses how a renderer writes the time of a message.
type Clock uint8

// The clocks.
const (
	Absolute Clock = iota // date and time of day
	Relative              // seconds since the first packet
	Delta                 // seconds since the line before
	Epoch                 // seconds since 1970
	Offset                // seconds since the first message of the dialogue
)

// TruncateMicros returns a time in nanoseconds, cut to whole microseconds.
func TruncateMicros(nanos int64) int64 { return nanos - nanos%1000 }

// Hole is blank space for a time that a renderer does not have: the time since the line
// before, which another partition may have rendered, or since the start of a dialogue.
// Whoever writes the output fills it, with FillHole.
type Hole struct {
	IsSet bool
	At    int // offset in the slice that the renderer appended to
	Width int // blank cells there
}

// AppendSeconds appends a time in seconds by any clock but Absolute, right-aligned in
// width cells. Under Delta and Offset it appends blanks and sets h.
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

// FillHole writes nanos, as seconds, over the width blanks at offset at of dst. Where it
// needs more than width cells, the rest of dst moves.
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
