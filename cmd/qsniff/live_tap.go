package main

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"qsniff/capture"
	"qsniff/capture/live"
	"qsniff/flood"
	"qsniff/report"
)

// tap is a live source whose packets are kept on their way. What writes them is not
// ahead of the decoder by more than the batches in flight.
type tap struct {
	*live.Source
	keep   *keeper // nil: packets are only decoded
	alarms *alarms
	seen   uint64 // alarms so far
	failed func(error)
	mu     sync.Mutex // of all but Source, and of reading it
	ended  bool
}

// Read reads packets and keeps them.
func (t *tap) Read(b *capture.Batch) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return io.EOF
	}
	return t.read(b)
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
	if t.keep.trigger != nil {
		if n := t.alarms.begun.Load(); n != t.seen || t.alarms.going.Load() > 0 {
			t.seen = n
			t.keep.trigger.Fire(now)
		}
	}
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

// rest takes what nobody decodes any more, so that it is counted and kept. It returns
// the number of packets.
func (t *tap) rest() (packets uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	var b capture.Batch
	for {
		b.Reset()
		err := t.read(&b)
		packets += uint64(len(b.Packets))
		if err != nil {
			return packets
		}
	}
}

// finish closes source and files.
func (t *tap) finish() error {
	err := t.Source.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.keep != nil {
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

// alarms counts the incidents that ask for something, for whoever keeps packets in
// another goroutine.
type alarms struct {
	*flood.Detector
	open  map[uint64]bool // by ID; no more than the detector has open
	begun atomic.Uint64
	going atomic.Int64
}

func newAlarms(scale float64) *alarms {
	return &alarms{Detector: flood.New(flood.Defaults(), scale), open: map[uint64]bool{}}
}

// Announce calls found with what the detector announces.
func (a *alarms) Announce(found func(*report.Incident, report.Event)) {
	a.Detector.Announce(found)
	announce := a.Found
	a.Found = func(in *report.Incident, e report.Event) {
		a.note(in, e)
		announce(in, e)
	}
}

// note keeps the counts. An incident that turns out harmless is over.
func (a *alarms) note(in *report.Incident, e report.Event) {
	switch is := e != report.Ends && in.Level >= report.Warn; {
	case is && !a.open[in.ID]:
		a.open[in.ID] = true
		a.begun.Add(1)
	case !is:
		delete(a.open, in.ID)
	}
	a.going.Store(int64(len(a.open)))
}
