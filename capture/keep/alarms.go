package keep

import "sync/atomic"

// Alarms counts the incidents that need attention. What detects incidents calls Note in
// one goroutine; Tap reads the counts in another one.
type Alarms struct {
	open  map[uint64]bool // by ID; no more than the detector has open
	begun atomic.Uint64
	going atomic.Int64
	since atomic.Int64 // when the first of the open ones began, packet time in nanoseconds
}

// Begun returns how many incidents have begun.
func (a *Alarms) Begun() uint64 { return a.begun.Load() }

// Note records the state of an incident, which began at start: alarming reports whether
// it goes on and needs attention. One that turns out harmless counts as over.
func (a *Alarms) Note(id uint64, start int64, alarming bool) {
	switch {
	case alarming && !a.open[id]:
		if a.open == nil {
			a.open = map[uint64]bool{}
		}
		if a.open[id] = true; len(a.open) == 1 || start < a.since.Load() {
			a.since.Store(start)
		}
		a.begun.Add(1)
	case !alarming:
		delete(a.open, id)
	}
	a.going.Store(int64(len(a.open)))
}
