package digits

import (
	"math"
	"regexp"
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for _, tc := range []struct {
		in   time.Duration
		want string
	}{
		{0, "0 ms"}, {850 * time.Microsecond, "0.85 ms"}, {999 * time.Millisecond, "999 ms"}, {3100 * time.Millisecond, "3.1 s"},
		{59960 * time.Millisecond, "1m0s"}, {312 * time.Second, "5m12s"}, {26*time.Hour + 3*time.Second, "26h0m3s"},
		{127 * time.Hour, "5d7h"}, {130609*time.Hour + 42*time.Minute + 32*time.Second, "14.9 years"},
		{-3 * time.Second, "-3 s"}, {math.MinInt64, "-146 years"}, {math.MaxInt64, "292 years"},
	} {
		if got := Span(tc.in); got != tc.want {
			t.Errorf("%d\ngot  %s\nwant %s", tc.in, got, tc.want)
		}
	}
}

// TestSpanHours: no length of time, however it is written, has more than 99 hours.
func TestSpanHours(t *testing.T) {
	many := regexp.MustCompile(`\d{3,}h`)
	for d := time.Duration(1); d < 1<<61; d += d/7 + 1 {
		if s := Span(d) + " " + string(AppendElapsed(nil, int64(d), " ")); many.MatchString(s) {
			t.Errorf("%d: %s", d, s)
		}
	}
}

func TestExtent(t *testing.T) {
	for _, tc := range []struct {
		packets    uint64
		read, size int64
		want       string
	}{
		{1_234_567, 98 << 20, 6 << 30, "1,234,567 packets, 98.0 MiB of 6.00 GiB"},
		{1, 400, 0, "1 packet, 400 B"},
	} {
		if got := Extent(tc.packets, tc.read, tc.size); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}
