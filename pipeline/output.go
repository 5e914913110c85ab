package pipeline

import (
	"qsniff/track"
)

// span is what one message became: a range of the rendered bytes, and a fact.
// Spans are merged by index, then by key.
type span struct {
	index      int32  // of the item in its batch that decided it
	key        uint64 // first frame of the message
	start, end int
}

// output is what one partition made of one batch. Span i and fact i belong to
// the same message.
type output struct {
	buf   []byte
	spans []span
	facts []track.Fact

	totals totals // of the partition, behind this batch
}

// keepOutput bounds the rendered bytes that a partition's buffer keeps between
// batches. With 8 batches of 16 buffers that is 32 MiB at the very most; a batch
// of usual replies as JSON is 64 KiB a partition.
const keepOutput = 256 << 10

func (o *output) reset() {
	if cap(o.buf) > keepOutput {
		o.buf = nil
	}
	o.buf, o.spans, o.facts = o.buf[:0], o.spans[:0], o.facts[:0]
}
