package flood

import (
	"testing"
)

// TestPulses: seconds of an attack add up over pauses, those of a crowd do not.
func TestPulses(t *testing.T) {
	const burst = 100
	type second struct {
		n      int // how many of them
		judged Kind
		rate   float64
	}
	pulse, calm, none := second{1, FloodSpoofed, 1000}, second{1, Crowd, 1000}, second{1, NoKind, 3}
	tail := func(k Kind) second { return second{1, k, 10} }
	for _, tt := range []struct {
		name    string
		seconds []second
		want    int // alerts
	}{
		{"twice", []second{pulse, {14, NoKind, 3}, pulse}, 2},
		{"the longest pause", []second{pulse, {59, NoKind, 3}, pulse}, 2},
		{"a longer one", []second{pulse, {60, NoKind, 3}, pulse}, 1},
		{"at burst_rate", []second{{1, FloodFew, 100}, {5, NoKind, 3}, {1, FloodFew, 100}}, 2},
		{"below it", []second{{1, FloodFew, 99}, {5, NoKind, 3}, {1, FloodFew, 99}}, 0},
		{"a pause is quiet", []second{pulse, {5, NoKind, 249}, pulse}, 2},
		{"and not only less", []second{pulse, none, {1, NoKind, 250}, pulse}, 1},
		{"loud and no attack", []second{pulse, none, calm, calm, none, pulse}, 1},
		{"a crowd as it turned out", []second{pulse, tail(Crowd), none, pulse}, 1},
		{"and each time", []second{pulse, tail(Crowd), none, pulse, tail(Poller)}, 0},
		{"an attack as it turned out", []second{calm, tail(FloodSpoofed), none, calm, tail(FloodSpoofed)}, 2},
		{"what the sketches hold later is no news", []second{pulse, none, tail(FloodSuspect), tail(Crowd), tail(FloodSpoofed), none, pulse}, 2},
		{"all seconds of a pulse", []second{pulse, pulse, none, pulse}, 3},
	} {
		var p pulses
		now := int32(100)
		for _, x := range tt.seconds {
			for range x.n {
				p.add(verdict{judged: x.judged, kind: x.judged, rate: x.rate}, now, burst)
				now++
			}
		}
		if p.alerts != tt.want {
			t.Errorf("%s\ngot  %d alerts\nwant %d", tt.name, p.alerts, tt.want)
		}
	}
}

// TestWaitingServerIsEvicted: a server whose incident waits for a pulse makes room for a busier
// one, and the incident ends; one with a flood that goes on does not.
func TestWaitingServerIsEvicted(t *testing.T) {
	for _, goesOn := range []bool{false, true} {
		w := newWorld(1)
		w.d = New(Defaults(), 0.01, nil)
		w.d.AddObserver(w.found)
		w.d.servers.maxHeavy = 1
		s, o := w.server(usual, 27015), w.server("198.51.100.18", 27015)
		invent(w, s, 1000, 60*sec, 65*sec)
		if goesOn {
			invent(w, s, 1000, 65*sec, 160*sec)
		}
		invent(w, o, 20, 150*sec, 160*sec)
		w.run(160 * sec)
		isWatched := w.d.servers.find(&o.host, o.port) != nil
		ended := w.incidents[0].End != 0
		if isWatched == goesOn || ended == goesOn {
			t.Errorf("a flood goes on: %t\ngot  the other server watched: %t, the incident ended: %t", goesOn, isWatched, ended)
			w.logIncidents(t)
		}
	}
}
