package pipeline

import (
	"io"

	"qsniff/internal/render"
)

// writeSize is how many bytes are written at a time, and at the end of a batch.
const writeSize = 64 << 10

// textOutput collects the text of a run and writes it. Callers append to buf.
type textOutput struct {
	w            io.Writer
	buf          []byte
	start        int64 // time stamp of the first packet
	before       int64 // time of the line before
	cutsToMicros bool  // times since the line before are cut to microseconds
	failed       error // of the writer; nothing is written after it
}

// addSpan appends the text of a span.
func (o *textOutput) addSpan(seg *segment, s *span) {
	at := len(o.buf)
	o.buf = append(o.buf, seg.buf[s.start:s.end]...)
	if s.hole > 0 {
		o.fillHole(at+int(s.hole)-1, int(s.width), s.nanos)
	}
}

// fillHole writes the time from the line before to nanos into the hole of buf at at.
func (o *textOutput) fillHole(at, width int, nanos int64) {
	if o.cutsToMicros {
		nanos = render.TruncateMicros(nanos)
	}
	if o.before == 0 {
		o.before = nanos
	}
	o.buf = render.FillHole(o.buf, at, width, nanos-o.before)
	o.before = nanos
}

// isFull reports whether buf has as much as is written at a time.
func (o *textOutput) isFull() bool { return len(o.buf) >= writeSize }

// flush writes buf and empties it. Once the writer has failed, each call returns its error.
func (o *textOutput) flush() error {
	if len(o.buf) > 0 && o.failed == nil {
		_, o.failed = o.w.Write(o.buf)
	}
	if cap(o.buf) > 16*writeSize { // a long message grew it
		o.buf = nil
	}
	o.buf = o.buf[:0]
	return o.failed
}
