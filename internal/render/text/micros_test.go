package text

import (
	"testing"
	"time"

	"qsniff/internal/render"
)

// TestMicros: times from an interface have the same digits, whatever their last three.
func TestMicros(t *testing.T) {
	const start = 1_700_000_000_000_000_123
	o := Options{UTC: true, Location: time.UTC, Micros: true}
	for _, clock := range []render.Clock{render.Absolute, render.Relative, render.Epoch} {
		o.Clock = clock
		want := -1
		for _, nanos := range []int64{0, 1, 999, 1000, 877, 1_000_877, 123_456_789} {
			got := string(o.appendClockTime(nil, start+nanos, start, true, &render.Hole{}))
			if want < 0 {
				want = len(got)
			}
			if len(got) != want {
				t.Errorf("clock %d: %q has %d characters, others have %d", clock, got, len(got), want)
			}
		}
	}
}
