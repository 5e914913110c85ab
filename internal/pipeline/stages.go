package pipeline

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
)

// stages passes the batches of a run from the reader to the workers and the fold. Each has a
// goroutine; with one job all of them share one (Config.isSerial). Where there are only sightings to
// make, which is little work, the reader's goroutine is that of the only worker, too. It is also that of
// the fold while a source is read as fast as it brings packets: so no other processor is woken for each batch.
//
// While a file brings hardly anything but requests, the reader's goroutine runs all stages: see flooded.
type stages struct {
	reader     *reader
	fold       *fold
	free, full chan *batch // each with room for all batches, so that sending never blocks
	isShared   bool        // the reader's goroutine runs the only worker
	isSerial   bool        // it always runs the fold, too
	isLive     bool
	fullInRow  int // batches in a row after which more was waiting
	flooded    flooded

	queued atomic.Int32 // batches that the fold has not finished
	mu     sync.Mutex   // held by the reader's goroutine while it runs the fold
	ended  chan error   // how the run ended there
}

// maxFullInRow is after how many batches in a row that left packets waiting the fold of a live run
// gets a goroutine of its own. Chosen: a fifth of the kernel's ring in queries, more than a million
// a second bring while the source rests.
const maxFullInRow = 64

// newStages returns the stages of a run. The fold has its workers.
func newStages(r *reader, f *fold, cfg *Config) *stages {
	s := &stages{reader: r, fold: f, isShared: cfg.sharesGoroutine(), isSerial: cfg.isSerial(), isLive: cfg.Clock != nil,
		ended: make(chan error, 1)}
	n := inFlight
	switch {
	case s.isSerial:
		n = 1
	case s.isShared:
		n = segmentsPerWorker + 1
	}
	s.free, s.full = make(chan *batch, n), make(chan *batch, n)
	for range n {
		s.free <- newBatch()
	}
	return s
}

// run starts the goroutines of the reader and the workers, which end with the source or ctx,
// and folds batches until the last one, the limit or an error.
func (s *stages) run(ctx context.Context) error {
	if !s.isShared {
		for _, w := range s.fold.workers {
			go w.run(ctx)
		}
	}
	go s.read(ctx)
	return s.foldBatches(ctx)
}

// read reads batches until the last one and passes them on.
func (s *stages) read(ctx context.Context) {
	defer func() {
		for _, w := range s.fold.workers {
			close(w.in)
		}
	}()
	for more := true; more; {
		var b *batch
		select {
		case b = <-s.free:
		case <-ctx.Done():
			return
		}
		more = s.reader.fill(ctx, b)
		if s.flooded.isOn.Load() && !s.drain(ctx) {
			return
		}
		for more && (s.flooded.isOn.Load() || s.isUnhurried(b)) {
			if !s.foldHere(ctx, b) {
				return
			}
			more = s.reader.fill(ctx, b)
		}
		s.refill()
		if !s.pass(ctx, b) {
			return
		}
	}
}

// pass passes a batch to the workers and the fold. It returns false if ctx ended.
func (s *stages) pass(ctx context.Context, b *batch) bool {
	s.queued.Add(1)
	if s.isShared {
		return s.fold.workers[0].processBatch(ctx, b, s.full)
	}
	for _, w := range s.fold.workers {
		w.in <- b
	}
	s.full <- b
	return true
}

// isUnhurried reports whether the reader's goroutine is to fold a batch: it always does, or the
// source brings no more than it can. The fold's own goroutine has nothing to do then.
func (s *stages) isUnhurried(b *batch) bool {
	switch {
	case !s.isShared || !s.isLive && !s.isSerial:
		return false
	case !b.raw.HasMore:
		s.fullInRow = 0
	default:
		s.fullInRow++
	}
	return (s.isSerial || s.fullInRow < maxFullInRow) && s.queued.Load() == 0
}

// foldHere folds a batch in the reader's goroutine, and reports whether the run goes on.
func (s *stages) foldHere(ctx context.Context, b *batch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	for _, w := range s.fold.workers {
		w.begin(b)
		w.isInline = true
	}
	enough, err := s.merge(ctx, b)
	for _, w := range s.fold.workers {
		w.isInline = false
	}
	if enough || err != nil {
		s.ended <- err
		return false
	}
	return true
}

// foldBatches folds batches until the last one, the limit or an error.
func (s *stages) foldBatches(ctx context.Context) error {
	for {
		var b *batch
		select {
		case b = <-s.full:
		case err := <-s.ended:
			return err
		case <-ctx.Done():
			s.mu.Lock() // what the reader's goroutine folds is finished, and it folds nothing any more
			defer s.mu.Unlock()
			return ctx.Err()
		}
		enough, err := s.merge(ctx, b)
		if err != nil || enough {
			return err // the batch is not given back: workers may still be at it
		}
		last := b.err
		s.queued.Add(-1)
		s.free <- b
		switch last {
		case nil:
		case io.EOF:
			return nil
		default:
			return last
		}
	}
}
