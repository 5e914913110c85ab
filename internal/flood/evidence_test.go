package flood

import (
	"math"
	"slices"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/flood/measure"
)

// TestMissingProof: that nobody brought a challenge back is missing in a capture only where
// the protocol has one.
func TestMissingProof(t *testing.T) {
	token := &dissect.Token{Len: 4}
	proves := &dissect.Proto{Types: []*dissect.Type{{Token: token}, {Token: token, Reply: true}}}
	for _, oneWay := range []float64{0, 1} {
		f := &measure.Features{}
		f[measure.OneWay], f[measure.Completion] = oneWay, math.NaN()
		for p, want := range map[*dissect.Proto]bool{nil: true, proves: true, {}: false} {
			if got := listMissing(nil, f, p); slices.Contains(got, "C") != want || slices.Contains(got, "ans") != (oneWay > 0) {
				t.Errorf("one way %v, proof %v: got %q", oneWay, want, got)
			}
		}
	}
}
