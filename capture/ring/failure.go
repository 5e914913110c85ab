package ring

import (
	"errors"

	"qsniff/capture/file"
)

// failed deals with an error of the file's Writer: about a packet that the format
// cannot hold, or about the file, which ends here.
func (w *Writer) failed(err error) error {
	if errors.Is(err, file.ErrRefused) {
		w.stats.Refused++
		if w.refused {
			return nil
		}
		w.refused = true
		return err
	}
	return w.finish() // Close returns the same error
}

// fail waits with the next file until the next rotation is due, or for
// retryAfter.
func (w *Writer) fail(err error) error {
	wait := retryAfter
	if w.opt.Time > 0 {
		wait = min(wait, w.opt.Time)
	}
	w.retryAt = later(w.clock.passed, span(wait))
	w.lost = 0
	w.stats.Failing = err
	return w.report(err)
}

// report returns an error if it has not been returned since the ring last wrote.
func (w *Writer) report(err error) error {
	w.stats.Errors++
	w.trouble = true
	reason := err.Error()
	if e := (*file.Error)(nil); errors.As(err, &e) {
		reason = e.Reason
	}
	if reason == w.reported {
		return nil
	}
	w.reported = reason
	return err
}

// recovered notes that the disk takes packets again: more are in the file than
// before. That it takes a header says little.
func (w *Writer) recovered(before uint64) {
	if w.stats.Failing != nil && w.safe() > before {
		w.stats.Failing = nil
		w.reported = ""
	}
}

// safe is how many packets are in the file, not in the buffer.
func (w *Writer) safe() uint64 {
	s := w.out.Stats()
	return s.Packets - s.Held
}
