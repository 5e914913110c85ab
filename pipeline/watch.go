package pipeline

import (
	"qsniff/flood"
	"qsniff/render"
	"qsniff/track"
)

// watching gives the sightings of a run to the watchers, and writes what they say.
type watching struct {
	out       *textOutput
	watchers  []track.Watcher
	announcer render.IncidentRenderer // nil: nobody shows incidents
	mirror    mirror
	doubt     doubt
	last      sight  // when watchers were told something last
	dropped   uint64 // packets that they know the capturing program lost
	event     render.IncidentEvent
}

// showSights gives the watchers the sightings of list from next on, up to the index limit, but
// one in any case. It returns where the next one is.
func (w *watching) showSights(list []sight, next int, limit int32) int {
	for first := next; next < len(list); next++ {
		x := &list[next]
		if next > first && x.index > limit {
			break
		}
		w.tellWatchers(x)
	}
	return next
}

func (w *watching) tellWatchers(x *sight) {
	w.last.kind, w.last.Age, w.last.Nanos = x.kind, x.Age, x.Nanos
	switch x.kind {
	case sawPacket:
		if w.mirror.isCopy(&x.Sighting) {
			return
		}
		w.doubt.resolve(&x.Sighting)
		for _, to := range w.watchers {
			to.Sight(&x.Sighting)
		}
	case sawTick:
		for _, to := range w.watchers {
			to.Tick(x.Age, x.Nanos)
		}
	case sawLoss:
		for _, to := range w.watchers {
			to.Lost(1)
		}
	case sawEnd:
		for _, to := range w.watchers {
			to.End(x.Age, x.Nanos)
		}
	}
}

// tellDropped tells the watchers how many packets the capturing program lost besides
// those that they know of.
func (w *watching) tellDropped(dropped uint64) {
	if dropped <= w.dropped {
		return
	}
	for _, to := range w.watchers {
		to.Lost(dropped - w.dropped)
	}
	w.dropped = dropped
}

// endEarly tells the watchers that no packet follows where the run was interrupted or
// failed: what is open then is told of as well. It returns err, or that of writing
// what they say.
func (w *watching) endEarly(err error) error {
	if err == nil || w.out.failed != nil || w.last.kind == sawEnd || w.last.Age == 0 {
		return err
	}
	x := w.last
	x.kind = sawEnd
	w.tellWatchers(&x)
	if wrong := w.out.flush(); wrong != nil {
		return wrong
	}
	return err
}

// announce writes an event of an incident after what is written of the packet, or
// the tick, that decided it.
func (w *watching) announce(in *flood.Incident, e flood.Event) {
	if w.announcer == nil {
		return
	}
	x, o := &w.event, w.out
	*x = render.IncidentEvent{Nanos: w.last.Nanos, First: o.start, Event: e, Incident: in}
	o.buf = w.announcer.AppendIncident(o.buf, x)
	if x.Hole.IsSet {
		o.fillHole(x.Hole.At, x.Hole.Width, x.Nanos)
	}
}
