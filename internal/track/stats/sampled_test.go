package stats

import "testing"

// TestLooksSampled: a capture of which chance kept one of N packets has as few replies with their request
// as requests with their answer; one of one direction, of a flood or with lost answers has not.
func TestLooksSampled(t *testing.T) {
	tests := []struct {
		name                                                    string
		requests, replies, paired, strays, answered, unanswered uint64
		want                                                    uint64
	}{
		{"one of 20", 8000, 8000, 400, 7600, 400, 7600, 20},
		{"one of two", 8000, 8000, 4000, 4000, 4000, 4000, 2},
		{"whole", 8000, 8000, 8000, 0, 8000, 0, 0},
		{"no reply has its request", 8000, 8000, 0, 8000, 0, 8000, 0},
		{"few", 900, 900, 45, 855, 45, 855, 0},
		{"a flood that is not answered", 80000, 8000, 8000, 0, 8000, 72000, 0},
		{"a reflection", 1500, 80000, 1500, 78500, 1500, 0, 0},
		{"replies that nobody asked for beside whole exchanges", 8000, 20000, 8000, 12000, 8000, 0, 0},
	}
	for _, tt := range tests {
		s := Summary{Requests: tt.requests, Replies: tt.replies, Paired: tt.paired, Strays: tt.strays, Answered: tt.answered, Unanswered: tt.unanswered}
		if got := s.LooksSampled(); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}
