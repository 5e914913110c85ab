package render

import "qsniff/flood"

// IncidentEvent is an event of an incident, among the messages: it was detected, changed,
// or is over. All of it is valid during the call only.
type IncidentEvent struct {
	Nanos int64 // time stamp of the packet, or of the passing of time, that decided
	First int64 // of the first packet
	Hole  Hole  // set by the renderer
	Event flood.Event
	*flood.Incident
}

// IncidentRenderer is a renderer that has a form for incidents.
type IncidentRenderer interface {
	AppendIncident(dst []byte, x *IncidentEvent) []byte
}
