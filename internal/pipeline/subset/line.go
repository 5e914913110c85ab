package subset

import "qsniff/capture"

// line holds packets back, so that the messages that they are a part of can be decided
// first. It has copies of them, in blocks whose memory is used again.
//
// How far it reaches back depends on the packets alone: at the same place, two runs over a
// file have released the same packets. A Plan relies on that.
type line struct {
	blocks int   // how many are held at most, of which one is being filled
	wait   int64 // packet time after which packets leave earlier; 0: they do not
	counts bool  // only released is wanted: nothing is copied

	held     []*block // oldest first
	unused   []*block
	batches  []batchEnd // of those held, if packets leave after a time
	newest   int64      // time of the newest packet
	rested   uint64     // number of the last packet that was held long enough
	released uint64     // number of the last packet that left
}

// batchEnd is the last packet of a batch. All packets of a batch have been held long enough when
// that one has: what they mean may be known after the batch only.
type batchEnd struct {
	last  uint64
	nanos int64
}

// block is a run of packets with their bytes and comments.
type block struct {
	capture.Batch
	cost  int    // bytes, and packetCost for each packet
	next  int    // index of the first packet that has not left
	about int    // index of the first comment of those
	last  uint64 // number of the last packet
}

// newLine returns a line of so many bytes.
func newLine(size int) line { return line{blocks: size / blockBytes} }

// add copies the packets of a batch to the end of the line.
func (l *line) add(from *capture.Batch) {
	next := 0
	for i := range from.Packets {
		p := &from.Packets[i]
		first, n := next, len(p.Data)
		for ; next < len(from.Comments) && from.Comments[next].At <= i; next++ {
			n += len(from.Comments[next].Text)
		}
		b := l.roomFor(n)
		b.last = p.No
		l.newest = max(l.newest, p.Nanos)
		if !l.counts {
			b.add(p, from.Comments[first:next])
		}
	}
	if n := len(from.Packets); n > 0 && l.wait > 0 {
		last := &from.Packets[n-1]
		l.batches = append(l.batches, batchEnd{last.No, last.Nanos})
		old := 0
		for ; old < len(l.batches) && l.newest-l.batches[old].nanos >= l.wait; old++ {
			l.rested = l.batches[old].last
		}
		l.batches = l.batches[:copy(l.batches, l.batches[old:])]
	}
}

// roomFor returns the newest block, or another one if that has no room for a packet of n
// bytes.
func (l *line) roomFor(n int) *block {
	cost := n + packetCost
	if k := len(l.held); k > 0 && l.held[k-1].cost+cost <= blockBytes {
		l.held[k-1].cost += cost
		return l.held[k-1]
	}
	if len(l.unused) == 0 {
		l.unused = append(l.unused, new(block))
	}
	k := len(l.unused) - 1
	b := l.unused[k]
	l.unused = l.unused[:k]
	if !l.counts && cap(b.Buf) < max(n, blockBytes) {
		b.Buf = make([]byte, 0, max(n, blockBytes))
	}
	b.cost = cost
	l.held = append(l.held, b)
	return b
}

// add copies a packet, for which there is room, to the end of the block.
func (b *block) add(p *capture.Packet, about []capture.Comment) {
	for _, c := range about {
		b.Comments = append(b.Comments, capture.Comment{At: len(b.Packets), Text: b.keep(c.Text)})
	}
	kept := *p
	kept.Data = b.keep(p.Data)
	b.Packets = append(b.Packets, kept)
}

func (b *block) keep(data []byte) []byte {
	start := len(b.Buf)
	b.Buf = append(b.Buf, data...)
	return b.Buf[start:len(b.Buf):len(b.Buf)]
}

// release calls write with the packets that have been held long enough, or with all of them.
// The error is that of write.
func (l *line) release(all bool, write func(*capture.Packet, []capture.Comment) error) error {
	for len(l.held) > 0 {
		b := l.held[0]
		isOver := all || len(l.held) > l.blocks
		if !isOver && l.wait == 0 {
			return nil
		}
		for b.next < len(b.Packets) {
			p := &b.Packets[b.next]
			if !isOver && p.No > l.rested {
				return nil
			}
			first := b.about
			for b.about < len(b.Comments) && b.Comments[b.about].At == b.next {
				b.about++
			}
			b.next++
			l.released = p.No
			if err := write(p, b.Comments[first:b.about]); err != nil {
				return err
			}
		}
		if !isOver && len(l.held) == 1 {
			return nil // it is being filled
		}
		l.drop()
	}
	return nil
}

// drop drops the oldest block, whose packets have left.
func (l *line) drop() {
	b := l.held[0]
	l.released = b.last
	l.held = l.held[:copy(l.held, l.held[1:])]
	b.Reset()
	b.Buf, b.next, b.about = b.Buf[:0], 0, 0
	l.unused = append(l.unused, b)
}

// recent is what is known of the packets in the line.
type recent struct {
	memos memos
	long  stretches
	room
	slots    []slot // of packet n at n modulo the length, a power of two
	released uint64 // the last packet that was taken
}

// slot is what is known of a packet.
type slot struct {
	first, last uint64 // memos, in a chain; 0: none
	isMarked    bool
	wipesAll    bool
}

func newRecent(limit int) recent {
	return recent{memos: newMemos(limit), long: newStretches(), slots: make([]slot, minRing)}
}

// slotOf returns the slot of a packet that was not taken yet.
func (r *recent) slotOf(frame uint64) *slot {
	for frame-r.released > uint64(len(r.slots)) {
		old := r.slots
		r.slots = make([]slot, 2*len(old))
		for n := r.released + 1; n <= r.released+uint64(len(old)); n++ {
			r.slots[n&uint64(len(r.slots)-1)] = old[n&uint64(len(old)-1)]
		}
	}
	return &r.slots[frame&uint64(len(r.slots)-1)]
}

func (r *recent) mark(frame uint64) bool {
	r.slotOf(frame).isMarked = true
	return true
}

func (r *recent) note(frame uint64, kind memoKind, text []byte) bool {
	n := r.memos.add(frame, kind, text)
	s := r.slotOf(frame)
	switch {
	case n == 0:
		return false
	case s.first == 0:
		s.first = n
	case s.last != n:
		r.memos.at(s.last).next = n
	}
	s.last = n
	return true
}

func (r *recent) wipe(frame uint64) { r.slotOf(frame).wipesAll = true }

// take adds to an entry what is known of a packet. It is called with all packets in order.
func (r *recent) take(frame uint64, e *entry) {
	s := r.slotOf(frame)
	e.isMarked, e.wipesAll = s.isMarked || e.isMarked, s.wipesAll || e.wipesAll
	for n := s.first; n != 0; n = r.memos.at(n).next {
		e.add(r.memos.at(n))
	}
	*s = slot{}
	r.released = frame
}

// forget drops what is known of packets up to frame, which were written.
func (r *recent) forget(frame uint64) {
	r.memos.drop(frame)
	r.long.drop(frame)
}

const (
	// limit: lineBytes is how many bytes of packets of a stream are held back: the 10 s of 1,000 queries a
	// second with their replies. The parts of a reply come within milliseconds; messages of which parts
	// are missing take the 10 s. packetCost is what a packet takes besides its bytes.
	lineBytes  = 4 << 20
	packetCost = 64
	// limit: blockBytes is the memory that packets are held in: they leave a block at a time. The longest
	// packet fits.
	blockBytes = 256 << 10
)
