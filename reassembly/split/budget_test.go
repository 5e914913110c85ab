package split

import (
	"testing"
	"time"
)

// TestBudgetShares: neither one source nor all together spend more than their share of a second, and the next second
// begins anew.
func TestBudgetShares(t *testing.T) {
	const second = int64(time.Second)
	b := newBudget(Limits{Sources: 8, Work: 10, SourceWork: 6})
	one, two, three := sourceKey{1}, sourceKey{2}, sourceKey{3}
	for i, s := range []struct {
		src     sourceKey
		nanos   int64
		spent   int
		hasLeft bool
	}{
		{one, 0, 6, true}, {one, 1, 0, false}, {two, 2, 4, true}, {two, 3, 0, false}, {three, 4, 0, false}, {one, second, 1, true}, {three, second + 1, 9, true}, {two, second + 2, 0, false},
	} {
		if got := b.hasLeft(s.src, s.nanos); got != s.hasLeft {
			t.Errorf("step %d: work left %v, want %v", i, got, s.hasLeft)
		}
		b.spend(s.src, s.spent)
	}
}
