package pipeline

import (
	"context"
	"sync/atomic"
)

// A request of a usual form costs some two hundred nanoseconds in all stages together. To hand it from
// one processor to another, and to wake that, costs as much again. So while such requests are nearly
// all that a file brings, one goroutine runs all stages. Measured with 5 million forged A2S_INFO on two
// processors of a quiet machine: qsniff stats took 1.9 s of processor time and 1.2 s in all, and in one
// goroutine 1.2 s of both; qsniff floods 1.3 s and 1.0 s, and 0.9 s of both.

// flooded decides whether one goroutine runs all stages.
type flooded struct {
	isOn   atomic.Bool
	inRow  int      // batches in a row that are nearly nothing but such requests
	before int      // such requests in earlier batches
	held   []*batch // of the reader's goroutine: what drain took
}

// floodedInRow is how many such batches in a row begin it. Chosen: while the fold finishes what is
// queued the reader waits, for less than inFlight batches, which must be little beside what follows.
const floodedInRow = 32

// update takes account of a batch of so many items. requests are those of the run so far that were
// little work. Nearly all are seven of eight: others, replies first of all, cost several times as much,
// and two processors share them well.
func (f *flooded) update(requests, items int) {
	n := requests - f.before
	f.before = requests
	if items == 0 || n < items-items/8 {
		f.inRow = 0
	} else {
		f.inRow++
	}
	f.isOn.Store(f.inRow >= floodedInRow)
}

// merge has the fold merge a batch, and decides which goroutines run the stages for those that follow.
func (s *stages) merge(ctx context.Context, b *batch) (enough bool, err error) {
	enough, err = s.fold.merge(ctx, b)
	switch {
	case s.isLive: // its packets would wait in the kernel
	case s.isShared:
		s.flooded.update(s.fold.watching.requests, len(b.items))
	default:
		s.flooded.update(s.fold.briefs, len(b.items))
	}
	return enough, err
}

// drain waits until the fold has finished all batches: then workers and the fold are at rest until
// refill. It returns false if ctx ended.
func (s *stages) drain(ctx context.Context) bool {
	for len(s.flooded.held) < cap(s.free)-1 {
		select {
		case b := <-s.free:
			s.flooded.held = append(s.flooded.held, b)
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// refill gives back what drain took.
func (s *stages) refill() {
	for _, b := range s.flooded.held {
		s.free <- b
	}
	s.flooded.held = s.flooded.held[:0]
}
