package measure

import "testing"

// TestLastQuery: a flood that ends in the midst of a second ends there, although a query as usual
// comes after it.
func TestLastQuery(t *testing.T) {
	const begin, ms = int64(1_700_000_000_920_000_000), int64(1_000_000)
	var s Second
	at := func(nanos int64) { s.bins[uint64(nanos)/10e6%100]++ }
	for i := range int64(30) {
		at(begin + i*2*ms)
	}
	at(begin + 700*ms)
	for usual, want := range map[int]int64{0: 710, 1: 60, 31: 1000, 100: 1000} {
		if got := (s.LastQuery(begin+1000*ms, usual) - begin) / ms; got != want {
			t.Errorf("%d usual\ngot  %d ms\nwant %d", usual, got, want)
		}
	}
}
