package flood

import (
	"testing"

	"qsniff/flood/measure"
)

// What many servers get together asks for a verdict where it is far above what is usual, in proportion or
// in number.
func TestJudgeHasAlarm(t *testing.T) {
	j := NewJudge(Defaults())
	for _, tc := range []struct {
		rate, now, base float64
		want            bool
	}{
		{29, 29, 1, false},
		{30, 30, 1, true},
		{101, 101, 40, true},   // 41 above it
		{99, 99, 40, false},    // 39 above it
		{375, 375, 125, true},  // forty busy servers with six more each
		{220, 220, 125, false}, // a busier evening
		{40, 2600, 125, true},
	} {
		f := measure.Features{measure.Rate10: tc.rate, measure.RateNow: tc.now, measure.Base: tc.base}
		if got := j.HasAlarm(&f); got != tc.want {
			t.Errorf("%v/s, %v/s now, usually %v/s: got %v, want %v", tc.rate, tc.now, tc.base, got, tc.want)
		}
	}
}
