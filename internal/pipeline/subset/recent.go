package subset

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
