package tally

import "testing"

// TestLooksSampled: a capture of which chance kept one of N packets has as few replies with their request
// as requests with their answer; one of one direction, of a flood or with lost answers has not.
func TestLooksSampled(t *testing.T) {
	for _, tt := range []struct {
		name string
		n    Pairing
		want uint64
	}{
		{"one of 20", Pairing{8000, 8000, 400, 7600, 400, 7600}, 20},
		{"one of two", Pairing{8000, 8000, 4000, 4000, 4000, 4000}, 2},
		{"one of 20, a tenth of the flows", Pairing{8000, 8000, 40, 760, 40, 760}, 20},
		{"whole", Pairing{8000, 8000, 8000, 0, 8000, 0}, 0},
		{"no reply has its request", Pairing{8000, 8000, 0, 8000, 0, 8000}, 0},
		{"few", Pairing{900, 900, 45, 855, 45, 855}, 0},
		{"few flows", Pairing{9000, 9000, 10, 200, 10, 200}, 0},
		{"a flood that is not answered", Pairing{80000, 8000, 8000, 72000, 8000, 0}, 0},
		{"a reflection", Pairing{1500, 80000, 1500, 0, 1500, 78500}, 0},
		{"replies that nobody asked for beside whole exchanges", Pairing{8000, 20000, 8000, 0, 8000, 12000}, 0},
	} {
		r := Run{Packets: 1 << 20, Pairing: tt.n}
		if got := r.LooksSampled(); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
		if isSaid := r.SampleSentence() != ""; isSaid != (tt.want > 1) {
			t.Errorf("%s: sentence %q", tt.name, r.SampleSentence())
		}
		if r.Dropped = 1 << 18; r.LooksSampled() != 0 {
			t.Errorf("%s: where the capturing program lost packets", tt.name)
		}
		if r.Dropped, r.Samples = 0, 5; r.LooksSampled() != 0 {
			t.Errorf("%s: where it is known", tt.name)
		}
	}
}
