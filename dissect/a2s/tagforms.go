package a2s

import (
	"bytes"
	"math"
)

// form is how the value of a tag is written.
type form uint8

const (
	exact   form = iota // nothing: the element is a switch that is on
	yes                 // t or f
	number              // decimal
	signed              // decimal, maybe negative
	decimal             // with a fraction
	letter              // one letter
	text                // anything
	hexText             // eight hexadecimal digits at most
	point               // two signed numbers with a - between them
	clock               // HH:MM
	group               // a number between a key and i
)

// numbers are the values of a tag; only a point has two.
type numbers struct{ first, second uint64 }

// parse reads v. ok is false if it is not of the form.
func (f form) parse(v []byte) (n numbers, ok bool) {
	switch f {
	case exact:
		return numbers{first: 1}, len(v) == 0
	case yes:
		if len(v) != 1 || v[0] != 't' && v[0] != 'f' {
			return n, false
		}
		if v[0] == 't' {
			n.first = 1
		}
		return n, true
	case number:
		n.first, ok = parseUint(v)
	case signed:
		n.first, ok = parseInt(v)
	case decimal:
		n.first, ok = parseDecimal(v)
	case letter:
		if ok = len(v) == 1; ok {
			n.first = uint64(v[0])
		}
	case text:
		ok = len(v) > 0
	case hexText:
		ok = len(v) > 0 && len(v) <= 8 && len(bytes.Trim(v, "0123456789abcdefABCDEF")) == 0
	case point:
		return parsePoint(v)
	case clock:
		ok = isClock(v)
	case group:
		if i := len(v) - 1; i > 0 && v[i] == 'i' {
			n.first, ok = parseUint(v[:i])
		}
	}
	return n, ok
}

// parseUint reads digits. More than 64 bits are none.
func parseUint(v []byte) (n uint64, ok bool) {
	for _, c := range v {
		digit := uint64(c - '0')
		if c < '0' || c > '9' || n > (math.MaxUint64-digit)/10 {
			return 0, false
		}
		n = n*10 + digit
	}
	return n, len(v) > 0
}

// parseInt returns the number sign-extended.
func parseInt(v []byte) (n uint64, ok bool) {
	digits := bytes.TrimPrefix(v, []byte("-"))
	limit := uint64(math.MaxInt64)
	if len(digits) < len(v) {
		limit++
	}
	if n, ok = parseUint(digits); !ok || n > limit {
		return 0, false
	}
	if len(digits) < len(v) {
		n = -n
	}
	return n, true
}

// parseDecimal returns the bits of a float64, which is exact up to rounding.
func parseDecimal(v []byte) (n uint64, ok bool) {
	whole, fraction, _ := bytes.Cut(v, []byte("."))
	a, ok := parseUint(whole)
	if !ok || len(whole)+len(fraction) > maxDecimals {
		return 0, false
	}
	scale := 1.0
	for _, c := range fraction {
		if c < '0' || c > '9' {
			return 0, false
		}
		a = a*10 + uint64(c-'0')
		scale *= 10
	}
	return math.Float64bits(float64(a) / scale), true
}

// parsePoint reads two numbers of which either may be negative: 97-33, -1--1.
func parsePoint(v []byte) (n numbers, ok bool) {
	if len(v) == 0 {
		return n, false
	}
	i := 1 + bytes.IndexByte(v[1:], '-')
	if i == 0 {
		return n, false
	}
	n.first, ok = parseInt(v[:i])
	if ok {
		n.second, ok = parseInt(v[i+1:])
	}
	return n, ok
}

func isClock(v []byte) bool {
	if len(v) != len("HH:MM") || v[2] != ':' {
		return false
	}
	h, ok := parseUint(v[:2])
	m, fine := parseUint(v[3:])
	return ok && fine && h < 24 && m < 60
}
