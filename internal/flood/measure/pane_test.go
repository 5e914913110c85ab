package measure

import (
	"math/rand/v2"
	"slices"
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

// TestBusiestOfTwoPanes: what a source did in both panes is compared with its queries in both.
func TestBusiestOfTwoPanes(t *testing.T) {
	var panes [2]*Top
	s := track.Sighting{Src: track.Host{15: 1}, Bytes: 25}
	for i := range panes {
		panes[i] = sketch.NewTop[track.Host, Activity](8)
		for n := range 40 { // two clients at one address, by turns; the last of the pane before had proved it
			v := panes[i].Add(&s.Src, 1)
			s.TTL = uint8(50 + n%2)
			v.addQuery(&s, Key(1).HashPort(uint16(n)), int32(10*(2-i)+n/10), i == 1)
		}
	}
	x := mergeBusiest(nil, panes[0], panes[1])[0]
	if x.Low != 80 || x.Activity.ttlChanges != 78 || !x.Activity.Proven || x.Activity.bytesIn != 80*25 || x.Activity.First != 10 {
		t.Errorf("got  %d queries, %d changes of TTL, proven %t, %d bytes, since %d\nwant 80, 78, true, 2000, 10",
			x.Low, x.Activity.ttlChanges, x.Activity.Proven, x.Activity.bytesIn, x.Activity.First)
	}
}

// TestLeading: the sources that lead are the first ones of the list, whatever order they come
// in and however many there are.
func TestLeading(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 7, 8, 16, 17, 300} {
		panes := [2]*Top{sketch.NewTop[track.Host, Activity](512), sketch.NewTop[track.Host, Activity](512)}
		for range 20 * n {
			src := track.Host{15: byte(r.IntN(n)), 14: byte(r.IntN(n) >> 8)}
			panes[r.IntN(2)].Add(&src, src.Hash(1))
		}
		var c crowd
		eachBusy(panes[0], panes[1], func(x BusyHost) { c.keepLeading(&x) })
		list := mergeBusiest(nil, panes[0], panes[1])
		if want := list[:min(len(list), len(c.leading))]; !slices.Equal(c.leading[:c.numLeading], want) {
			t.Errorf("of %d\ngot  %v\nwant %v", n, c.leading[:c.numLeading], want)
		}
	}
}

// TestFillAlien: a server on the public network that got one query from an address nobody has takes private ones for
// forged as well; one that got none is asked from a network beside it.
func TestFillAlien(t *testing.T) {
	public, private := track.Host{10: 0xff, 11: 0xff, 12: 9, 15: 9}, track.Host{10: 0xff, 11: 0xff, 12: 10, 15: 9}
	for _, tt := range []struct {
		server *track.Host
		alien  uint64
		want   float64
	}{{&public, 0, 0}, {&public, 1, 0.06}, {&private, 1, 0.01}} {
		var f Features
		x := Stretch{Queries: 100, alien: tt.alien, local: 5}
		if x.Fill(&f, tt.server); f[Alien] != tt.want {
			t.Errorf("%v, %d alien\ngot  %v\nwant %v", tt.server, tt.alien, f[Alien], tt.want)
		}
	}
}
