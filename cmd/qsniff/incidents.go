package main

import (
	"qsniff/dissect"
	"qsniff/flood"
	"qsniff/flood/advice"
	"qsniff/internal/hostset"
)

// serversHelp is what --servers does where messages are printed.
const serversHelp = "tell of floods at these targets, and of scans, only"

// detectorShare is the share of the detector's tables where it works beside messages: floods
// has them all.
const detectorShare = 1. / 4

// newDetector returns a detector whose incidents have advice.
func newDetector(reg *dissect.Registry, limits flood.Thresholds, size float64) *flood.Detector {
	return flood.New(limits, size, advice.New(reg))
}

// incidents finds incidents at those targets that --servers names.
type incidents struct {
	*flood.Detector
	own *hostset.Set // nil: all
}

// Observe calls found with what is announced of incidents at these targets.
func (i *incidents) Observe(found func(*flood.Incident, flood.Event)) {
	i.Detector.AddObserver(flood.WarningsOnly(i.filter(found)))
}

// filter is an observer that calls found with the incidents at these targets.
func (i *incidents) filter(found func(*flood.Incident, flood.Event)) func(*flood.Incident, flood.Event) {
	return func(in *flood.Incident, e flood.Event) {
		if in.IsAt(i.own) {
			found(in, e)
		}
	}
}
