package jsonw

import (
	"math"
	"strconv"

	"qsniff/internal/base/digits"
)

// Float appends the shortest number that reads back as v in bits bits, or null,
// with false, for what JSON has no number for.
func Float(dst []byte, v float64, bits int) ([]byte, bool) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(dst, "null"...), false
	}
	if bits == 32 {
		if out, ok := appendUsualFloat(dst, float32(v)); ok {
			return out, true
		}
	}
	abs := math.Abs(v)
	format := byte('f')
	// the limits of encoding/json: beyond them the plain form gets long
	if abs != 0 && (bits == 64 && (abs < 1e-6 || abs >= 1e21) ||
		bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21)) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, bits), true
}

// appendUsualFloat is Float for numbers of 32 bits from 1 to 2^24 and their negatives, as the seconds
// that players are there: it takes a third of strconv's instructions. It reports whether v is one of
// them, and the answer is not a matter of how halves are rounded.
//
// Without its sign, v is m/2^s. A decimal reads back as v if it is less than half of 1/2^s away. Of those with k digits
// after the point the nearest one is n/10^k, and the first k for which that is near enough makes the
// shortest: fewer digits before the point never do.
func appendUsualFloat(dst []byte, v float32) (out []byte, ok bool) {
	const mantissa = 23 // bits; those above are the exponent
	if v < 0 {
		dst, v = append(dst, '-'), -v
	}
	x := math.Float32bits(v)
	m, s := uint64(x&(1<<mantissa-1)|1<<mantissa), uint(127+mantissa)-uint(x>>mantissa)
	if s > mantissa || m == 1<<mantissa { // of a power of two, the number below it is nearer than the one above
		return dst, false
	}
	scaled, scale := m, uint64(1) // times 10^k
	for half := uint64(1) << s >> 1; ; scaled, scale = 10*scaled, 10*scale {
		n := (scaled + half) >> s
		distance := max(scaled, n<<s) - min(scaled, n<<s) // in 1/2^s of 1/10^k
		switch {
		case 2*distance > scale:
			continue
		case 2*distance == scale, distance == half && half > 0:
			return dst, false
		}
		if scale == 1 {
			return digits.AppendUint(dst, n), true
		}
		whole := m >> s
		dst = digits.AppendUint(dst, whole)
		point := len(dst)
		dst = digits.AppendUint(dst, n-whole*scale+scale) // with a one in the place of the point
		dst[point] = '.'
		return dst, true
	}
}
