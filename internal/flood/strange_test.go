package flood

import (
	"math"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// What no capture of ours shows, but some capture may: the detector goes on.
func TestStrange(t *testing.T) {
	s := func(what track.PacketType) track.Sighting {
		x := track.Sighting{What: what, Asks: dissect.AskInfo, Src: track.Host{10: 0xff, 11: 0xff, 12: 1}, Dst: track.Host{10: 0xff, 11: 0xff, 12: 2}, SrcPort: 1, DstPort: 2}
		x.FillHashes(seed)
		return x
	}
	tests := []struct {
		name string
		play func(d *Detector)
	}{
		{"nothing", func(d *Detector) { d.Tick(5e9, 5e9); d.Lost(1) }},
		{"a login of no protocol", func(d *Detector) {
			x, y := s(track.IsLogin), s(track.IsRejected)
			x.Nanos, y.Nanos = 1, 1
			y.Src, y.SrcPort, y.Dst, y.DstPort = x.Dst, x.DstPort, x.Src, x.SrcPort
			y.FillHashes(seed)
			for range 20 {
				d.Sight(&x)
				d.Sight(&y)
			}
		}},
		{"nothing of a packet but what it is", func(d *Detector) {
			for what := range track.NumPacketTypes {
				for range 50 {
					x := track.Sighting{What: what, Asks: dissect.AskInfo}
					x.FillHashes(seed)
					d.Sight(&x)
				}
			}
		}},
		{"times before 1970", func(d *Detector) {
			for i := range int64(100) {
				x := s(track.IsRequest)
				x.Age, x.Nanos = i*1e7, -1e9+i*1e7-1
				d.Sight(&x)
			}
		}},
		{"ages that go back", func(d *Detector) {
			for i := range int64(100) {
				x := s(track.IsRequest)
				x.Age = -i * 3600e9
				d.Sight(&x)
			}
		}},
		{"centuries", func(d *Detector) {
			for i := range int64(100) {
				for range 20 {
					x := s(track.IsRequest)
					x.Age, x.Nanos = i*math.MaxInt64/100, i*math.MaxInt64/100
					d.Sight(&x)
				}
			}
		}},
		{"the first packet is of the far past", func(d *Detector) {
			x := s(track.IsRequest)
			x.Age = math.MinInt64 / 4
			d.Sight(&x)
			x.Age = math.MaxInt64 / 4
			d.Sight(&x)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := newPromises(t, 1.0/64)
			tt.play(v.d)
			now := v.d.book.Now
			v.d.End(math.MaxInt64/2, math.MaxInt64/2)
			v.ended()
			if v.d.book.Now < now {
				t.Errorf("seconds go back\ngot  %d\nwant %d at least", v.d.book.Now, now)
			}
		})
	}
}

// An incident whose second at hand is empty starts with it, not in 1970.
func TestStartOfNothing(t *testing.T) {
	x := newWatched(seed)
	x.reset(track.End{}, 0, 100)
	at := dawn.UnixNano()
	b := &book{Clock: measure.Clock{Now: 100}, epoch: at - 99e9}
	s := &serverSecond{b, &x.Server, &x.features, x}
	c := &x.courses[ofQueries]
	if got := c.findStart(s, verdict{rate: 5}); got.Nanos != at || got.Sec != 100 {
		t.Errorf("got  second %d at %d\nwant second 100 at %d", got.Sec, got.Nanos, at)
	}
	x.OpenSecond(99, at-5e8).Queries = 7
	x.OpenSecond(100, at+1).Queries = 7
	if got := c.findStart(s, verdict{rate: 7}); got.Nanos != at-5e8 || got.Sec != 99 {
		t.Errorf("got  second %d at %d\nwant second 99 at %d", got.Sec, got.Nanos, int64(at-5e8))
	}
}

// A flood that stayed below every rate, and is over when it has added up, is no incident any
// more.
func TestNothingBeginsAfterItsEnd(t *testing.T) {
	const from = 130 * sec // the server's usual rate is known
	for n := time.Duration(66); n < 72; n++ {
		w := newWorld(1)
		s := w.server(usual, 27015)
		w.poisson(.05, 0, 300*sec, func() { w.visit(w.someone(), s, 1, 0, true) })
		invent(w, s, 10, from, from+n*sec)
		w.run(300 * sec)
		for _, x := range w.incidents {
			if x.Detected > dawn.Add(from+(n+1)*sec).UnixNano() || x.Requests == 0 {
				t.Errorf("of %d s\ngot  %s", n, x.line())
			}
		}
	}
}

// A clock that is set back in the middle of an attack does not turn times round.
func TestClockBackInAttack(t *testing.T) {
	for _, by := range []time.Duration{-30 * sec, -2 * time.Hour, 2 * time.Hour} {
		for _, at := range []time.Duration{1500 * time.Millisecond, 10 * sec, 25 * sec} {
			w := newWorld(1)
			w.steps = []step{{t0 + at, by}}
			s := w.server(usual, 27015)
			w.daily(s, 2, 170*sec)
			c := w.client(70_001)
			w.every(800, t0, t0+20*sec, func(int) { w.query(c, 57147, s, dissect.AskInfo, false) })
			w.run(170 * sec)
			for _, x := range w.incidents {
				if x.Start > x.Detected || x.Detected > x.End || x.Start == 0 {
					t.Errorf("%v after %v\ngot  %s\nwant start, detection and end in this order", by, at, x.line())
				}
			}
			if len(w.incidents) == 0 {
				t.Errorf("%v after %v\ngot  no incident\nwant one at least", by, at)
			}
		}
	}
}

// Ten seconds of 10 Gbit/s are more than 32 bits of bytes.
func TestManyBytes(t *testing.T) {
	const each = 10e9 / 8
	x := newWatched(seed)
	x.reset(track.End{}, 0, 1)
	for i := range int32(60) {
		b := x.OpenSecond(i+1, 0)
		b.BytesIn, b.BytesOut, b.JunkBytes = each, 2*each, 3*each
	}
	got := x.Sum(60, 60)
	if got.BytesIn != 60*each || got.BytesOut != 120*each || got.JunkBytes != 180*each {
		t.Errorf("got  %d, %d, %d\nwant %d, %d, %d", got.BytesIn, got.BytesOut, got.JunkBytes, uint64(60*each), uint64(120*each), uint64(180*each))
	}
	if got, want := bytesOf(12e9), "12000 MB"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
