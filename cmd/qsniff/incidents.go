package main

import (
	"net/netip"

	"qsniff/flood"
	"qsniff/internal/hostset"
	"qsniff/report"
)

// tellOnly is what --servers does where messages are printed.
const tellOnly = "tell of floods at these targets only"

// besides is the share of the detector's tables where it works beside messages: floods
// has them all.
const besides = 1. / 4

// incidents finds incidents at those targets that --servers names.
type incidents struct {
	*flood.Detector
	own *hostset.Set // nil: all
}

// Announce calls found with what the detector announces of these targets.
func (i *incidents) Announce(found func(*report.Incident, report.Event)) {
	i.Detector.Announce(func(in *report.Incident, e report.Event) {
		if aimedAt(i.own, &in.Target) {
			found(in, e)
		}
	})
}

// aimedAt tells whether a target is one of those that --servers names.
func aimedAt(own *hostset.Set, t *flood.Target) bool {
	end := t.End
	if t.Prefix.IsValid() {
		end = netip.AddrPortFrom(t.Prefix.Addr(), 0)
	}
	return own.Has(end)
}
