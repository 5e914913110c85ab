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
// while the fold has all segments. It has a goroutine of its own, or that of the reader:
// see stages.
type worker struct {
	index, jobs int
	mine        uint32       // bit i: it serves partition i
	parts       []*partition // all of them; it uses only its own
	in          chan *batch
	out, free   chan *segment
	b           *batch                // at work
	items       []int32               // of the batch: those for its partitions
	next        int                   // of these
	searches    [lookahead + 1]search // of the item at hand and those that follow
	isInline    bool                  // the fold is in the same goroutine, and asks for each segment
	// looksAhead is set where partitions prepare for items.
	looksAhead bool
	// endsEarly is set where the run may end within a batch: each segment needs totals then.
	endsEarly bool
}

// newWorker returns a worker with so many segments.
func newWorker(index, jobs int, parts []*partition, segments int) *worker {
	w := &worker{index: index, jobs: jobs, parts: parts, in: make(chan *batch, inFlight),
		out: make(chan *segment, segments), free: make(chan *segment, segments)}
	for p := index; p < Partitions; p += jobs {
		w.mine |= 1 << p
	}
	for range segments {
		w.free <- new(segment)
	}
	return w
}

// run works until the batches end or ctx does.
func (w *worker) run(ctx context.Context) {
	for b := range w.in {
		if !w.processBatch(ctx, b, nil) {
			return
		}
	}
}

// processBatch makes the segments of one batch. If the fold has not got the batch yet, it is
// sent to full with the first of them. It returns false if ctx ended.
func (w *worker) processBatch(ctx context.Context, b *batch, full chan<- *batch) bool {
	for w.begin(b); ; {
		seg := w.takeSegment(ctx)
		if seg == nil {
			return false
		}
		w.fill(seg)
		isLast := seg.isLast
		if full != nil {
			full <- b
			full = nil
		}
		if w.out <- seg; isLast || ctx.Err() != nil { // out has room for all segments
			return isLast
		}
	}
}

// begin prepares for a batch.
func (w *worker) begin(b *batch) {
	w.b, w.next = b, 0
	for p := w.index; p < Partitions; p += w.jobs {
		w.parts[p].begin(b)
	}
	w.listItems()
}

// fill processes items of the batch until an empty segment is full or the batch ends.
func (w *worker) fill(seg *segment) {
	for ; w.next < len(w.items) && !seg.isFull(); w.next++ {
		n, i := w.next, w.items[w.next]
		if w.looksAhead && n+lookahead < len(w.items) {
			w.prepare(n + lookahead)
		}
		it := &w.b.items[i]
		if it.part == allPartitions {
			spans, sights := len(seg.spans), len(seg.sights)
			for p := w.index; p < Partitions; p += w.jobs {
				w.parts[p].process(i, it, seg)
			}
			seg.sort(spans, sights)
		} else {
			p := w.parts[it.part]
			if w.looksAhead {
				p.search = &w.searches[n%len(w.searches)]
			}
			p.process(i, it, seg)
		}
	}
	seg.isLast = w.next == len(w.items)
	for p := w.index; p < Partitions && (seg.isLast || w.endsEarly); p += w.jobs {
		if w.parts[p].hasChanged {
			w.parts[p].hasChanged = false
			seg.totals[p] = w.parts[p].totals()
			seg.changed |= 1 << p
		}
	}
}

// listItems lists the items of the batch that are for its partitions. It has no branch: which items
// these are nobody foresees.
func (w *worker) listItems() {
	mine, n := w.mine|1<<allPartitions, 0
	w.items = slices.Grow(w.items[:0], len(w.b.items))[:len(w.b.items)]
	for i, part := range w.b.parts {
		w.items[n] = int32(i)
		n += int(mine >> part & 1)
	}
	w.items = w.items[:n]
	for i := range w.searches {
		w.searches[i].index = -1
	}
}

// prepare lets the partition of the n-th item prepare for it.
func (w *worker) prepare(n int) {
	if it := &w.b.items[w.items[n]]; it.part != allPartitions {
		w.parts[it.part].prepare(w.items[n], it, &w.searches[n%len(w.searches)])
	}
}

// takeSegment waits for an empty segment. It returns nil if ctx ended.
func (w *worker) takeSegment(ctx context.Context) *segment {
	select {
	case seg := <-w.free:
		seg.reset()
		return seg
	case <-ctx.Done():
		return nil
	}
}

// nextSegment returns the next segment of the batch to the fold. It returns nil if ctx ended.
func (w *worker) nextSegment(ctx context.Context) *segment {
	if w.isInline {
		seg := w.takeSegment(ctx) // the fold has at most one
		if seg != nil {
			w.fill(seg)
		}
		return seg
	}
	select {
	case seg := <-w.out:
		return seg
	case <-ctx.Done():
		return nil
	}
}
