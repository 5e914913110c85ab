package tally

import (
	"strings"
	"testing"
)

// TestAdd: numbers are added wherever they lie.
func TestAdd(t *testing.T) {
	type inner struct{ N uint64 }
	type outer struct {
		A uint64
		B inner
	}
	to := outer{1, inner{2}}
	if Add(&to, &outer{10, inner{20}}); to != (outer{11, inner{22}}) {
		t.Errorf("got %+v", to)
	}
}

// TestSentences: what is missing or multiplied is said, and nothing where nothing is.
func TestSentences(t *testing.T) {
	var none Run
	if got := none.MergedSentence() + none.SampleSentence(); got != "" {
		t.Errorf("of an ordinary capture: %q", got)
	}
	r := Run{Merged: 2, Segments: 1040, Samples: 5, SampledFor: 4500}
	if got, want := r.MergedSentence(), "2 frames held 1,040 datagrams, merged by offload"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q", got)
	}
	if got, want := r.SampleSentence(), "5 packets are samples that stand for about 4,500: "; !strings.HasPrefix(got, want) {
		t.Errorf("got %q", got)
	}
}
