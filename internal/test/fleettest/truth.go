package fleettest

import (
	"qsniff/internal/fleet"
	"qsniff/internal/track"
)

// Truth counts exactly what the fleet estimates.
type Truth struct{ windows map[int64]*truth }

// truth is that of a window.
type truth struct {
	sources map[track.Host]struct{}
	sites   map[[2]byte]struct{}
	queries uint64
}

// add counts who sent a query. A request that brings a challenge back is the end of an exchange.
func (x *Truth) add(s *track.Sighting) {
	if s.What != track.IsRequest || s.Flags&track.HasKey != 0 {
		return
	}
	end := (s.Nanos/int64(fleet.Period) + 1) * int64(fleet.Period)
	w := x.windows[end]
	if w == nil {
		w = &truth{sources: map[track.Host]struct{}{}, sites: map[[2]byte]struct{}{}}
		x.windows[end] = w
	}
	w.queries++
	w.sources[s.Src] = struct{}{}
	w.sites[[2]byte(s.Src[12:14])] = struct{}{}
}

// Sources returns how many hosts sent queries to any server in the window that ends at a time, and in
// how many networks these are.
func (x *Truth) Sources(end int64) (hosts, sites int) {
	if w := x.windows[end]; w != nil {
		return len(w.sources), len(w.sites)
	}
	return 0, 0
}

// Queries returns how many there were in that window.
func (x *Truth) Queries(end int64) uint64 {
	if w := x.windows[end]; w != nil {
		return w.queries
	}
	return 0
}
