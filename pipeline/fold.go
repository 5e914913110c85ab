package pipeline

import (
	"context"
	"io"

	"qsniff/capture"
	"qsniff/dissect"
	"qsniff/render"
	"qsniff/render/dialogue"
	"qsniff/track"
)

// writeSize is how many bytes are written at a time, and at the end of a batch.
const writeSize = 64 << 10

// fold merges what the workers made of a batch, in packet order, and writes it.
type fold struct {
	w       io.Writer
	max     uint64 // messages to write, 0 for all
	workers []*worker
	heads   []head
	buf     []byte

	progress  func(capture.Stats)
	listener  track.Listener
	watchers  []track.Watcher
	announces render.IncidentRenderer // nil: nobody shows incidents
	mirror    mirror
	last      sight  // when watchers were told something last
	dropped   uint64 // packets that they know the capturing program lost
	dialogues *dialogue.Collector
	render    render.Renderer // of what hosts find
	hosts     *track.Hosts    // nil: only messages are counted
	at        place           // of the span at hand
	record    render.Record
	sighted   int64           // time stamp of the sight at hand
	event     render.Incident // likewise
	detail    []byte
	text      []byte // of a record, for dialogues
	start     int64  // time stamp of the first packet
	failed    error  // of the writer; nothing is written any more
	before    int64  // time of the line before
	micros    bool   // times since the line before are cut to microseconds
	messages  uint64
	types     map[typeKey]uint64
	reader    readerTotals // behind the last batch merged
	parts     [Partitions]totals
}

// head is where the fold is in a worker's segments of the batch.
type head struct {
	seg   *segment
	next  int // span
	sight int
}

// done tells whether nothing is left of the segment.
func (h *head) done() bool { return h.next == len(h.seg.spans) && h.sight == len(h.seg.sights) }

type typeKey struct {
	proto *dissect.Proto
	typ   *dissect.Type
}

// merge writes a batch. It returns true when enough messages are written.
func (f *fold) merge(ctx context.Context, b *batch) (enough bool, err error) {
	f.start = b.totals.first
	if b.totals.source.Dropped > 0 && f.hosts != nil {
		f.hosts.Lossy()
	}
	f.missed(b.totals.source.Dropped)
	for i := range f.heads {
		f.heads[i] = head{}
		if err := f.advance(ctx, i); err != nil {
			return false, err
		}
	}
	for err == nil && !enough {
		i, watched := f.first()
		if i < 0 {
			break
		}
		h := &f.heads[i]
		if watched {
			f.show(h)
		} else {
			enough, err = f.write(h.seg, &h.seg.spans[h.next])
			h.next++
		}
		if err == nil && !enough && h.done() {
			err = f.advance(ctx, i)
		}
	}
	f.reader = b.totals
	if n := len(b.items); f.dialogues != nil && n > 0 && err == nil && !enough {
		f.buf = f.dialogues.Tick(f.buf, b.items[n-1].nanos)
		enough = f.heard()
	}
	if err == nil {
		err = f.flush()
	}
	for i := range f.heads {
		if h := &f.heads[i]; h.seg != nil {
			f.release(i)
		}
	}
	if f.progress != nil {
		f.progress(b.totals.source)
	}
	return enough, err
}

// advance makes sure that worker i's head has a span, taking its next segments
// where the one at hand is used up, or that the batch has none left from it.
func (f *fold) advance(ctx context.Context, i int) error {
	h := &f.heads[i]
	for h.seg == nil || h.done() {
		if h.seg != nil {
			if h.seg.last {
				return nil
			}
			f.release(i)
		}
		select {
		case h.seg = <-f.workers[i].out:
			h.next, h.sight = 0, 0
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// release gives a worker its segment back.
func (f *fold) release(i int) {
	h := &f.heads[i]
	for p := i; p < Partitions; p += len(f.workers) {
		f.parts[p] = h.seg.totals[p]
	}
	f.workers[i].free <- h.seg
	h.seg = nil
}

// first returns the worker whose next span, or sight, comes first, or -1. What is
// written of a packet stands in front of what watchers say of it.
func (f *fold) first() (best int, watched bool) {
	best = -1
	var bs *span
	for i := range f.heads {
		h := &f.heads[i]
		if h.next == len(h.seg.spans) {
			continue
		}
		if s := &h.seg.spans[h.next]; best < 0 || s.before(bs) {
			best, bs = i, s
		}
	}
	var seen *sight
	for i := range f.heads {
		h := &f.heads[i]
		if h.sight == len(h.seg.sights) {
			continue
		}
		x := &h.seg.sights[h.sight]
		if seen == nil && (bs == nil || x.index < bs.index) || seen != nil && x.before(seen) {
			best, watched, seen = i, true, x
		}
	}
	return best, watched
}

// write takes one span.
func (f *fold) write(seg *segment, s *span) (enough bool, err error) {
	silent := s.fact.Step == track.Silence
	if silent { // what follows from it belongs to the dialogue that it ends
		f.judge(seg, s)
	}
	if f.dialogues != nil {
		f.converse(seg, s)
	} else {
		at := len(f.buf)
		f.buf = append(f.buf, seg.buf[s.start:s.end]...)
		if s.hole > 0 {
			f.fill(at+int(s.hole)-1, int(s.width), s.nanos)
		}
	}
	if len(f.buf) >= writeSize {
		err = f.flush()
	}
	f.tell(seg, s)
	if !silent {
		f.judge(seg, s)
	}
	if s.message {
		f.messages++
		f.types[typeKey{s.fact.Proto, s.fact.Type}]++
	}
	return s.message && f.full() || f.heard(), err
}

// full tells whether as many messages are written as were wanted.
func (f *fold) full() bool { return f.max > 0 && f.messages == f.max }

// tell hands what a span says to the listener.
func (f *fold) tell(seg *segment, s *span) {
	if f.listener == nil {
		return
	}
	found := seg.found[s.found[0]:s.found[1]]
	if s.fact.Proto == nil { // a record
		for _, x := range found {
			f.listener.Finding(s.key, s.nanos, s.fact.Server, s.fact.Client, x)
		}
		return
	}
	var post *track.Post
	if s.post >= 0 {
		post = &seg.posts[s.post]
	}
	f.listener.Fact(&s.fact, found, post)
}

// fill writes the time from the line before to nanos into a hole.
func (f *fold) fill(at, width int, nanos int64) {
	if f.micros {
		nanos = render.Micros(nanos)
	}
	if f.before == 0 {
		f.before = nanos
	}
	f.buf = render.Fill(f.buf, at, width, nanos-f.before)
	f.before = nanos
}

// flush writes what there is to write. It returns the error of the writer, again each time.
func (f *fold) flush() error {
	if len(f.buf) > 0 && f.failed == nil {
		_, f.failed = f.w.Write(f.buf)
	}
	if cap(f.buf) > 16*writeSize { // a long message grew it
		f.buf = nil
	}
	f.buf = f.buf[:0]
	return f.failed
}
