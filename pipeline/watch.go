package pipeline

import "qsniff/track"

// show gives the watchers the next sightings of a worker, as far as no other
// worker has something in front of them.
func (f *fold) show(h *head) {
	limit := f.rival(h)
	list := h.seg.sights
	for first := h.sight; h.sight < len(list); h.sight++ {
		x := &list[h.sight]
		if h.sight > first && x.index > limit {
			return
		}
		f.tellWatchers(x)
	}
}

// rival is the index up to which nothing but the sights of h is to be had.
func (f *fold) rival(h *head) int32 {
	limit := int32(1<<31 - 1)
	for i := range f.heads {
		o := &f.heads[i]
		if o.next < len(o.seg.spans) {
			limit = min(limit, o.seg.spans[o.next].index-1)
		}
		if o != h && o.sight < len(o.seg.sights) {
			limit = min(limit, o.seg.sights[o.sight].index-1)
		}
	}
	return limit
}

// cutShort tells the watchers that no packet follows where the run was interrupted or
// failed: what is open then is told of as well. It returns err, or that of writing
// what they say.
func (f *fold) cutShort(err error) error {
	if err == nil || f.failed != nil || f.last.event == over || f.last.Age == 0 {
		return err
	}
	x := f.last
	x.event = over
	f.tellWatchers(&x)
	if wrong := f.flush(); wrong != nil {
		return wrong
	}
	return err
}

// missed tells the watchers how many packets the capturing program lost besides those
// that they know of.
func (f *fold) missed(dropped uint64) {
	if dropped <= f.dropped {
		return
	}
	for _, w := range f.watchers {
		w.Lost(dropped - f.dropped)
	}
	f.dropped = dropped
}

func (f *fold) tellWatchers(x *sight) {
	f.sighted = x.Nanos
	f.last.event, f.last.Age, f.last.Nanos = x.event, x.Age, x.Nanos
	switch x.event {
	case packet:
		if f.mirror.copied(&x.Sighting) {
			return
		}
		for _, w := range f.watchers {
			w.Sight(&x.Sighting)
		}
	case passed:
		for _, w := range f.watchers {
			w.Tick(x.Age, x.Nanos)
		}
	case missing:
		for _, w := range f.watchers {
			w.Lost(1)
		}
	case over:
		for _, w := range f.watchers {
			w.End(x.Age, x.Nanos)
		}
	}
}

// mirror finds out whether the capture has every packet twice, as some mirror
// ports and bridges write it, and leaves out the copies if so. A sender that
// repeats itself is no sign of that: nearly all senders must.
type mirror struct {
	seen, twice [mirrorBits / 64]uint64 // sources of this stretch of time, by hash
	nSeen, nTwo int
	since       int64
	double      bool
	skipped     uint64 // packets
	last        uint64 // frame of the last one
}

const (
	// mirrorBits is how many sources are told apart; behind that they share bits.
	mirrorBits = 1 << 12
	// mirrorEvery is how long a stretch is, in nanoseconds: some clients ask in it.
	mirrorEvery = 10e9
	// mirrorLeast is how many sources a judgement takes.
	mirrorLeast = 6
	// A capture is double where doubledShare percent of the sources have copies, and
	// until less than singleShare have.
	doubledShare, singleShare = 80, 40
)

// copied tells whether s is to be left out.
func (m *mirror) copied(s *track.Sighting) bool {
	if s.Age-m.since >= mirrorEvery {
		m.turn(s.Age)
	}
	h := s.ClientHash % mirrorBits // replies count with those who get them
	bit := uint64(1) << (h % 64)
	if m.seen[h/64]&bit == 0 {
		m.seen[h/64] |= bit
		m.nSeen++
	}
	if s.Flags&track.Copy == 0 {
		return false
	}
	if m.twice[h/64]&bit == 0 {
		m.twice[h/64] |= bit
		m.nTwo++
		if !m.double && m.nSeen >= mirrorLeast && m.nTwo*100 >= m.nSeen*doubledShare {
			m.double = true
		}
	}
	if m.double && s.Frame != m.last { // of a list of servers there is a sighting for each
		m.skipped, m.last = m.skipped+1, s.Frame
	}
	return m.double
}

// turn begins a new stretch of time.
func (m *mirror) turn(age int64) {
	if m.nSeen >= mirrorLeast {
		m.double = m.nTwo*100 >= m.nSeen*singleShare && (m.double || m.nTwo*100 >= m.nSeen*doubledShare)
	}
	clear(m.seen[:])
	clear(m.twice[:])
	m.nSeen, m.nTwo, m.since = 0, 0, age
}
