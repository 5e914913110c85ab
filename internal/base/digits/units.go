package digits

import "strconv"

// Bytes writes a number of bytes with the unit that makes it short: 1.5 KiB.
func Bytes(n float64) string {
	units := [...]string{" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"}
	i := 0
	for ; n >= 999.5 && i < len(units)-1; i++ {
		n /= 1024
	}
	if i == 0 {
		return strconv.FormatFloat(n, 'f', 0, 64) + units[i]
	}
	return Short(n) + units[i]
}

// Short writes a number that is not negative with three digits, or all before
// the point, in groups: 0.012, 4.92, 31.4, 1,234.
func Short(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 99.95:
		return Grouped(int64(v + 0.5))
	case v >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.9995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}
