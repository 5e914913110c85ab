package flood

import (
	"testing"

	"qsniff/flood/measure"
	"qsniff/track"
)

// A source that brings its challenge back counts for as much then as it did when it
// was challenged, whatever share of the sources is followed by now.
func TestClaimWeight(t *testing.T) {
	for _, tt := range []struct{ before, after uint8 }{{0, 0}, {0, 3}, {3, 0}, {2, 3}} {
		w := newWorld(1)
		s := w.server(usual, 27015)
		// A source that is followed at both levels, at a target that is watched.
		var c client
		for n := 0; ; n++ {
			if c = w.client(n); c.host.Hash(seed)>>32&7 == 0 {
				break
			}
		}
		busy := w.client(100_000)
		for range promoteSecond {
			w.query(busy, 1, s, 1, false)
		}
		target := w.d.servers.find(track.End{Host: s.host, Port: s.port})
		if target == nil {
			t.Fatal("the target is not watched")
		}
		*target.OpenSecond(1, 0) = measure.Second{Sec: 1}
		w.d.claims.SampleLevel = tt.before
		q := request{from: c.host, port: 2, ttl: c.ttl, asks: 1}
		s.take(q, nil)
		s.reply(q, true)
		w.d.claims.SampleLevel = tt.after
		q.key = s.key(c.host)
		s.take(q, nil)
		b := target.At(1)
		if want := uint32(1) << tt.before; b.Challenged != want || b.Echoed != want || b.Unproven != want || b.ProvenLater != want {
			t.Errorf("level %d, then %d\ngot  %d challenged, %d echoed, %d unproven, %d credited\nwant %d of each",
				tt.before, tt.after, b.Challenged, b.Echoed, b.Unproven, b.ProvenLater, want)
		}
	}
}

// However many sources are invented, about measure.ClaimsEach are followed in a second, and
// all of them again when it is over.
func TestClaimLevel(t *testing.T) {
	w := newWorld(1)
	s := w.server(usual, 27015)
	level := uint8(0)
	for second := range int64(20) {
		for range 100_000 {
			x := track.Sighting{What: track.IsRequest, Age: second * 1e9, Src: w.anywhere(), Dst: s.host, DstPort: s.port, Asks: 1, Bytes: 25}
			x.FillHashes(seed)
			w.d.Sight(&x)
		}
	}
	level = w.d.claims.SampleLevel
	if got := 100_000 >> level; got > measure.ClaimsEach || got < measure.ClaimsEach/3 {
		t.Errorf("at 100,000 sources a second\ngot  %d followed\nwant %d at most, a third of that at least", got, measure.ClaimsEach)
	}
	w.d.Tick(60e9, 60e9)
	if got := w.d.claims.SampleLevel; got != 0 {
		t.Errorf("after the attack one source in 2^n is followed\ngot  n = %d\nwant 0", got)
	}
}
