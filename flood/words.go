package flood

import (
	"fmt"
	"math"
)

// sentences are evidence in words.
type sentences []string

func (s *sentences) add(format string, args ...any) { *s = append(*s, fmt.Sprintf(format, args...)) }

// percent, count, times and bytesOf return numbers as sentences have them.
func percent(share float64) string {
	switch p := 100 * share; {
	case p > 0 && p < 1:
		return fmt.Sprintf("%.1f %%", p)
	case p > 99 && p < 100:
		return "99 %"
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

func count(n float64) string {
	if n < 10 && n != math.Trunc(n) {
		return fmt.Sprintf("%.1f", n)
	}
	s := fmt.Sprintf("%.0f", n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func times(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.2fx", x)
	}
	return count(x) + "x"
}

func bytesOf(n uint64) string {
	switch {
	case n >= 10e6:
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	case n >= 10e3:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

// plural returns an estimated number with its noun: "one source", "about 12 sources".
func plural(what string, estimate float64) string {
	if estimate < 1.5 {
		return "one " + what
	}
	return "about " + count(estimate) + " " + what + "s"
}
