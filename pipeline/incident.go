package pipeline

import (
	"qsniff/flood"
	"qsniff/render"
)

// incident writes an event of an incident behind what is written of the packet, or
// the tick, that decided it.
func (f *fold) incident(in *flood.Incident, e flood.Event) {
	if f.announces == nil {
		return
	}
	x := &f.event
	*x = render.Incident{Nanos: f.sighted, First: f.start, Event: e, Incident: in}
	f.buf = f.announces.AppendIncident(f.buf, x)
	if x.Hole.Open {
		f.fill(x.Hole.At, x.Hole.Width, x.Nanos)
	}
}
