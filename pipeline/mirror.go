package pipeline

import "qsniff/track"

// mirror finds out whether the capture has every packet twice, as some mirror
// ports and bridges write it, and leaves out the copies if so. A sender that
// repeats itself is no sign of that: nearly all senders must.
type mirror struct {
	seen, twice   [mirrorBits / 64]uint64 // sources of this stretch of time, by hash
	nSeen, nTwice int
	since         int64
	isDouble      bool
	skipped       uint64 // packets
	last          uint64 // frame of the last one
}

const (
	// mirrorBits is how many sources are told apart; beyond that they share bits.
	mirrorBits = 1 << 12
	// mirrorEvery is how long a stretch is, in nanoseconds: some clients ask in it.
	mirrorEvery = 10e9
	// mirrorMinSources is how many sources a judgement takes.
	mirrorMinSources = 6
	// A capture is double where doubledShare percent of the sources have copies, and
	// until less than singleShare have.
	doubledShare, singleShare = 80, 40
)

// isCopy reports whether s is to be left out.
func (m *mirror) isCopy(s *track.Sighting) bool {
	if s.Age-m.since >= mirrorEvery {
		m.beginStretch(s.Age)
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
		m.nTwice++
		if !m.isDouble && m.nSeen >= mirrorMinSources && m.nTwice*100 >= m.nSeen*doubledShare {
			m.isDouble = true
		}
	}
	if m.isDouble && s.Frame != m.last { // of a list of servers there is a sighting for each
		m.skipped, m.last = m.skipped+1, s.Frame
	}
	return m.isDouble
}

// beginStretch begins a new stretch of time.
func (m *mirror) beginStretch(age int64) {
	if m.nSeen >= mirrorMinSources {
		m.isDouble = m.nTwice*100 >= m.nSeen*singleShare && (m.isDouble || m.nTwice*100 >= m.nSeen*doubledShare)
	}
	clear(m.seen[:])
	clear(m.twice[:])
	m.nSeen, m.nTwice, m.since = 0, 0, age
}
