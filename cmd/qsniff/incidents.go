package main

import (
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/hostset"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
)

// serversHelp is the help of --servers in commands that print messages.
const serversHelp = "report floods at these targets, and scans, only"

// detectorShare is the size of the detector's tables in commands that print messages, as a
// share of their size in floods. Chosen: the tables for messages need memory there, too.
const detectorShare = 1. / 4

// newDetector returns a detector whose incidents have advice, with rules that match until expiry
// after they were loaded. own are one's own tools.
func newDetector(reg *dissect.Registry, limits flood.Thresholds, size float64, expiry time.Duration, own *hostset.Networks) *flood.Detector {
	d := flood.New(limits, size, advice.New(reg, expiry))
	d.SetOwn(own)
	d.Know(reg.ServerPorts(), reg.ForeignTypes())
	return d
}

// incidents is a detector that reports incidents only at the targets that --servers names.
type incidents struct {
	*flood.Detector
	ownServers *hostset.Set // nil: all
}

// Observe makes the detector call found with announced events of incidents at these
// targets.
func (i *incidents) Observe(found func(*flood.Incident, flood.Event)) {
	i.Detector.AddObserver(flood.WarningsOnly(i.filter(found)))
}

// filter returns an observer that calls found with the incidents at these targets.
func (i *incidents) filter(found func(*flood.Incident, flood.Event)) func(*flood.Incident, flood.Event) {
	return func(in *flood.Incident, e flood.Event) {
		if in.IsAt(i.ownServers) {
			found(in, e)
		}
	}
}
