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

func TestSpan(t *testing.T) {
	tests := []struct {
		in   int64
		want string
	}{
		{0, "0 ms"}, {1_000, "0.001 ms"}, {1_240_000, "1.24 ms"}, {20_000_000, "20 ms"}, {999_900_000, "999.9 ms"},
		{1_000_000_000, "1 s"}, {3_200_000_000, "3.2 s"}, {100_000_000_000, "100 s"}, {-2_500_000, "-2.5 ms"}, {-1_500_000_000, "-1.5 s"},
	}
	for _, tt := range tests {
		if got := string(AppendSpan(nil, tt.in)); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
