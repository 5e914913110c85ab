package pipeline

import "testing"

// TestMicros: the time since the line before has six decimals where times are cut to
// microseconds, and is the difference of the times that are printed.
func TestMicros(t *testing.T) {
	for _, tc := range []struct {
		micros bool
		want   string
	}{{true, "   0.000002"}, {false, "0.000001002"}} {
		o := &textOutput{cutsToMicros: tc.micros, before: 1_700_000_000_000_000_999}
		o.buf = append(o.buf, "           "...)
		o.fillHole(0, len(o.buf), 1_700_000_000_000_002_001)
		if tc.micros { // the line before was printed with its own time cut
			o.before, o.buf = 1_700_000_000_000_000_000, append(o.buf[:0], "           "...)
			o.fillHole(0, len(o.buf), 1_700_000_000_000_002_001)
		}
		if got := string(o.buf); got != tc.want {
			t.Errorf("micros %v: got %q, want %q", tc.micros, got, tc.want)
		}
	}
}
