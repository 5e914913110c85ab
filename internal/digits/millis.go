package digits

import "strconv"

// AppendMillis appends a duration in nanoseconds, which is not negative, in
// milliseconds, exactly: with as many decimals as that takes.
func AppendMillis(dst []byte, nanos int64) []byte {
	dst = strconv.AppendInt(dst, nanos/1e6, 10)
	rest := nanos % 1e6
	if rest == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := int64(1e5); rest > 0; unit /= 10 {
		dst = append(dst, byte('0'+rest/unit))
		rest %= unit
	}
	return dst
}
