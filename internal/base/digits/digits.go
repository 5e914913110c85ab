// Package digits writes numbers for people. It does not parse them, and has
// no language but English.
package digits

import "strconv"

// AppendSeconds appends nanoseconds as seconds, with six decimals, or with nine where
// six would lose digits, right-aligned in width places.
func AppendSeconds(dst []byte, nanos int64, width int) []byte {
	var buf [32]byte
	b := buf[:0]
	u := uint64(nanos)
	if nanos < 0 {
		b, u = append(b, '-'), -u
	}
	b = append(strconv.AppendUint(b, u/1e9, 10), '.')
	rest, places := u%1e9, uint64(1e8)
	last := uint64(1e3)
	if rest%1e3 != 0 {
		last = 1
	}
	for ; places >= last; places /= 10 {
		b = append(b, '0'+byte(rest/places%10))
	}
	for range width - len(b) {
		dst = append(dst, ' ')
	}
	return append(dst, b...)
}

// Grouped writes n with a comma between groups of three digits: 4,812.
func Grouped(n int64) string {
	if n >= 0 && n < 1000 {
		return strconv.FormatInt(n, 10) // allocates nothing below 100
	}
	var buf [26]byte // of the longest number
	return string(AppendGrouped(buf[:0], n))
}

// AppendGrouped appends n as Grouped writes it.
func AppendGrouped(dst []byte, n int64) []byte {
	var buf [20]byte // of the longest number
	plain := strconv.AppendInt(buf[:0], n, 10)
	if plain[0] == '-' {
		dst, plain = append(dst, '-'), plain[1:]
	}
	first := len(plain) % 3
	dst = append(dst, plain[:first]...)
	for i := first; i < len(plain); i += 3 {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, plain[i:i+3]...)
	}
	return dst
}
