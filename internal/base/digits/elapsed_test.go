package digits

import (
	"math"
	"testing"
)

func TestMillis(t *testing.T) {
	for _, tt := range []struct {
		in   int64
		want string
	}{
		{0, "0"}, {1, "0.000001"}, {1_240_000, "1.24"}, {20_000_000, "20"}, {20_000_010, "20.00001"},
		{3_000_000_000, "3000"}, {math.MaxInt64, "9223372036854.775807"},
	} {
		if got := string(AppendMillis(nil, tt.in)); got != tt.want {
			t.Errorf("%d\ngot  %s\nwant %s", tt.in, got, tt.want)
		}
	}
}
