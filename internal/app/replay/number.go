package replay

import (
	"encoding/binary"
	"strconv"
)

// withNumber returns b with the number at s replaced, in the form that it has there: old in
// digits, or else little-endian.
func withNumber(b []byte, s span, old, number uint64) []byte {
	if s.hi == 0 {
		return b
	}
	out := append([]byte(nil), b[:s.lo]...)
	if v, err := strconv.ParseUint(string(b[s.lo:s.hi]), 10, 64); err == nil && v == old {
		out = strconv.AppendUint(out, number, 10)
	} else {
		var x [8]byte
		binary.LittleEndian.PutUint64(x[:], number)
		field := make([]byte, s.hi-s.lo)
		copy(field, x[:])
		out = append(out, field...)
	}
	return append(out, b[s.hi:]...)
}
