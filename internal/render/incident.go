package render

import (
	"qsniff/internal/flood"
	"qsniff/internal/render/tally"
)

// IncidentEvent is what happened to an incident, for a line among the messages: it was
// detected, changed, or is over. All of it is valid during the call only.
type IncidentEvent struct {
	Nanos int64 // Unix time of the packet, or of the clock, that decided it
	First int64 // Unix nanoseconds of the first packet of the run
	Hole  Hole  // set by the renderer
	Event flood.Event
	// Thread is what all events of one incident have in common, also among those of other runs;
	// empty: it is not shown.
	Thread string
	Run    *tally.Run // counters so far, valid as long as the event; nil: not known
	*flood.Incident
}

// IncidentRenderer is implemented by renderers that have a form for incidents.
type IncidentRenderer interface {
	AppendIncident(dst []byte, x *IncidentEvent) []byte
}
