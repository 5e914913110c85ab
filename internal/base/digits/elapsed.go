package digits

import (
	"strconv"
	"time"
)

// AppendElapsed appends a duration in nanoseconds, which is not negative, in the unit
// that leaves one to three digits before the point, with three digits in all and no
// zeros after them: 850 ns, 1.24 ms, 20 ms. sep precedes the unit. From 1000 s on the
// form is that of Span.
func AppendElapsed(dst []byte, nanos int64, sep string) []byte {
	const digits = 3
	if nanos >= 1000*int64(time.Second) {
		return append(dst, Span(time.Duration(nanos))...)
	}
	units := [...]string{"ns", "µs", "ms", "s"}
	whole, rest, unit := nanos, int64(0), 0
	for ; whole >= 1000 && unit < len(units)-1; unit++ {
		whole, rest = whole/1000, whole%1000
	}
	dst = strconv.AppendInt(dst, whole, 10)
	dst = appendDecimals(dst, rest, digits-countDigits(uint64(whole)))
	return append(append(dst, sep...), units[unit]...)
}

// appendDecimals appends the first n of the three decimals that rest is, without
// zeros at the end.
func appendDecimals(dst []byte, rest int64, n int) []byte {
	lo := len(dst)
	last := lo
	for unit := int64(100); n > 0 && unit > 0; unit, n = unit/10, n-1 {
		if len(dst) == lo {
			dst = append(dst, '.')
		}
		d := byte('0' + rest/unit%10)
		if dst = append(dst, d); d != '0' {
			last = len(dst)
		}
	}
	return dst[:last]
}

// AppendMillis appends a duration in nanoseconds, which is not negative, in
// milliseconds, exactly: with as many decimals as that takes.
func AppendMillis(dst []byte, nanos int64) []byte {
	dst = AppendUint(dst, uint64(nanos/1e6))
	rest := nanos % 1e6
	if rest == 0 {
		return dst
	}
	dst = AppendMillionths(append(dst, '.'), uint64(rest))
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}
