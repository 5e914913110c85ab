package pipeline

import (
	"io"

	"qsniff/capture"
	"qsniff/dissect"
)

// fold merges what the partitions made of a batch, in packet order, and writes it.
type fold struct {
	w    io.Writer
	max  uint64 // messages to write, 0 for all
	buf  []byte
	next [Partitions]int // span of each partition that comes next

	progress func(capture.Stats)
	messages uint64
	types    map[typeKey]uint64
	reader   readerTotals // behind the last batch merged
	parts    [Partitions]totals
}

type typeKey struct {
	proto *dissect.Proto
	typ   *dissect.Type
}

// merge writes a batch. It returns true when enough messages are written.
func (f *fold) merge(b *batch) (enough bool, err error) {
	f.buf = f.buf[:0]
	f.next = [Partitions]int{}
	f.reader = b.totals
	if f.progress != nil {
		f.progress(b.totals.source)
	}
	for p := range b.out {
		f.parts[p] = b.out[p].totals
	}
	for {
		p := f.first(b)
		if p < 0 {
			break
		}
		out := &b.out[p]
		s, fact := &out.spans[f.next[p]], &out.facts[f.next[p]]
		f.next[p]++
		f.buf = append(f.buf, out.buf[s.start:s.end]...)
		f.messages++
		f.types[typeKey{fact.Proto, fact.Type}]++
		if f.messages == f.max {
			enough = true
			break
		}
	}
	if len(f.buf) > 0 {
		_, err = f.w.Write(f.buf)
	}
	return enough, err
}

// first returns the partition whose next span comes first, or -1.
func (f *fold) first(b *batch) int {
	best := -1
	var bs *span
	for p := range b.out {
		spans := b.out[p].spans
		if f.next[p] == len(spans) {
			continue
		}
		s := &spans[f.next[p]]
		if best < 0 || s.index < bs.index || s.index == bs.index && s.key < bs.key {
			best, bs = p, s
		}
	}
	return best
}
