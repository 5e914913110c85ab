package ring

import (
	"errors"

	"qsniff/capture/file"
)

// handleWriteError returns an error of the file's Writer if it is to be reported to the
// caller. A packet that the format cannot hold is counted as refused, and reported once;
// after any other error the file is finished.
func (w *Writer) handleWriteError(err error) error {
	if errors.Is(err, file.ErrRefused) {
		w.stats.Refused++
		if w.hasRefused {
			return nil
		}
		w.hasRefused = true
		return err
	}
	return w.finishFile() // Close returns the same error
}

// pauseAfter sets the time before which no next file is tried: after retryAfter, or
// after Options.Time if that is shorter. It returns err if it is to be reported.
func (w *Writer) pauseAfter(err error) error {
	wait := retryAfter
	if w.opt.Time > 0 {
		wait = min(wait, w.opt.Time)
	}
	w.retryAt = addSpan(w.clock.elapsed, span(wait))
	w.lostBytes = 0
	w.stats.Failing = err
	return w.reportOnce(err)
}

// reportOnce counts an error, and returns it unless its reason is that of the last one
// returned since the ring recovered.
func (w *Writer) reportOnce(err error) error {
	w.stats.Errors++
	w.hasFailed = true
	reason := err.Error()
	if e := (*file.Error)(nil); errors.As(err, &e) {
		reason = e.Reason
	}
	if reason == w.lastReason {
		return nil
	}
	w.lastReason = reason
	return err
}

// noteRecovery ends the state of failing once more packets are in the file than
// before. A header alone is no recovery: a full disk may still take that.
func (w *Writer) noteRecovery(before uint64) {
	if w.stats.Failing != nil && w.packetsInFile() > before {
		w.stats.Failing = nil
		w.lastReason = ""
	}
}

// packetsInFile returns how many packets are in the file, without those in the buffer.
func (w *Writer) packetsInFile() uint64 {
	s := w.out.Stats()
	return s.Packets - s.Held
}
