package capture

import (
	"fmt"
	"io"
	"testing"
)

// fake is a source of packets with the given times, whose data says where they
// come from. It checks what Merge may do with its batches.
type fake struct {
	t      testing.TB
	name   string
	times  []int64
	gaps   map[int]bool // before these packets, or at the end
	most   int          // packets a batch
	end    error        // io.EOF if nil
	next   int
	reads  int
	closed bool
}

func (f *fake) Read(b *Batch) error {
	f.reads++
	if f.closed {
		f.t.Errorf("%s is read after its end", f.name)
	}
	b.Reset()
	b.Buf = b.Buf[:0]
	if cap(b.Buf) < 1<<16 {
		b.Buf = make([]byte, 0, 1<<16) // so that appending does not move it
	}
	for i := range b.Buf[:cap(b.Buf)] {
		b.Buf[:cap(b.Buf)][i] = 0xee
		if i > 1<<12 {
			break
		}
	}
	n := min(f.most, len(f.times)-f.next)
	for range n {
		f.gap(b)
		text := fmt.Sprint(f.name, f.next)
		start := len(b.Buf)
		b.Buf = append(b.Buf, text...)
		if f.next%3 == 0 {
			b.Comments = append(b.Comments, Comment{len(b.Packets), b.Buf[start:len(b.Buf):len(b.Buf)]})
		}
		b.Packets = append(b.Packets, Packet{No: uint64(f.next + 1), Nanos: f.times[f.next], Data: b.Buf[start:len(b.Buf):len(b.Buf)], Wire: uint32(len(text)), Iface: 3})
		f.next++
	}
	if f.next < len(f.times) {
		return nil
	}
	f.gap(b)
	if f.end != nil {
		return f.end
	}
	return io.EOF
}

func (f *fake) gap(b *Batch) {
	if f.gaps[f.next] {
		b.Gaps = append(b.Gaps, Gap{At: len(b.Packets), File: f.name, Offset: int64(f.next), Skipped: 1, Reason: "x"})
	}
}

func (f *fake) Stats() Stats {
	return Stats{Received: uint64(f.next), Dropped: 1, Bytes: 10, Size: 20, Gaps: uint64(len(f.gaps)), Skipped: 2}
}

func (f *fake) Close() error { f.closed = true; return nil }

func (f *fake) Interfaces() []Interface { return []Interface{{Index: 3, Name: f.name}} }

// fixed is a source of packets with the same data, all in one batch, for ever
// if step is set.
type fixed struct {
	data  []byte
	times []int64
	step  int64
	done  bool
}

func (f *fixed) Read(b *Batch) error {
	b.Reset()
	if f.done {
		return io.EOF
	}
	for i := range f.times {
		b.Packets = append(b.Packets, Packet{Nanos: f.times[i], Data: f.data})
		f.times[i] += f.step
	}
	f.done = f.step == 0
	return nil
}

func (*fixed) Stats() Stats { return Stats{} }
func (*fixed) Close() error { return nil }
