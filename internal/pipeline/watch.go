package pipeline

import (
	"slices"

	"qsniff/internal/flood"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/track"
)

// watching passes the sightings of a run to the watchers, and writes the incidents that
// they find.
type watching struct {
	out       *textOutput
	watchers  []track.Watcher
	foreseers []track.Foreseer        // of them
	announcer render.IncidentRenderer // nil: incidents are not shown
	profiles  []track.Profile         // of the segment at hand
	lists     [][]uint64              // likewise
	doubt     doubt
	last      sight  // kind and time of the last sight that watchers got
	requests  int    // that the watchers got
	dropped   uint64 // packets that the capturing program dropped, as reported to watchers
	event     render.IncidentEvent
	chooser   *chooser // of incidents that are written; nil: all
	hold      *hold    // nil: nothing is held
}

// showSights passes the sights of a segment from next on, at least one, to the watchers, up
// to those of the item with index limit. It returns the position of the next one.
func (w *watching) showSights(seg *segment, next int, limit int32) int {
	list := seg.sights
	w.profiles, w.lists = seg.profiles, seg.lists
	for first := next; next < len(list); next++ {
		x := &list[next]
		if next > first && x.index > limit {
			break
		}
		if next+foreseen < len(list) {
			w.foresee(&list[next+foreseen])
		}
		w.tellWatchers(x)
	}
	return next
}

// foreseen is how many sights ahead watchers are told what comes. Chosen by measurement: what memory
// takes is over by then, and what was fetched is still in the cache.
const foreseen = 3

// foresee tells watchers what comes.
func (w *watching) foresee(x *sight) {
	if x.kind != sawPacket {
		return
	}
	for _, to := range w.foreseers {
		to.Foresee(&x.Sighting)
	}
}

// foreseersOf returns those watchers that want to know what comes.
func foreseersOf(watchers []track.Watcher) (all []track.Foreseer) {
	for _, w := range watchers {
		if f, ok := w.(track.Foreseer); ok {
			all = append(all, f)
		}
	}
	return all
}

// tellProfile passes what a server reports of itself in the packet of x to the watchers that
// want it.
func (w *watching) tellProfile(x *sight) {
	for _, to := range w.watchers {
		if to, ok := to.(track.ProfileWatcher); ok {
			to.AddProfile(&x.Sighting, &w.profiles[x.post-1])
		}
	}
}

// tellListed passes the servers that the packet of x lists to the watchers that want them.
func (w *watching) tellListed(x *sight) {
	for _, to := range w.watchers {
		if to, ok := to.(track.ListWatcher); ok {
			to.AddListed(&x.Sighting, w.lists[x.list-1])
		}
	}
}

// wantsProfiles reports whether any watcher is a track.ProfileWatcher.
func wantsProfiles(watchers []track.Watcher) bool {
	return slices.ContainsFunc(watchers, func(w track.Watcher) bool {
		_, ok := w.(track.ProfileWatcher)
		return ok
	})
}

// tellWatchers calls the method of the watchers for a sight.
func (w *watching) tellWatchers(x *sight) {
	w.last.kind, w.last.Age, w.last.Nanos = x.kind, x.Age, x.Nanos
	switch x.kind {
	case sawPacket:
		w.doubt.resolve(&x.Sighting)
		if x.isUnmatched {
			return
		}
		if x.What == track.IsRequest {
			w.requests++
		}
		for _, to := range w.watchers {
			to.Sight(&x.Sighting)
		}
		if x.post > 0 {
			w.tellProfile(x)
		}
		if x.list > 0 {
			w.tellListed(x)
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

// tellDropped reports to the watchers how many packets the capturing program has dropped
// since the last call; dropped is the number in all.
func (w *watching) tellDropped(dropped uint64) {
	if dropped <= w.dropped {
		return
	}
	for _, to := range w.watchers {
		to.Lost(dropped - w.dropped)
	}
	w.dropped = dropped
}

// endEarly reports the end to the watchers if the run was interrupted or failed, with
// error err, before the end of the capture, so that they report the open incidents. It
// returns err, or the error of writing these.
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
	if !w.chooser.chooseIncident(x) {
		return
	}
	if w.hold != nil && !w.hold.isEmpty() {
		s := span{nanos: x.Nanos, post: -1, truth: filter.All}
		w.hold.addRecord(s, nil, func(dst []byte) ([]byte, render.Hole) {
			dst = w.announcer.AppendIncident(dst, x)
			return dst, x.Hole
		})
		return
	}
	o.buf = w.announcer.AppendIncident(o.buf, x)
	if x.Hole.IsSet {
		o.fillHole(x.Hole.At, x.Hole.Width, x.Nanos)
	}
}
