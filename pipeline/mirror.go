package pipeline

import "qsniff/track"

// mirror finds out whether the capture has every packet twice, as some mirror
// ports and bridges write it, so that watchers do not get the copies. Copies from one
// sender are no sign of that, because it may repeat itself: nearly all senders must have
// copies.
type mirror struct {
	seen, twice   [mirrorBits / 64]uint64 // bit sets of clients in this stretch of time, by hash: all, and those with copies
	nSeen, nTwice int
	since         int64
	isDouble      bool
	skipped       uint64 // packets that watchers did not get
	last          uint64 // frame of the last one
}

const (
	// mirrorBits is how many clients can be counted (chosen); more share bits.
	mirrorBits = 1 << 12
	// mirrorEvery is how long a stretch is, in nanoseconds of packet time. Chosen:
	// several clients ask a server in it.
	mirrorEvery = 10e9
	// mirrorMinSources is how many clients a decision takes (chosen).
	mirrorMinSources = 6
	// A capture is taken as doubled if doubledShare percent of the clients have copies,
	// and until less than singleShare have (chosen).
	doubledShare, singleShare = 80, 40
)

// isCopy counts the client of s, and reports whether s is of a doubled capture, so that
// watchers do not get it.
func (m *mirror) isCopy(s *track.Sighting) bool {
	if s.Age-m.since >= mirrorEvery {
		m.beginStretch(s.Age)
	}
	h := s.ClientHash % mirrorBits // replies count for the client that gets them
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
		m.nTwice++
		if !m.isDouble && m.nSeen >= mirrorMinSources && m.nTwice*100 >= m.nSeen*doubledShare {
			m.isDouble = true
		}
	}
	if m.isDouble && s.Frame != m.last { // of a packet in a tunnel there are two sightings
		m.skipped, m.last = m.skipped+1, s.Frame
	}
	return m.isDouble
}

// beginStretch decides by the stretch of time that is over whether the capture is doubled,
// and begins a new one at age.
func (m *mirror) beginStretch(age int64) {
	if m.nSeen >= mirrorMinSources {
		m.isDouble = m.nTwice*100 >= m.nSeen*singleShare && (m.isDouble || m.nTwice*100 >= m.nSeen*doubledShare)
	}
	clear(m.seen[:])
	clear(m.twice[:])
	m.nSeen, m.nTwice, m.since = 0, 0, age
}
