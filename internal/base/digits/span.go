package digits

import (
	"strconv"
	"time"
)

const (
	day  = 24 * time.Hour
	year = 365 * day

	// Span writes days from minDays on, and years from minYears on: nobody divides
	// 130609h42m by 24 at night.
	minDays  = 2 * day
	minYears = 2 * year

	nearSecond = 999500 * time.Microsecond // from here on three digits round to 1000 ms
	nearMinute = 59950 * time.Millisecond  // from here on they round to 60.0 s
)

// Span writes a length of time in the units that suit it: 20 ms, 3.1 s, 5m12s,
// 26h0m3s, 5d7h, 14.9 years.
func Span(d time.Duration) string {
	short := func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
	switch {
	case d < 0:
		return "-" + Span(-max(d, -1<<62))
	case d < nearSecond:
		return short(float64(d)/1e6) + " ms"
	case d < nearMinute:
		return short(d.Seconds()) + " s"
	case d < minDays:
		return d.Round(time.Second).String()
	case d < minYears:
		hours := int64(d.Round(time.Hour) / time.Hour)
		return strconv.FormatInt(hours/24, 10) + "d" + strconv.FormatInt(hours%24, 10) + "h"
	}
	return Short(float64(d)/float64(year)) + " years"
}

// Extent writes how far a run came: packets, bytes read, and the size of the input if
// that is known, which is above 0.
func Extent(packets uint64, read, size int64) string {
	s := Counted(packets, "packet") + ", " + Bytes(float64(read))
	if size > 0 {
		s += " of " + Bytes(float64(size))
	}
	return s
}
