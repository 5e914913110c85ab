package main

import (
	"qsniff/dissect"
	"qsniff/flood"
	"qsniff/flood/advice"
	"qsniff/internal/hostset"
)

// tellOnly is what --servers does where messages are printed.
const tellOnly = "tell of floods at these targets, and of scans, only"

// besides is the share of the detector's tables where it works beside messages: floods
// has them all.
const besides = 1. / 4

// newDetector returns a detector whose incidents have advice.
func newDetector(reg *dissect.Registry, limits flood.Thresholds, size float64) *flood.Detector {
	d := flood.New(limits, size, advice.New(reg))
	d.Know(reg.ServerPorts(), reg.ForeignTypes())
	return d
}

// incidents finds incidents at those targets that --servers names.
type incidents struct {
	*flood.Detector
	own *hostset.Set // nil: all
}

// Observe calls found with what is announced of incidents at these targets.
func (i *incidents) Observe(found func(*flood.Incident, flood.Event)) {
	i.Detector.Observe(flood.Announced(i.ours(found)))
}

// ours is an observer that calls found with the incidents at these targets.
func (i *incidents) ours(found func(*flood.Incident, flood.Event)) func(*flood.Incident, flood.Event) {
	return func(in *flood.Incident, e flood.Event) {
		if concerns(i.own, in) {
			found(in, e)
		}
	}
}

// concerns reports whether an incident is at one of those that --servers names. A scan
// has many targets, and any may be among them.
func concerns(own *hostset.Set, in *flood.Incident) bool {
	switch t := &in.Target; {
	case in.Kind == flood.Scan:
		return true
	case t.End.Port() == 0: // who gets replies is a host
		return own.HasHost(t.End.Addr())
	default:
		return own.Has(t.End)
	}
}
