package measure

import (
	"testing"

	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// TestPaneReset: a pane is empty after a reset, whatever was counted in it, alone or with others.
func TestPaneReset(t *testing.T) {
	s := &track.Sighting{Src: track.Host{10: 0xff, 0xff, 10, 0, 0, 1}, SrcPort: 53, TTL: 7, Print: 3}
	s.Dst = s.Src
	s.FillHashes(1)
	c := Clock{Now: 5, Nanos: 5e9}
	count := []func(*Server){
		func(x *Server) { x.countQuery(s, c, x.OpenSecond(5, 5e9), true) },
		func(x *Server) { x.countGuess(s, c) },
		func(x *Server) { x.countMaybeGuess(s) },
		func(x *Server) { x.recordRefusal(s, 5, 5, true) },
		func(x *Server) { x.CountJunk(s, c) },
		func(x *Server) { x.CountStrange(s, c) },
	}
	x := &Server{}
	x.Init(1)
	for set := range 1 << len(count) {
		x.Reset(s.From(), 1, 5)
		for i, f := range count {
			if set>>i&1 != 0 {
				f(x)
			}
		}
		p := x.currentPane()
		if set != 0 && p.isUsed == ([numSorts]bool{}) {
			t.Errorf("set %b: nothing was counted", set)
		}
		p.reset(9)
		if !isEmpty(p) || p.start != 9 {
			t.Errorf("set %b: the pane is not empty", set)
		}
	}
}

// isEmpty reports whether a pane shows nothing.
func isEmpty(p *pane) bool {
	n := 0
	for i := range p.top {
		p.top[i].Each(func(*sketch.Item[track.Host, Activity], uint32, uint32) { n++ })
		if p.sources[i] != (sketch.Distinct{}) || p.top[i].MaxAbsent() != 0 {
			n++
		}
	}
	p.prefixes.Each(func(*sketch.Item[track.Host, Neighbours], uint32, uint32) { n++ })
	return n == 0 && p.isUsed == [numSorts]bool{} && p.sites == (sketch.Distinct{}) && p.prefixes.MaxAbsent() == 0 && p.ttls == [256]uint32{} &&
		p.ports == (sketch.Dominant{}) && p.prints == (sketch.Dominant{}) &&
		p.queries|p.busiest|p.lowPorts|p.impossible|p.local == 0
}
