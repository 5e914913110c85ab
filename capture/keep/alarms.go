package keep

import "sync/atomic"

// Alarms counts the incidents that ask for something. Whoever finds them calls Note from
// one goroutine; Tap reads the counts in another one.
type Alarms struct {
	open  map[uint64]bool // by ID; no more than the detector has open
	begun atomic.Uint64
	going atomic.Int64
	since atomic.Int64 // when the first of those began that are going on
}

// Begun is how many incidents have begun.
func (a *Alarms) Begun() uint64 { return a.begun.Load() }

// Note takes note of an incident that began at start, by its id: whether it goes on and
// asks for something. One that turns out harmless is over.
func (a *Alarms) Note(id uint64, start int64, asks bool) {
	switch {
	case asks && !a.open[id]:
		if a.open == nil {
			a.open = map[uint64]bool{}
		}
		if a.open[id] = true; len(a.open) == 1 || start < a.since.Load() {
			a.since.Store(start)
		}
		a.begun.Add(1)
	case !asks:
		delete(a.open, id)
	}
	a.going.Store(int64(len(a.open)))
}
