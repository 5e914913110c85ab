package digits

import (
	"math"
	"testing"
)

func TestGrouped(t *testing.T) {
	tests := []struct {
		in   int64
		want string
	}{
		{0, "0"}, {999, "999"}, {1000, "1,000"}, {262_144, "262,144"}, {1_234_567, "1,234,567"},
		{-1, "-1"}, {-123, "-123"}, {-1234, "-1,234"}, {math.MinInt64, "-9,223,372,036,854,775,808"},
	}
	for _, tt := range tests {
		if got := Grouped(tt.in); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
	for n, most := range map[int64]float64{0: 0, 99: 0, 1000: 1, math.MinInt64: 1} {
		if got := testing.AllocsPerRun(10, func() { Grouped(n) }); got > most {
			t.Errorf("%v allocations for %d, want %v at most", got, n, most)
		}
	}
}

func TestElapsed(t *testing.T) {
	for _, tt := range []struct {
		in   int64
		want string
	}{
		{0, "0 ns"}, {999, "999 ns"}, {1000, "1 µs"}, {1009, "1 µs"}, {1010, "1.01 µs"}, {12_340, "12.3 µs"}, {99_999, "99.9 µs"},
		{1_240_000, "1.24 ms"}, {20_000_000, "20 ms"}, {123_900_000, "123 ms"}, {3_100_000_000, "3.1 s"}, {15_000_000_000, "15 s"},
		{999_000_000_000, "999 s"}, {4_000_000_000_000, "1h6m40s"},
	} {
		if got := string(AppendElapsed(nil, tt.in, " ")); got != tt.want {
			t.Errorf("%d\ngot  %s\nwant %s", tt.in, got, tt.want)
		}
	}
}
