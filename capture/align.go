package capture

import "math"

// Aligner is a Source whose packets have stamps of several clocks, which may differ: those of its inputs,
// and those of the interfaces of one. Before the first Read the first packets can be looked at, and stamps
// corrected.
type Aligner interface {
	// Look calls look with the first packets of each input, in the order of each. Their File is that
	// which Read gives them.
	Look(look func(p *Packet))
	// Shift adds nanoseconds to all stamps of an interface of an input, or, with EveryInterface, of the
	// input.
	Shift(file uint16, iface int, nanos int64)
}

// EveryInterface is what Shift takes for all interfaces of an input.
const EveryInterface = -1

// Align returns a Source that delivers what src does and is an Aligner. If src is no regular file, which
// may end or wait at any packet, it is returned as it is.
func Align(src Source) Source {
	if src.Stats().Size == 0 {
		return src
	}
	return &aligned{source: src}
}

// aligned is the Source that Align returns, and what Merge makes of its inputs to look at them.
//
// While all stamps are corrected alike, batches are passed on. Where the interfaces of a file have
// clocks that differ, its packets are ordered by what is right: a capturing program writes them in the order in
// which they came, so that only their stamps are wrong, and a program that merges files orders them by
// wrong stamps. In either case no packet that follows has a stamp, as captured, that is much older than the latest
// one, so that packets are held for no longer than by how much the clocks differ.
type aligned struct {
	source Source
	looked []Batch // that Look has read
	err    error   // what source returned with the last packets
	shift  int64   // of all interfaces
	order  *reorder
}

// Look implements Aligner.
func (a *aligned) Look(look func(p *Packet)) { a.lookAt(0, 1, alignedBytes, look) }

// lookAt calls look with the first packets, whose file has that number: with those of so many batches, or
// if the file describes several interfaces, with so many bytes.
func (a *aligned) lookAt(file uint16, batches, size int, look func(p *Packet)) {
	sum := 0
	for n := 0; a.err == nil && (n < batches || len(a.Interfaces()) > 1 && sum < size); n++ {
		var b Batch
		a.err = a.source.Read(&b)
		for i := range b.Packets {
			b.Packets[i].File = file
			look(&b.Packets[i])
		}
		sum += sizeOf(&b)
		a.looked = append(a.looked, b)
		if len(b.Packets) == 0 && len(b.Gaps) == 0 {
			break // it waits for input
		}
	}
}

// Shift implements Aligner.
func (a *aligned) Shift(_ uint16, iface int, nanos int64) {
	if iface == EveryInterface {
		a.shift += nanos
		return
	}
	if a.order == nil {
		a.order = &reorder{}
	}
	a.order.setShift(uint16(iface), nanos)
}

// Read implements Source.
func (a *aligned) Read(b *Batch) error {
	if a.order != nil {
		return a.readInOrder(b)
	}
	err := a.next(b)
	if a.shift != 0 {
		for i := range b.Packets {
			b.Packets[i].Nanos += a.shift
		}
	}
	return err
}

// next fills b with the next packets of the source, as they were captured.
func (a *aligned) next(b *Batch) error {
	if len(a.looked) == 0 {
		if a.err == nil {
			a.err = a.source.Read(b)
		} else {
			b.Reset()
		}
		return a.err
	}
	*b, a.looked = a.looked[0], a.looked[1:]
	if len(a.looked) == 0 {
		a.looked = nil
		return a.err
	}
	return nil
}

// Stats are those of the source.
func (a *aligned) Stats() Stats { return a.source.Stats() }

// Interfaces lists those of the source, none if it is no Describer.
func (a *aligned) Interfaces() []Interface {
	if d, ok := a.source.(Describer); ok {
		return d.Interfaces()
	}
	return nil
}

// Close closes the source.
func (a *aligned) Close() error { return a.source.Close() }

// reorder orders the packets of an input by stamps that are corrected for each interface. Packets whose
// stamps are corrected by the same time stay in the order in which they were captured.
type reorder struct {
	lanes     []lane       // the first one of interfaces that are not corrected
	lastIface uint16       // whose lane was asked for last
	lastLane  *lane        // its, nil before the first time and after setShift
	least, by int64        // the least of all corrections, and by how much they differ
	unused    []*heldBatch // whose packets have left
	size      int          // of the batches that are held, in bytes

	// An era ends where all stamps of a batch are much older than those before, as after the clock of
	// the capturing host was set back: its packets precede those of later ones.
	era    int
	latest int64 // stamp of the era, as captured

	read, delivered uint64
	err             error
}

// lane holds the packets of an interface that wait for those of others.
type lane struct {
	iface uint16 // if it is not the first one
	shift int64  // what is added to stamps
	queue []heldPacket
	first int // in the queue; those before have left
}

// heldPacket is a packet that others may precede.
type heldPacket struct {
	nanos int64
	no    uint64 // in the input
	era   int
	batch *heldBatch
	index int // in the batch
}

// heldBatch is a batch of which packets are held.
type heldBatch struct {
	Batch
	left int // packets that are held
	gap  int // index of the first gap that is held
}

// sizeOf returns about how many bytes a batch takes.
func sizeOf(b *Batch) int {
	const packetSize = 64
	return cap(b.Buf) + packetSize*cap(b.Packets)
}

// setShift adds nanos to what the stamps of an interface are corrected by.
func (o *reorder) setShift(iface uint16, nanos int64) {
	if len(o.lanes) == 0 {
		o.lanes = make([]lane, 1)
	}
	l := o.laneOf(iface)
	if l == &o.lanes[0] {
		o.lanes = append(o.lanes, lane{iface: iface})
		l = &o.lanes[len(o.lanes)-1]
	}
	l.shift += nanos
	o.lastLane = nil
	least, most := int64(0), int64(0)
	for i := range o.lanes {
		least, most = min(least, o.lanes[i].shift), max(most, o.lanes[i].shift)
	}
	o.least, o.by = least, most-least
}

func (o *reorder) laneOf(iface uint16) *lane {
	if o.lastLane != nil && o.lastIface == iface {
		return o.lastLane
	}
	l := &o.lanes[0]
	for i := range o.lanes[1:] {
		if x := &o.lanes[1+i]; x.iface == iface {
			l = x
		}
	}
	o.lastIface, o.lastLane = iface, l
	return l
}

// next returns the lane with the packet that precedes all others that are held, nil if there is none.
func (o *reorder) next() *lane {
	var next *lane
	for i := range o.lanes {
		if l := &o.lanes[i]; l.first < len(l.queue) && (next == nil || l.head().before(next.head())) {
			next = l
		}
	}
	return next
}

// readInOrder is Read where the interfaces of the input are corrected each by another time.
func (a *aligned) readInOrder(b *Batch) error {
	o := a.order
	b.Reset()
	for {
		for l := o.next(); l != nil && o.isNext(l.head()); l = o.next() {
			if !o.hasRoom(b, l.head()) {
				return nil
			}
			o.deliver(b, l, a.shift)
		}
		switch {
		case o.err == nil:
		case len(b.Packets)+len(b.Gaps) > 0:
			return nil
		default:
			return o.err
		}
		if a.hold(b) {
			return nil
		}
	}
}

// isNext reports whether no packet that was not read yet precedes a packet, or too many are held.
func (o *reorder) isNext(p *heldPacket) bool {
	return o.err != nil || p.era < o.era || p.nanos <= o.latest+o.least || o.size > reorderBytes
}

// hold reads a batch, whose packets are held from then on. It reports whether the input waits. Gaps of a
// batch without packets are moved to b.
func (a *aligned) hold(b *Batch) (waits bool) {
	o := a.order
	if len(o.unused) == 0 {
		o.unused = append(o.unused, new(heldBatch))
	}
	last := len(o.unused) - 1
	held := o.unused[last]
	o.unused = o.unused[:last]
	o.err = a.next(&held.Batch)
	held.left, held.gap = len(held.Packets), 0
	if held.left == 0 {
		waits = o.err == nil && len(held.Gaps) == 0
		held.moveGaps(0, b)
		o.unused = append(o.unused, held)
		return waits
	}
	latest := int64(math.MinInt64)
	for i := range held.Packets {
		latest = max(latest, held.Packets[i].Nanos)
	}
	if o.read > 0 && latest < o.latest-o.by-eraNanos {
		o.era++
		o.latest = latest
	}
	if o.latest = max(o.latest, latest); o.read == 0 {
		o.latest = latest
	}
	o.size += sizeOf(&held.Batch)
	for i := range held.Packets {
		p := &held.Packets[i]
		o.read++
		l := o.laneOf(p.Iface)
		l.queue = append(l.queue, heldPacket{nanos: p.Nanos + l.shift, no: o.read, era: o.era, batch: held, index: i})
	}
	return false
}

// hasRoom reports whether a packet fits into b. An empty batch gets the room.
func (o *reorder) hasRoom(b *Batch, p *heldPacket) bool {
	size := len(p.batch.Packets[p.index].Data)
	for _, c := range p.batch.Comments {
		if c.At == p.index {
			size += len(c.Text)
		}
	}
	if len(b.Packets) == 0 {
		if cap(b.Packets) < MaxPackets {
			b.Packets = make([]Packet, 0, MaxPackets)
		}
		if want := max(mergeBytes, size); cap(b.Buf) < want {
			b.Buf = make([]byte, 0, want)
		}
		b.Buf = b.Buf[:0]
	}
	return len(b.Packets) < MaxPackets && cap(b.Buf)-len(b.Buf) >= size
}

// deliver moves the head of a lane to b, with the gaps that precede it and the comments about it.
func (o *reorder) deliver(b *Batch, l *lane, shift int64) {
	x := l.pop()
	held := x.batch
	held.moveGaps(x.index, b)
	for _, c := range held.Comments {
		if c.At == x.index {
			b.Comments = append(b.Comments, Comment{At: len(b.Packets), Text: b.keep(c.Text)})
		}
	}
	p := held.Packets[x.index]
	o.delivered++
	p.No, p.Nanos, p.Data = o.delivered, x.nanos+shift, b.keep(p.Data)
	b.Packets = append(b.Packets, p)
	if held.left--; held.left > 0 {
		return
	}
	held.moveGaps(len(held.Packets), b)
	o.size -= sizeOf(&held.Batch)
	o.unused = append(o.unused, held)
}

// keep copies bytes to the end of Buf, which has room for them.
func (b *Batch) keep(data []byte) []byte {
	start := len(b.Buf)
	b.Buf = append(b.Buf, data...)
	return b.Buf[start:len(b.Buf):len(b.Buf)]
}

// moveGaps moves the gaps before packet n to b, whose next packet they will precede.
func (h *heldBatch) moveGaps(n int, b *Batch) {
	for ; h.gap < len(h.Gaps) && h.Gaps[h.gap].At <= n; h.gap++ {
		g := h.Gaps[h.gap]
		g.At = len(b.Packets)
		b.Gaps = append(b.Gaps, g)
	}
}

func (p *heldPacket) before(q *heldPacket) bool {
	switch {
	case p.era != q.era:
		return p.era < q.era
	case p.nanos != q.nanos:
		return p.nanos < q.nanos
	}
	return p.no < q.no
}

func (l *lane) head() *heldPacket { return &l.queue[l.first] }

// pop removes the head.
func (l *lane) pop() heldPacket {
	p := l.queue[l.first]
	if l.first++; l.first == len(l.queue) || l.first >= laneRoom && l.first*2 >= len(l.queue) {
		l.queue = l.queue[:copy(l.queue, l.queue[l.first:])]
		l.first = 0
	}
	return p
}

const (
	// limit: mergeBytes is how many bytes of packets are copied into one batch when
	// inputs alternate. It holds the longest packet, and a full batch of
	// ordinary ones; a batch is handed over when the next does not fit.
	mergeBytes = 2 * MaxCaptured

	// limit: alignedBytes is how much is looked at, in all, where a file has several interfaces: merged by
	// stamps of clocks that differ, what a client sent and the answer to it are as far apart as these
	// (chosen: 3 s of 30,000 packets of requests a second).
	alignedBytes = 16 << 20

	// limit: reorderBytes is about how much is held while packets of a file are ordered by other stamps than
	// those that they were captured with: twice alignedBytes.
	reorderBytes = 32 << 20

	// laneRoom is how many packets must have left a lane before the others are moved to its beginning.
	// Chosen: as many as a batch has.
	laneRoom = MaxPackets

	// limit: eraNanos is how much older than all before a batch has to be to begin another era of stamps, in
	// nanoseconds. Chosen: a second, as much as packets of several processors are out of order, and more.
	eraNanos = 1_000_000_000
)
