package main

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"qsniff/capture"
	"qsniff/capture/live"
)

// Where the decoder takes no packets for standstill, because nobody reads its output,
// files get them all the same: it is looked for that every standstillEvery.
const (
	standstill      = time.Second
	standstillEvery = standstill / 4
)

// tap is a live source whose packets are kept on their way. What writes them is not
// ahead of the decoder by more than the batches in flight, unless that stands still.
type tap struct {
	*live.Source
	keep   *keeper // nil: packets are only decoded
	alarms *alarms
	seen   uint64 // alarms so far
	failed func(error)
	mu     sync.Mutex // of all but Source, and of reading it
	ended  bool
	idle   time.Time     // since when the decoder has taken nothing
	passed atomic.Uint64 // packets that it was not given
}

// newTap taps src for keep, which may be nil.
func newTap(src *live.Source, keep *keeper, al *alarms, failed func(error)) *tap {
	t := &tap{Source: src, keep: keep, alarms: al, failed: failed, idle: time.Now()}
	if keep != nil {
		go t.watch()
	}
	return t
}

// Read reads packets and keeps them.
func (t *tap) Read(b *capture.Batch) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return io.EOF
	}
	err := t.read(b)
	t.idle = time.Now()
	return err
}

func (t *tap) read(b *capture.Batch) error {
	err := t.Source.Read(b)
	if t.keep == nil {
		return err
	}
	now := time.Now().UnixNano()
	if len(b.Packets) > 0 {
		now = b.Packets[len(b.Packets)-1].Nanos
	}
	t.fire(now)
	for i := range b.Packets {
		if err := t.keep.sink.Write(&b.Packets[i]); err != nil {
			t.failed(err)
		}
	}
	if len(b.Packets) == 0 {
		if err := t.keep.sink.Tick(now); err != nil {
			t.failed(err)
		}
	}
	return err
}

// fire says that there is an incident, if there is one.
func (t *tap) fire(now int64) {
	if t.keep.trigger == nil {
		return
	}
	if n := t.alarms.begun.Load(); n != t.seen || t.alarms.going.Load() > 0 {
		if n != t.seen {
			t.keep.trigger.Renew()
		}
		t.seen = n
		t.keep.trigger.Fire(t.alarms.since.Load(), now)
	}
}

// watch keeps packets while the decoder stands still, until the capture ends.
func (t *tap) watch() {
	var b capture.Batch
	for {
		over, more := t.stepIn(&b)
		switch {
		case over:
			return
		case !more:
			time.Sleep(standstillEvery)
		}
	}
}

// stepIn reads once for a decoder that stands still. It tells whether the capture is
// over, and whether more may be waiting.
func (t *tap) stepIn(b *capture.Batch) (over, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || time.Since(t.idle) < standstill {
		return t.ended, false
	}
	err := t.pass(b)
	return err != nil, len(b.Packets) > 0
}

// pass reads past the decoder.
func (t *tap) pass(b *capture.Batch) error {
	err := t.read(b)
	t.passed.Add(uint64(len(b.Packets)))
	return err
}

// Stats counts what was delivered and what was lost. To the decoder, what it was not
// given is lost.
func (t *tap) Stats() capture.Stats {
	s := t.Source.Stats()
	s.Dropped += t.passed.Load()
	return s
}

// rest takes what nobody decodes any more, so that it is counted and kept.
func (t *tap) rest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	var b capture.Batch
	for t.pass(&b) == nil {
	}
}

// finish closes source and files.
func (t *tap) finish() error {
	err := t.Source.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.keep != nil {
		t.fire(time.Now().UnixNano()) // some incidents are known at the end only
		if err := t.keep.close(); err != nil {
			t.failed(err)
		}
	}
	return err
}

// once says an error that is not the one said before.
func once(say func(error)) func(error) {
	last := ""
	return func(err error) {
		if text := err.Error(); text != last {
			last = text
			say(err)
		}
	}
}
