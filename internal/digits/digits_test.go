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
