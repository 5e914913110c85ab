package web

import (
	"fmt"
	"strings"
	"time"

	"qsniff/internal/base/digits"
)

// clock returns a time in UTC for people, empty for none.
func clock(nanos int64) string {
	if nanos == 0 {
		return ""
	}
	return time.Unix(0, nanos).UTC().Format("Jan 2 15:04:05")
}

// iso returns a time for programs.
func iso(nanos int64) string { return time.Unix(0, nanos).UTC().Format(time.RFC3339) }

// span returns the time from one moment to another.
func span(from, to int64) string {
	return digits.Span(time.Duration(max(0, to-from)).Round(time.Second))
}

// grouped returns a number with its thousands apart.
func grouped(n any) string {
	switch n := n.(type) {
	case int:
		return digits.Grouped(int64(n))
	case int64:
		return digits.Grouped(n)
	case uint32:
		return digits.Grouped(int64(n))
	case uint64:
		return digits.Grouped(int64(n))
	case float64:
		return digits.Grouped(int64(n + 0.5))
	}
	return fmt.Sprint(n)
}

// signed returns a time in seconds, with its sign.
func signed(nanos int64) string { return fmt.Sprintf("%+.1f s", float64(nanos)/1e9) }

// plainKind returns the name of a kind of flood as words.
func plainKind(s string) string { return strings.ReplaceAll(s, "_", " ") }

// rate returns how many a second a window's count is.
func rate(n uint64) string { return digits.Short(float64(n) / windowSeconds) }

// windowSeconds is the length of a window.
const windowSeconds = 10
