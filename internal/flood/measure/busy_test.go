package measure

import (
	"math/rand/v2"
	"slices"
	"testing"

	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

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
