package pipeline

import "testing"

// TestMicros: the time since the line before has six decimals where times are cut to
// microseconds, and is the difference of the times that are printed.
func TestMicros(t *testing.T) {
	for _, tc := range []struct {
		micros bool
		want   string
	}{{true, "   0.000002"}, {false, "0.000001002"}} {
		f := &fold{micros: tc.micros, before: 1_700_000_000_000_000_999}
		f.buf = append(f.buf, "           "...)
		f.fill(0, len(f.buf), 1_700_000_000_000_002_001)
		if tc.micros { // the line before was printed with its own time cut
			f.before, f.buf = 1_700_000_000_000_000_000, append(f.buf[:0], "           "...)
			f.fill(0, len(f.buf), 1_700_000_000_000_002_001)
		}
		if got := string(f.buf); got != tc.want {
			t.Errorf("micros %v: got %q, want %q", tc.micros, got, tc.want)
		}
	}
}
