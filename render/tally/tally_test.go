package tally

import "testing"

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
