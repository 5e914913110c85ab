package keep

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"qsniff/capture"
	"qsniff/capture/live"
)

// Tap is a live source whose packets are kept on their way. What writes them is not
// ahead of the decoder by more than the batches in flight, unless that stands still.
// Read is for one goroutine; the other methods may be called from any.
type Tap struct {
	*live.Source
	keep   *Keeper // nil: packets are only decoded
	alarms *Alarms
	last   string // error that was told
	seen   uint64 // alarms so far
	failed func(error)
	mu     sync.Mutex // of all but Source, and of reading it
	ended  bool
	idle   time.Time     // since when the decoder has taken nothing
	passed atomic.Uint64 // packets that it was not given
}

// NewTap taps src for keep, which may be nil. failed is called with each error of writing
// that is not the one before; the capture goes on.
func NewTap(src *live.Source, keep *Keeper, alarms *Alarms, failed func(error)) *Tap {
	t := &Tap{Source: src, keep: keep, alarms: alarms, failed: failed, idle: time.Now()}
	if keep != nil {
		go t.watch()
	}
	return t
}

// Read reads packets and keeps them.
func (t *Tap) Read(b *capture.Batch) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return io.EOF
	}
	err := t.read(b)
	t.idle = time.Now()
	return err
}

func (t *Tap) read(b *capture.Batch) error {
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
		t.report(t.keep.sink.Write(&b.Packets[i]))
	}
	if len(b.Packets) == 0 {
		t.report(t.keep.sink.Tick(now))
	}
	return err
}

// report tells of an error that is not the one told before.
func (t *Tap) report(err error) {
	if err == nil || err.Error() == t.last {
		return
	}
	t.last = err.Error()
	t.failed(err)
}

// fire tells the trigger that there is an incident, if there is one.
func (t *Tap) fire(now int64) {
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
func (t *Tap) watch() {
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

// stepIn reads once for a decoder that stands still. It reports whether the capture is
// over, and whether more may be waiting.
func (t *Tap) stepIn(b *capture.Batch) (over, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || time.Since(t.idle) < standstill {
		return t.ended, false
	}
	err := t.pass(b)
	return err != nil, len(b.Packets) > 0
}

// pass reads past the decoder.
func (t *Tap) pass(b *capture.Batch) error {
	err := t.read(b)
	t.passed.Add(uint64(len(b.Packets)))
	return err
}

// Stats counts what was delivered and what was lost. To the decoder, what it was not
// given is lost.
func (t *Tap) Stats() capture.Stats {
	s := t.Source.Stats()
	s.Dropped += t.passed.Load()
	return s
}

// Undecoded is how many packets the decoder was not given.
func (t *Tap) Undecoded() uint64 { return t.passed.Load() }

// Drain takes what nobody decodes any more, so that it is counted and kept.
func (t *Tap) Drain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	var b capture.Batch
	for t.pass(&b) == nil {
	}
}

// Finish closes source and files.
func (t *Tap) Finish() error {
	err := t.Source.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.keep != nil {
		t.fire(time.Now().UnixNano()) // some incidents are known at the end only
		t.report(t.keep.Close())
	}
	return err
}
