package main

import (
	"sync/atomic"

	"qsniff/report"
)

// alarms counts the incidents that ask for something, for whoever keeps packets in
// another goroutine.
type alarms struct {
	incidents
	open  map[uint64]bool // by ID; no more than the detector has open
	begun atomic.Uint64
	going atomic.Int64
	since atomic.Int64                         // when the first of those began that are going on
	tell  func(*report.Incident, report.Event) // nil: the output tells
}

// Announce calls found with what is announced.
func (a *alarms) Announce(found func(*report.Incident, report.Event)) {
	a.incidents.Announce(func(in *report.Incident, e report.Event) {
		if a.tell != nil {
			a.tell(in, e)
		}
		found(in, e)
	})
	announce := a.Found
	a.Found = func(in *report.Incident, e report.Event) {
		if concerns(a.own, in) {
			a.note(in, e)
		}
		announce(in, e)
	}
}

// note keeps the counts. An incident that turns out harmless is over.
func (a *alarms) note(in *report.Incident, e report.Event) {
	switch is := e != report.Ends && in.Level >= report.Warn; {
	case is && !a.open[in.ID]:
		if a.open[in.ID] = true; len(a.open) == 1 || in.Start < a.since.Load() {
			a.since.Store(in.Start)
		}
		a.begun.Add(1)
	case !is:
		delete(a.open, in.ID)
	}
	a.going.Store(int64(len(a.open)))
}
