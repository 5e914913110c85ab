package pipeline

import (
	"context"
	"slices"
)

// lookahead is how many items of its own a worker prepares for before their turn. Chosen: that is a
// few hundred nanoseconds, longer than memory takes.
const lookahead = 3

// worker passes items to the partitions that it serves, every jobs-th one from index on,
// in packet order, and hands what they make of them to the fold in segments. It waits
// while the fold has all segments.
type worker struct {
	index, jobs int
	mine        uint32       // bit i: it serves partition i
	parts       []*partition // all of them; it uses only its own
	in          chan *batch
	out, free   chan *segment
	seg         *segment
	items       []int32               // of the batch at hand
	searches    [lookahead + 1]search // of the item at hand and those that follow
	// endsEarly is set where the run may end within a batch: each segment needs totals then.
	endsEarly bool
}

func newWorker(index, jobs int, parts []*partition) *worker {
	w := &worker{index: index, jobs: jobs, parts: parts, in: make(chan *batch, inFlight),
		out: make(chan *segment, segmentsPerWorker), free: make(chan *segment, segmentsPerWorker)}
	for p := index; p < Partitions; p += jobs {
		w.mine |= 1 << p
	}
	for range segmentsPerWorker {
		w.free <- new(segment)
	}
	return w
}

// run works until the batches end or ctx does.
func (w *worker) run(ctx context.Context) {
	for b := range w.in {
		if !w.processBatch(ctx, b) {
			return
		}
	}
}

// processBatch makes the segments of one batch. It returns false if ctx ended.
func (w *worker) processBatch(ctx context.Context, b *batch) bool {
	if !w.takeSegment(ctx) {
		return false
	}
	for p := w.index; p < Partitions; p += w.jobs {
		w.parts[p].begin(b)
	}
	w.listItems(b)
	for n, i := range w.items {
		if n+lookahead < len(w.items) {
			w.prepare(b, n+lookahead)
		}
		it := &b.items[i]
		if it.part == allPartitions {
			spans, sights := len(w.seg.spans), len(w.seg.sights)
			for p := w.index; p < Partitions; p += w.jobs {
				w.parts[p].process(i, it, w.seg)
			}
			w.seg.sort(spans, sights)
		} else {
			w.parts[it.part].search = &w.searches[n%len(w.searches)]
			w.parts[it.part].process(i, it, w.seg)
		}
		if w.seg.isFull() && !(w.handOver(ctx, false) && w.takeSegment(ctx)) {
			return false
		}
	}
	return w.handOver(ctx, true)
}

// listItems lists the items of a batch that are for its partitions. It has no branch: which items
// these are nobody foresees.
func (w *worker) listItems(b *batch) {
	mine, n := w.mine|1<<allPartitions, 0
	w.items = slices.Grow(w.items[:0], len(b.items))[:len(b.items)]
	for i := range b.items {
		w.items[n] = int32(i)
		n += int(mine >> b.items[i].part & 1)
	}
	w.items = w.items[:n]
	for i := range w.searches {
		w.searches[i].index = -1
	}
}

// prepare lets the partition of the n-th item prepare for it.
func (w *worker) prepare(b *batch, n int) {
	if it := &b.items[w.items[n]]; it.part != allPartitions {
		w.parts[it.part].prepare(w.items[n], it, &w.searches[n%len(w.searches)])
	}
}

// takeSegment waits for an empty segment. It returns false if ctx ended.
func (w *worker) takeSegment(ctx context.Context) bool {
	select {
	case w.seg = <-w.free:
		w.seg.reset()
		return true
	case <-ctx.Done():
		return false
	}
}

// handOver gives the segment to the fold; last: it is the last of its batch. The channel
// has room for all segments, so it does not block. It returns false if ctx ended.
func (w *worker) handOver(ctx context.Context, last bool) bool {
	w.seg.isLast, w.seg.hasTotals = last, last || w.endsEarly
	for p := w.index; p < Partitions && w.seg.hasTotals; p += w.jobs {
		w.seg.totals[p] = w.parts[p].totals()
	}
	w.out <- w.seg
	return ctx.Err() == nil
}
