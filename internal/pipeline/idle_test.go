package pipeline

import (
	"context"
	"io"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/internal/test/protos"
	"qsniff/internal/track"
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
		cfg := Config{Source: q, Registry: protos.Registry(t), Jobs: 1, Listener: &silences{}}
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

func (s *silences) AddFact(f *track.Fact, _ []track.Found, _ *track.ServerInfo) {
	if f.Step == track.Silence {
		s.n++
	}
}

// stepping is a live source whose packets come one by one. The clock that stamps them
// is set in between, the one that measures is not.
type stepping struct {
	packets []capture.Packet
	clock   int64
	step    time.Duration // of the stamping clock, before the last few packets
	quiet   int           // empty batches after the first packet
	next    int
}

// stepEvery is how far apart the packets really are, stepLast how many come after
// the step.
const (
	stepEvery = 100 * time.Millisecond
	stepLast  = 5
)

func (s *stepping) Read(b *capture.Batch) error {
	b.Reset()
	if s.next == len(s.packets) {
		return io.EOF
	}
	s.clock += int64(stepEvery)
	if s.next == 1 && s.quiet > 0 {
		s.quiet--
		return nil
	}
	p := s.packets[s.next]
	p.Nanos = 1e18 + s.clock
	if s.next >= len(s.packets)-stepLast {
		p.Nanos += int64(s.step)
	}
	b.Packets = append(b.Packets, p)
	s.next++
	return nil
}

func (s *stepping) Stats() capture.Stats { return capture.Stats{} }
func (s *stepping) Close() error         { return nil }

// TestClockSet: on live traffic, requests are unanswered once the time for it has
// passed, whatever the clock is set to that stamps them.
func TestClockSet(t *testing.T) {
	var b capture.Batch
	if err := open(t, asked{sources: 100, rounds: 1, times: always(1)}.write(t)).Read(&b); err != nil {
		t.Fatal(err)
	}
	run := func(step, silence time.Duration) int {
		s := &stepping{packets: b.Packets, step: step, quiet: int(silence / stepEvery)}
		cfg := Config{Source: s, Registry: protos.Registry(t), Jobs: 1, Listener: &silences{}, Clock: func() int64 { return s.clock }}
		if _, err := Run(context.Background(), cfg); err != nil {
			t.Fatal(err)
		}
		return cfg.Listener.(*silences).n
	}
	want := run(0, 0)
	if want == 0 || want >= len(b.Packets) {
		t.Fatalf("%d of %d requests unanswered within %v", want, len(b.Packets), time.Duration(len(b.Packets))*stepEvery)
	}
	for _, step := range []time.Duration{time.Minute, time.Hour, 10000 * time.Hour, -time.Minute, -time.Hour} {
		// Behind a clock that was set back time stands still for some packets; one that
		// was set forward may be ahead by stampLag.
		for _, silence := range []time.Duration{0, 10 * time.Minute} {
			if got := run(step, silence); got < want-stepLast || got > want+int(stampLag/stepEvery) {
				t.Errorf("clock set by %v, a silence of %v: unanswered\ngot  %d\nwant about %d", step, silence, got, want)
			}
		}
	}
}
