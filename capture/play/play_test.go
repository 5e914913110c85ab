package play

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"
	"time"

	"qsniff/capture"
)

// seconds is a source of a packet each second, in batches of ten, that ends with an error.
type seconds struct {
	n, end int
	err    error
}

func (s *seconds) Read(b *capture.Batch) error {
	b.Reset()
	b.Buf = b.Buf[:0]
	for range min(10, s.end-s.n) {
		b.Buf = append(b.Buf, byte(s.n))
		b.Packets = append(b.Packets, capture.Packet{No: uint64(s.n + 1), Nanos: start + int64(s.n)*1e9, Data: b.Buf[len(b.Buf)-1:]})
		s.n++
	}
	if len(b.Packets) == 0 {
		return s.err
	}
	return nil
}
func (s *seconds) Stats() capture.Stats { return capture.Stats{} }
func (s *seconds) Close() error         { return nil }

const start = int64(1_700_000_000e9)

// player is a Source with a clock that waiting advances.
type player struct {
	*Source
	clock int64
	got   []byte
}

func newPlayer(speed float64, err error) *player {
	p := new(player)
	p.Source = New(&seconds{end: 100, err: err}, speed, func() int64 { return p.clock }, func(d time.Duration) { p.clock += int64(d) })
	return p
}

// run reads for a time of the clock, or so many batches where nothing waits.
func (p *player) run(t *testing.T, d time.Duration, batches int) {
	t.Helper()
	for end := p.clock + int64(d); p.clock < end && batches > 0; batches-- {
		var b capture.Batch
		if err := p.Read(&b); err != nil {
			t.Fatal(err)
		}
		for _, x := range b.Packets {
			p.got = append(p.got, x.Data...)
		}
	}
}

// at returns the position in seconds after the first packet.
func (p *player) at() float64 { return float64(p.State().Position-start) / 1e9 }

// TestSpeed: packets come when they are due, at any speed, and none while the source is paused.
func TestSpeed(t *testing.T) {
	for _, tc := range []struct {
		speed float64
		want  int
	}{{1, 11}, {.25, 3}, {4, 41}, {1000, 100}, {Max, 100}} {
		p := newPlayer(tc.speed, io.EOF)
		p.run(t, 10*time.Second+time.Millisecond, 1e6)
		if len(p.got) != tc.want {
			t.Errorf("speed %v: %d packets in 10 s, want %d", tc.speed, len(p.got), tc.want)
		}
		for i, c := range p.got {
			if int(c) != i {
				t.Fatalf("speed %v: packet %d has the bytes of %d", tc.speed, i, c)
			}
		}
		if s := p.State(); s.IsAtEnd != (tc.want == 100) || s.First != start || s.Err != nil {
			t.Errorf("speed %v: %+v", tc.speed, s)
		}
	}
}

// TestPause: a paused source delivers nothing, but goes where it is told.
func TestPause(t *testing.T) {
	p := newPlayer(1, io.EOF)
	p.run(t, 5*time.Second+2*pause, 1e6)
	p.SetPaused(true)
	before := len(p.got)
	p.run(t, time.Minute, 1e6)
	if len(p.got) != before || p.at() > 6 || !p.State().IsPaused {
		t.Errorf("paused: %d packets, then %d, at %v", before, len(p.got), p.at())
	}
	p.SkipTo(start + 42_500e6)
	p.run(t, time.Second, 1e6)
	if len(p.got) != 43 || p.at() != 42.5 || p.State().Target != 0 {
		t.Errorf("at 42.5 s: %d packets, at %v, %+v", len(p.got), p.at(), p.State())
	}
	p.SetPaused(false)
	p.SetSpeed(2)
	p.run(t, 10*time.Second, 1e6)
	if len(p.got) != 63 {
		t.Errorf("after 10 s at double speed: %d packets", len(p.got))
	}
}

// TestEnd: at the end time stands still, an error is told, and nothing ends the run.
func TestEnd(t *testing.T) {
	wrong := errors.New("cut")
	p := newPlayer(1, wrong)
	p.SkipTo(math.MaxInt64)
	p.run(t, time.Minute, 1e6)
	s := p.State()
	if len(p.got) != 100 || !s.IsAtEnd || s.Target != 0 || s.Err != wrong || p.at() != 99 {
		t.Errorf("%d packets, at %v, %+v", len(p.got), p.at(), s)
	}
	if want := p.Clock(); p.at() != 99 || p.Clock() != want || p.Stats().Received != 100 {
		t.Errorf("the clock goes on at the end: %v", p.at())
	}
	if !bytes.Equal(p.got[:3], []byte{0, 1, 2}) {
		t.Errorf("packets % x", p.got[:3])
	}
}
