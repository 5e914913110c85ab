package keep

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"qsniff/capture"
	"qsniff/capture/live"
)

// Tap is a live source whose packets are kept on their way to the decoder. Packets are
// written no earlier than the decoder fetches them, unless it takes none for a second
// (standstill): then Tap reads and writes them without it, and counts them as undecoded.
// Read is for one goroutine; the other methods may be called from any.
type Tap struct {
	*live.Source
	keep       *Keeper // nil: packets are only decoded
	alarms     *Alarms
	lastError  string // the last one given to onError
	seenAlarms uint64 // Alarms.Begun at the last look
	onError    func(error)
	mu         sync.Mutex // guards reading Source, and all other fields but kept
	ended      bool
	lastRead   time.Time     // when the decoder last took packets
	undecoded  atomic.Uint64 // packets that the decoder was not given
	keptMu     sync.Mutex
	kept       Stats // after the last read: who asks for it must not wait for packets
}

// NewTap returns a Tap that writes the packets of src to keep, which may be nil. It calls
// onError with each error of writing that differs from the one before; the capture goes on.
func NewTap(src *live.Source, keep *Keeper, alarms *Alarms, onError func(error)) *Tap {
	t := &Tap{Source: src, keep: keep, alarms: alarms, onError: onError, lastRead: time.Now()}
	if keep != nil {
		go t.watchDecoder()
	}
	return t
}

// Read reads packets, which it also writes. After Drain or Finish it returns io.EOF.
func (t *Tap) Read(b *capture.Batch) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return io.EOF
	}
	err := t.readAndKeep(b)
	t.lastRead = time.Now()
	return err
}

// readAndKeep reads packets and writes them to the sink.
func (t *Tap) readAndKeep(b *capture.Batch) error {
	err := t.Source.Read(b)
	if t.keep == nil {
		return err
	}
	now := time.Now().UnixNano()
	if len(b.Packets) > 0 {
		now = b.Packets[len(b.Packets)-1].Nanos
	}
	t.fireTrigger(now)
	for i := range b.Packets {
		t.reportChange(t.keep.sink.Write(&b.Packets[i]))
	}
	if len(b.Packets) == 0 {
		t.reportChange(t.keep.sink.Tick(now))
	}
	if t.keep.ring != nil {
		t.reportChange(t.keep.ring.Expire(now))
	}
	kept := t.keep.Stats()
	t.keptMu.Lock()
	defer t.keptMu.Unlock()
	t.kept = kept
	return err
}

// Kept returns what was written up to the last packets that were read. It may be called by any
// goroutine, and does not wait.
func (t *Tap) Kept() Stats {
	t.keptMu.Lock()
	defer t.keptMu.Unlock()
	return t.kept
}

// reportChange calls onError with an error that differs from the one before.
func (t *Tap) reportChange(err error) {
	if err == nil || err.Error() == t.lastError {
		return
	}
	t.lastError = err.Error()
	t.onError(err)
}

// fireTrigger announces to the trigger, if there is one, that incidents have begun or go
// on until now.
func (t *Tap) fireTrigger(now int64) {
	if t.keep.trigger == nil {
		return
	}
	if n := t.alarms.begun.Load(); n != t.seenAlarms || t.alarms.going.Load() > 0 {
		if n != t.seenAlarms {
			t.keep.trigger.Renew()
		}
		t.seenAlarms = n
		t.keep.trigger.Fire(t.alarms.since.Load(), now)
	}
}

// watchDecoder writes packets while the decoder takes none, until the capture ends.
func (t *Tap) watchDecoder() {
	var b capture.Batch
	for {
		over, more := t.readIfStalled(&b)
		switch {
		case over:
			return
		case !more:
			time.Sleep(standstillEvery)
		}
	}
}

// readIfStalled reads and writes one batch if the decoder stands still. It reports whether
// the capture is over, and whether more packets may be waiting.
func (t *Tap) readIfStalled(b *capture.Batch) (over, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || time.Since(t.lastRead) < standstill {
		return t.ended, false
	}
	err := t.readUndecoded(b)
	return err != nil, len(b.Packets) > 0
}

// readUndecoded reads and writes packets that the decoder is not given.
func (t *Tap) readUndecoded(b *capture.Batch) error {
	err := t.readAndKeep(b)
	t.undecoded.Add(uint64(len(b.Packets)))
	return err
}

// Stats counts what was delivered and what was lost. Packets that the decoder was not
// given count as dropped.
func (t *Tap) Stats() capture.Stats {
	s := t.Source.Stats()
	s.Dropped += t.undecoded.Load()
	return s
}

// Undecoded returns how many packets the decoder was not given.
func (t *Tap) Undecoded() uint64 { return t.undecoded.Load() }

// Drain reads and writes the rest of the capture after decoding has ended.
func (t *Tap) Drain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	var b capture.Batch
	for t.readUndecoded(&b) == nil {
	}
}

// Finish closes the source and finishes the files.
func (t *Tap) Finish() error {
	err := t.Source.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.keep != nil {
		t.fireTrigger(time.Now().UnixNano()) // an incident may be found only at the end
		t.reportChange(t.keep.Close())
	}
	return err
}

// Alarms counts the incidents that need attention. The detector's goroutine calls Note;
// Tap reads the counts in another one.
type Alarms struct {
	open  map[uint64]bool // by ID; no more than the detector has open
	begun atomic.Uint64
	going atomic.Int64
	since atomic.Int64 // when the first of the open ones began, packet time in nanoseconds
}

// Begun returns how many incidents have begun.
func (a *Alarms) Begun() uint64 { return a.begun.Load() }

// Note records the state of an incident, which began at start: alarming reports whether
// it goes on and needs attention. One that turns out harmless counts as over.
func (a *Alarms) Note(id uint64, start int64, alarming bool) {
	switch {
	case alarming && !a.open[id]:
		if a.open == nil {
			a.open = map[uint64]bool{}
		}
		if a.open[id] = true; len(a.open) == 1 || start < a.since.Load() {
			a.since.Store(start)
		}
		a.begun.Add(1)
	case !alarming:
		delete(a.open, id)
	}
	a.going.Store(int64(len(a.open)))
}

// limit: standstill is how long the decoder may take no packets, as the reader of its output
// stalls, before they are written to files without it. It is checked every
// standstillEvery. Chosen: while it takes packets it does so ten times a second, and an
// attack of 30,000 queries a second fills the kernel's buffer (live.DefaultBuffer) in 6 s.
const (
	standstill      = time.Second
	standstillEvery = standstill / 4
)
