package monitor

import (
	"slices"

	"qsniff/internal/flood"
)

// Incidents counts incidents by kind and level: those that are open, and those that ended.
type Incidents [flood.NumKinds][flood.Alert + 1]struct{ Open, Ended uint64 }

// incidentBook counts incidents as they go on. One that changes its kind is counted as what it
// is at last.
type incidentBook struct {
	Incidents
	open []openIncident
}

type openIncident struct {
	id    uint64
	kind  flood.Kind
	level flood.Level
}

// AddIncident notes an event of an incident. It is an observer of a flood.Detector.
func (m *Meter) AddIncident(in *flood.Incident, e flood.Event) {
	b := &m.incidents
	i := slices.IndexFunc(b.open, func(x openIncident) bool { return x.id == in.ID })
	if i >= 0 {
		b.Incidents[b.open[i].kind][b.open[i].level].Open--
		b.open = slices.Delete(b.open, i, i+1)
	}
	x := &b.Incidents[in.Kind][in.Level]
	switch {
	case e == flood.Ends:
		x.Ended++
	case len(b.open) < openIncidents:
		x.Open++
		b.open = append(b.open, openIncident{in.ID, in.Kind, in.Level})
	}
}
