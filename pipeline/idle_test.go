package pipeline

import (
	"context"
	"io"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/track"
)

// quiet is a live source that has one packet and then nothing; each time it says so,
// its clock goes on.
type quiet struct {
	first  capture.Packet
	reads  int
	clock  int64
	rounds int
}

func (q *quiet) Read(b *capture.Batch) error {
	b.Reset()
	if q.reads++; q.reads == 1 {
		b.Packets = append(b.Packets, q.first)
		return nil
	}
	q.clock += int64(100 * time.Millisecond)
	if q.reads > q.rounds {
		return io.EOF
	}
	return nil
}

func (q *quiet) Stats() capture.Stats { return capture.Stats{} }
func (q *quiet) Close() error         { return nil }

// TestIdle: without packets, a request is unanswered once the time for it has passed,
// and not before; without a clock nothing passes.
func TestIdle(t *testing.T) {
	var b capture.Batch
	if err := open(t, asked{sources: 1, rounds: 1, times: always(1)}.write(t)).Read(&b); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		rounds int
		clock  bool
		want   int
	}{{10, true, 0}, {300, true, 1}, {300, false, 0}} {
		q := &quiet{first: b.Packets[0], rounds: tc.rounds, clock: 12345}
		cfg := Config{Source: q, Registry: registry(t), Jobs: 1, Listener: &silences{}}
		if tc.clock {
			cfg.Clock = func() int64 { return q.clock }
		}
		if _, err := Run(context.Background(), cfg); err != nil {
			t.Fatal(err)
		}
		if got := cfg.Listener.(*silences).n; got != tc.want {
			t.Errorf("unanswered after %d empty batches (clock: %v)\ngot  %d\nwant %d", tc.rounds, tc.clock, got, tc.want)
		}
	}
}

// silences counts answers that did not come.
type silences struct {
	collector
	n int
}

func (s *silences) Fact(f *track.Fact, _ []track.Found, _ *track.Post) {
	if f.Step == track.Silence {
		s.n++
	}
}
