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
}

func TestElapsed(t *testing.T) {
	tests := []struct {
		in   int64
		want string
	}{
		{0, "0 ns"}, {850, "850 ns"}, {1_000, "1 µs"}, {1_240_000, "1.24 ms"}, {20_000_000, "20 ms"}, {999_900_000, "999 ms"},
		{1_000_000_000, "1 s"}, {3_200_000_000, "3.2 s"}, {100_000_000_000, "100 s"}, {1_050_000_000, "1.05 s"}, {86_400_000_000_000, "86400 s"},
	}
	for _, tt := range tests {
		if got := string(Elapsed(nil, tt.in, " ")); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
