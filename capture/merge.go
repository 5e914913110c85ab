package capture

import (
	"errors"
	"io"
	"io/fs"
	"math"
)

// Merge returns a Source that delivers the packets of all sources by time. The
// order within a source stays, also where its time goes backwards: of the next
// packets of all sources the earliest is taken, and of packets with the same time
// that of the first source in the list. Packets are numbered from 1 over all, and
// Packet.File is the position of the source in the list. Packet.Lane is the same for sources that
// follow each other in time, as the files of a ring do.
//
// At most one batch of each source is held. Packets are copied where sources
// alternate; where a whole batch of one precedes the next packet of the others, as
// with the files of a ring, the batch is passed on as it is.
//
// A source that ends in an error does not stop the others: the errors come
// after the last packet, joined with errors.Join. A source that waits for input
// makes Merge wait, because its next packet may be the earliest. Close closes
// all sources; those that have ended are closed before.
func Merge(sources ...Source) Source {
	m := &merger{inputs: make([]input, len(sources))}
	for i, s := range sources {
		m.inputs[i] = input{source: s, file: uint16(min(i, maxInputs-1)), index: i, head: math.MinInt64}
		if d, ok := s.(*delayed); ok {
			m.inputs[i].head = d.start
		}
		m.heap = append(m.heap, &m.inputs[i])
	}
	m.buildHeap()
	return m
}

// merger is the Source that Merge returns.
type merger struct {
	inputs   []input
	heap     []*input // by input.before; sources that have not ended
	lanes    []*input // the source that uses each lane; nil: it has ended
	received uint64
	errs     []error
	err      error // what Read returns from now on
}

// input is a source and the batch of it that is being delivered.
type input struct {
	source  Source
	batch   Batch
	index   int // in the list of sources
	file    uint16
	lane    uint16
	hasLane bool
	started bool  // the source was read; until then head is when it begins, if known, else the least time
	err     error // what the source returned with its last packets
	head    int64 // time of the next packet
	next    int   // index of that packet in batch
	gap     int   // index of the next gap in batch
	comment int   // index of the next comment in batch
}

// before reports whether a's next packet comes before b's.
func (a *input) before(b *input) bool {
	return a.head < b.head || a.head == b.head && a.index < b.index
}

// Read fills b. It returns either packets and gaps, or an error.
func (m *merger) Read(b *Batch) error {
	b.Reset()
	for m.err == nil {
		if len(m.heap) == 0 {
			m.err = m.finalError()
			break
		}
		in := m.heap[0]
		if in.next == len(in.batch.Packets) {
			if len(b.Packets) > 0 && in.started {
				return nil // filling the next batch may take long
			}
			m.refill(in, b)
			if len(b.Gaps) >= MaxPackets {
				return nil
			}
			continue
		}
		if in.next == 0 && len(b.Packets) == 0 && len(b.Gaps) == 0 && m.batchPrecedesAll(in) {
			m.passBatch(in, b)
			return nil
		}
		if !m.copyRun(in, b) {
			return nil
		}
	}
	if len(b.Packets)+len(b.Gaps) > 0 {
		return nil
	}
	return m.err
}

// refill reads the next batch of in, the first input of the heap, which has no
// packet left. Gaps after its last packet are moved to b. If the source has ended,
// it is closed and the input removed from the heap.
func (m *merger) refill(in *input, b *Batch) {
	in.moveGaps(in.next, b)
	if in.err == nil {
		in.started = true
		in.err = in.source.Read(&in.batch)
		in.next, in.gap, in.comment = 0, 0, 0
	}
	if len(in.batch.Packets) > 0 && in.next == 0 {
		in.head = in.batch.Packets[0].Nanos
		m.siftDown(0)
		return
	}
	in.moveGaps(0, b)
	if in.err == nil {
		return
	}
	if in.err != io.EOF {
		m.errs = append(m.errs, in.err)
	}
	if err := in.source.Close(); err != nil && in.err == io.EOF {
		m.errs = append(m.errs, err)
	}
	in.batch = Batch{}
	m.freeLane(in)
	last := len(m.heap) - 1
	m.heap[0] = m.heap[last]
	m.heap = m.heap[:last]
	m.siftDown(0)
}

// batchPrecedesAll reports whether all packets of in's batch, of which in is the
// first input of the heap, come before the next packet of every other input.
func (m *merger) batchPrecedesAll(in *input) bool {
	other := m.secondInput()
	if other == nil {
		return true
	}
	latest := int64(math.MinInt64)
	for i := range in.batch.Packets {
		latest = max(latest, in.batch.Packets[i].Nanos)
	}
	return latest < other.head || latest == other.head && in.index < other.index
}

// passBatch exchanges in's batch for b, which is empty, and numbers its packets.
func (m *merger) passBatch(in *input, b *Batch) {
	*b, in.batch = in.batch, *b
	in.batch.Reset()
	in.next, in.gap, in.comment = 0, 0, 0
	m.takeLane(in)
	for i := range b.Packets {
		m.received++
		b.Packets[i].No = m.received
		b.Packets[i].File, b.Packets[i].Lane = in.file, in.lane
	}
}

// copyRun copies packets of in to b until another input's packet comes first
// or in's batch ends. It returns false when b is full.
func (m *merger) copyRun(in *input, b *Batch) bool {
	if cap(b.Packets) < MaxPackets {
		b.Packets = make([]Packet, 0, MaxPackets)
	}
	if len(b.Packets) == 0 {
		if want := max(mergeBytes, in.nextSize()); cap(b.Buf) < want {
			b.Buf = make([]byte, 0, want)
		}
		b.Buf = b.Buf[:0]
	}
	m.takeLane(in)
	other := m.secondInput()
	for in.next < len(in.batch.Packets) {
		p := in.batch.Packets[in.next]
		in.head = p.Nanos
		if other != nil && other.before(in) {
			break
		}
		if len(b.Packets) == MaxPackets || cap(b.Buf)-len(b.Buf) < in.nextSize() {
			return false
		}
		in.moveGaps(in.next, b)
		in.copyComments(in.next, b)
		start := len(b.Buf)
		b.Buf = append(b.Buf, p.Data...)
		end := len(b.Buf)
		m.received++
		p.No, p.File, p.Lane, p.Data = m.received, in.file, in.lane, b.Buf[start:end:end]
		b.Packets = append(b.Packets, p)
		in.next++
	}
	m.siftDown(0)
	return true
}

// takeLane gives in the lane of a source that has ended, or a new one, if it has none.
func (m *merger) takeLane(in *input) {
	if in.hasLane {
		return
	}
	in.hasLane = true
	for i, used := range m.lanes {
		if used == nil || used.endsSoon(in.head) {
			m.lanes[i], in.lane = in, uint16(i)
			return
		}
	}
	in.lane = uint16(min(len(m.lanes), maxInputs-1))
	m.lanes = append(m.lanes, in)
}

// endsSoon reports whether the last packet of in comes less than laneOverlap after a time.
func (in *input) endsSoon(nanos int64) bool {
	rest := in.batch.Packets[in.next:]
	return in.err != nil && len(rest) > 0 && rest[len(rest)-1].Nanos-nanos < laneOverlap
}

func (m *merger) freeLane(in *input) {
	if in.hasLane && m.lanes[in.lane] == in {
		m.lanes[in.lane] = nil
	}
}

// moveGaps appends the gaps before packet n of in's batch to b, whose next packet
// they will precede.
func (in *input) moveGaps(n int, b *Batch) {
	for ; in.gap < len(in.batch.Gaps) && in.batch.Gaps[in.gap].At <= n; in.gap++ {
		g := in.batch.Gaps[in.gap]
		g.At = len(b.Packets)
		b.Gaps = append(b.Gaps, g)
	}
}

// nextSize returns how many bytes the next packet and its comments take.
func (in *input) nextSize() int {
	sum := len(in.batch.Packets[in.next].Data)
	for _, c := range in.batch.Comments[in.comment:] {
		if c.At != in.next {
			break
		}
		sum += len(c.Text)
	}
	return sum
}

// copyComments appends the comments of packet n of in's batch to b, of which that
// packet becomes the next.
func (in *input) copyComments(n int, b *Batch) {
	for ; in.comment < len(in.batch.Comments) && in.batch.Comments[in.comment].At == n; in.comment++ {
		start := len(b.Buf)
		b.Buf = append(b.Buf, in.batch.Comments[in.comment].Text...)
		end := len(b.Buf)
		b.Comments = append(b.Comments, Comment{At: len(b.Packets), Text: b.Buf[start:end:end]})
	}
}

// finalError returns what Read returns after the last packet.
func (m *merger) finalError() error {
	switch len(m.errs) {
	case 0:
		return io.EOF
	case 1:
		return m.errs[0]
	}
	return errors.Join(m.errs...)
}

// Stats adds up those of the sources. Size is 0 unless it is known of all sources.
func (m *merger) Stats() Stats {
	var sum Stats
	known := true
	for i := range m.inputs {
		s := m.inputs[i].source.Stats()
		sum.Dropped += s.Dropped
		sum.Bytes += s.Bytes
		sum.Size += s.Size
		sum.Gaps += s.Gaps
		sum.Skipped += s.Skipped
		known = known && s.Size > 0
	}
	if !known {
		sum.Size = 0
	}
	sum.Received = m.received
	return sum
}

// Interfaces lists the interfaces of all sources that are Describers.
func (m *merger) Interfaces() []Interface {
	var all []Interface
	for i := range m.inputs {
		d, ok := m.inputs[i].source.(Describer)
		if !ok {
			continue
		}
		for _, one := range d.Interfaces() {
			one.File = m.inputs[i].file
			all = append(all, one)
		}
	}
	return all
}

// Close closes all sources and returns the first error.
func (m *merger) Close() error {
	var first error
	for _, in := range m.heap {
		if err := in.source.Close(); err != nil && first == nil {
			first = err
		}
	}
	m.heap = nil
	if m.err == nil {
		m.err = fs.ErrClosed
	}
	return first
}

// Look implements Aligner. Of many inputs, as the files of a ring, it looks at none.
func (m *merger) Look(look func(p *Packet)) {
	if len(m.inputs) > alignedInputs {
		return
	}
	for i := range m.inputs {
		in := &m.inputs[i]
		a := &aligned{source: in.source}
		a.lookAt(in.file, alignedBatches, alignedBytes/len(m.inputs), look)
		in.source, in.head = a, math.MinInt64
	}
	m.buildHeap()
}

// Shift implements Aligner.
func (m *merger) Shift(file uint16, iface int, nanos int64) {
	if a, ok := m.inputs[file].source.(*aligned); ok {
		a.Shift(0, iface, nanos)
	}
}

// The heap of a merger: the input whose packet comes next is at 0, and the one at
// i comes before those at 2i+1 and 2i+2.

// buildHeap makes a heap of the inputs, which are in any order.
func (m *merger) buildHeap() {
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.siftDown(i)
	}
}

// siftDown moves the input at i to its place after its next packet has changed.
func (m *merger) siftDown(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heap); child++ {
			if m.heap[child].before(m.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		m.heap[i], m.heap[least] = m.heap[least], m.heap[i]
		i = least
	}
}

// secondInput returns the input that comes next after the first, or nil if there
// is none.
func (m *merger) secondInput() *input {
	switch len(m.heap) {
	case 0, 1:
		return nil
	case 2:
		return m.heap[1]
	}
	if m.heap[2].before(m.heap[1]) {
		return m.heap[2]
	}
	return m.heap[1]
}

const (
	// limit: MaxPackets is how many packets a Batch holds at most: enough to make the
	// hand-over between goroutines cheap, few enough to stay in the cache. Measured
	// on a mix of protocols and on a flood, 256 took 2 MiB less memory and 2 to 6 % more
	// processor time; 1,024 took 2 MiB more and were hardly faster.
	MaxPackets = 512

	// limit: alignedInputs is for how many inputs clocks are compared, and alignedBatches how many batches
	// of each are looked at for that, and kept in memory (chosen).
	alignedInputs  = 4
	alignedBatches = 8

	// limit: laneOverlap is how far the last packets of a file of a ring are later than the first of the
	// next, in nanoseconds: what processors that take turns deliver out of order (chosen).
	laneOverlap = 5_000_000

	// limit: maxInputs is how many inputs the 16 bits of Packet.File can number. Further
	// ones all have the last number.
	maxInputs = 1 << 16
)
