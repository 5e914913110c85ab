package pipeline

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/timing"
	"qsniff/internal/track"
)

// busy is a live source of which more waits after each batch, but for every pause-th.
type busy struct {
	capture.Source
	batches, pause int
}

func (b *busy) Read(to *capture.Batch) error {
	err := b.Source.Read(to)
	b.batches++
	to.HasMore = b.batches%b.pause != 0
	return err
}

// TestGoroutineOfTheFold: watchers of live traffic get the same, whether the fold runs in the
// goroutine of the reader, in one of its own, or now here and now there.
func TestGoroutineOfTheFold(t *testing.T) {
	data := mixed(t, 2)
	watch := func(pause int, r render.Renderer) *log {
		l := &log{}
		src := &busy{Source: open(t, data), pause: pause}
		var err error
		if l.run, err = Run(context.Background(), Config{Source: src, Registry: protos.Registry(t), Renderer: r, Out: io.Discard, Jobs: 4,
			Watchers: []track.Watcher{l}, Clock: func() int64 { return 1 }}); err != nil || src.batches < maxFullInRow+2 {
			t.Fatalf("%v, %d batches", err, src.batches)
		}
		return l
	}
	want := watch(1, jsonl.New(jsonl.Options{})) // each stage has a goroutine
	for _, pause := range []int{1, maxFullInRow - 1, maxFullInRow + 1, 1000} {
		got := watch(pause, nil)
		if !got.over || !slices.Equal(got.lines, want.lines) || got.run.Packets != want.run.Packets {
			t.Errorf("pauses every %d batches: over %v, %d lines of %d packets\nwant over, %d of %d, the same",
				pause, got.over, len(got.lines), got.run.Packets, len(want.lines), want.run.Packets)
		}
	}
}

// TestIsUnhurried: whose goroutine folds a batch, by how many batches in a row left packets waiting.
func TestIsUnhurried(t *testing.T) {
	for _, tt := range []struct {
		isShared, isLive, isSerial bool
		queued                     int32
		want                       int // the batch from which on the fold has a goroutine of its own; 0: never
	}{
		{true, true, false, 0, maxFullInRow},
		{true, true, false, 1, 1},
		{true, false, true, 0, 0},
		{true, false, true, 1, 1},
		{true, false, false, 0, 1},
		{false, true, false, 0, 1},
		{false, true, true, 0, 1},
	} {
		s := &stages{isShared: tt.isShared, isLive: tt.isLive, isSerial: tt.isSerial}
		s.queued.Store(tt.queued)
		b := &batch{}
		if got := s.isUnhurried(b); got != (tt.want != 1) {
			t.Errorf("%+v: nothing waits, and the reader's goroutine folds: %t", tt, got)
		}
		b.raw.HasMore = true
		got := 0
		for i := 1; i < 2*maxFullInRow && got == 0; i++ {
			if !s.isUnhurried(b) {
				got = i
			}
		}
		if got != tt.want {
			t.Errorf("%+v: from batch %d on", tt, got)
		}
	}
}

// countingSource is a source that counts its batches.
type countingSource struct {
	capture.Source
	batches int
}

func (c *countingSource) Read(b *capture.Batch) error {
	c.batches++
	return c.Source.Read(b)
}

// TestOneJob: with one job a file is read no further before what was read is written. The batches
// are counted without a lock, so that the race detector finds a second goroutine.
func TestOneJob(t *testing.T) {
	src, folded := &countingSource{Source: open(t, mixed(t, 4))}, 0
	_, err := Run(t.Context(), Config{Source: src, Registry: protos.Registry(t), Renderer: jsonl.New(jsonl.Options{}), Out: io.Discard, Jobs: 1,
		Progress: func(capture.Stats, func() tally.Run) {
			if folded++; src.batches != folded {
				t.Errorf("batches read when %d were written\n got %d\nwant %d", folded, src.batches, folded)
			}
		}})
	if err != nil || folded < 2*inFlight {
		t.Errorf("%v after %d batches, want more than %d", err, folded, 2*inFlight)
	}
}

// TestGoroutineOfTheFoldFails: what goes wrong there ends the run.
func TestGoroutineOfTheFoldFails(t *testing.T) {
	broken := errors.New("disk full")
	for _, jobs := range []int{1, 2} {
		src := &busy{Source: open(t, mixed(t, 2)), pause: 1}
		f := &failing{Source: src, after: 3, err: broken}
		l := &log{}
		_, err := Run(context.Background(), Config{Source: f, Registry: protos.Registry(t), Out: io.Discard, Jobs: jobs,
			Watchers: []track.Watcher{l}, Clock: func() int64 { return 1 }})
		if !errors.Is(err, broken) || !l.over || len(l.lines) == 0 {
			t.Errorf("%d jobs: got  %v, over %v, %d lines\nwant %v, over", jobs, err, l.over, len(l.lines), broken)
		}
	}
}

// failing is a source that ends with an error after some batches.
type failing struct {
	capture.Source
	after int
	err   error
}

func (f *failing) Read(b *capture.Batch) error {
	if f.after--; f.after < 0 {
		b.Reset()
		return f.err
	}
	return f.Source.Read(b)
}

// endedInside is a source whose run is ended while the reader is at its first packet, and that goes on
// with it once Run has returned.
type endedInside struct {
	capture.Source
	end      context.CancelFunc
	returned chan struct{}
	once     sync.Once
}

func (e *endedInside) Decode(p *packet.Packet, raw *capture.Packet) {
	e.once.Do(func() {
		e.end()
		<-e.returned
	})
	p.Decode(raw.Link, raw.Data, int(raw.Wire))
}

// TestEndedInside: with one job of a file the goroutine of the reader ends, too, when the run does.
func TestEndedInside(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, end := context.WithCancel(t.Context())
	src := &endedInside{Source: open(t, mixed(t, 2)), end: end, returned: make(chan struct{})}
	_, err := Run(ctx, Config{Source: src, Registry: protos.Registry(t), Jobs: 1})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got  %v\nwant %v", err, context.Canceled)
	}
	close(src.returned)
	timing.Await(t, "the goroutine of the reader ends", func() bool { return runtime.NumGoroutine() <= before })
}
