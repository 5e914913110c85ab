package flood

import (
	"math"
	"slices"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/flood/measure"
)

// pipeline has a client ask for some things at once, gap apart, without waiting for answers,
// and bring each challenge back as soon as it comes.
func pipeline(w *world, c client, s *server, gap, from, to time.Duration, asks ...dissect.Asked) {
	port := w.port()
	w.every(float64(time.Second)/float64(gap), from, to, func(i int) { w.query(c, port, s, asks[i%len(asks)], true) })
}

// TestOpenAmplifier: a server is judged by what it answers without a challenge, whatever its
// clients send before the answers come.
func TestOpenAmplifier(t *testing.T) {
	only := func(asks dissect.Asked) func(dissect.Asked) bool {
		return func(a dissect.Asked) bool { return a == asks }
	}
	for _, tt := range []struct {
		name    string
		clients int
		gap     time.Duration
		asks    []dissect.Asked
		open    func(dissect.Asked) bool // what is answered without a challenge; nil: nothing
		want    float64                  // the factor; 0: it is none
	}{
		{"busy clients of a server that challenges", 100, 40 * time.Millisecond, []dissect.Asked{dissect.AskInfo}, nil, 0},
		{"the same, of all that can be asked", 100, 40 * time.Millisecond, three, nil, 0},
		{"an open server", 200, 300 * time.Millisecond, []dissect.Asked{dissect.AskInfo}, only(dissect.AskInfo), 170. / 25},
		{"with busy clients", 100, 40 * time.Millisecond, []dissect.Asked{dissect.AskInfo}, only(dissect.AskInfo), 170. / 25},
		{"for information alone", 200, 600 * time.Millisecond, three, only(dissect.AskInfo), 170. / 25},
		{"for players alone", 200, 600 * time.Millisecond, three, only(dissect.AskPlayers), 520. / 9},
		{"too few clients to know", openClients * 3 / 4, 100 * time.Millisecond, []dissect.Asked{dissect.AskInfo}, only(dissect.AskInfo), 0},
		{"just enough", openClients, 100 * time.Millisecond, []dissect.Asked{dissect.AskInfo}, only(dissect.AskInfo), 170. / 25},
	} {
		w := newWorld(1)
		s := w.server(usual, 27015)
		s.isOpen, s.delay = tt.open, 20*time.Millisecond // once a tick
		for i := range tt.clients {
			pipeline(w, w.client(30_000+i), s, tt.gap, time.Duration(i)*time.Millisecond, 5*sec, tt.asks...)
		}
		w.run(5 * sec)
		i := slices.IndexFunc(w.incidents, func(x *record) bool { return x.Kind == OpenAmplifier })
		got := 0.0
		if i >= 0 {
			got = w.incidents[i].Amplification()
		}
		if math.Abs(got-tt.want) > 0.01*tt.want {
			t.Errorf("%s\ngot  a factor of %.1f\nwant %.1f", tt.name, got, tt.want)
			w.logIncidents(t)
		}
	}
}

// TestIsOpen holds each limit.
func TestIsOpen(t *testing.T) {
	lim := Defaults()
	for _, tt := range []struct {
		data, challenges, clients int
		gain                      uint64
		want                      bool
	}{{100, 100, 20, 2, true}, {99, 0, 20, 2, false}, {100, 101, 20, 2, false}, {100, 0, 19, 2, false}, {100, 0, 20, 1, false}} {
		p := plainAnswers{data: uint32(tt.data), challenges: uint32(tt.challenges), bytesIn: 1000, bytesOut: 1000 * tt.gain}
		for n := uint64(0); p.clients.Count() < tt.clients; n++ {
			p.clients.Add(measure.Key(1).HashPort(uint16(n)))
		}
		if got := p.isOpen(&lim); got != tt.want {
			t.Errorf("%+v\ngot  %t", tt, got)
		}
	}
}

// TestGated: what a server gives for a challenge only shows in what became of requests without
// one, the flood's own among them.
func TestGated(t *testing.T) {
	for _, tt := range []struct {
		name string
		open bool // it answers A2S_INFO without a challenge
		want dissect.Asked
	}{
		{"a server that challenges", false, dissect.AskInfo | dissect.AskPlayers | dissect.AskRules},
		{"one that does so for lists only", true, dissect.AskPlayers | dissect.AskRules},
	} {
		w := newWorld(1)
		s := w.server(usual, 27015)
		if tt.open {
			s.isOpen = func(a dissect.Asked) bool { return a == dissect.AskInfo }
		}
		w.daily(s, 10, 60*sec)
		w.every(2000, 50*sec, 60*sec, func(int) {
			s.take(request{from: w.anywhere(), port: w.port(), ttl: 57, asks: dissect.AskRules}, nil)
		})
		w.run(60 * sec)
		i := slices.IndexFunc(w.incidents, func(x *record) bool { return x.Kind == FloodSpoofed })
		if i < 0 {
			t.Errorf("%s: no flood", tt.name)
			w.logIncidents(t)
			continue
		}
		if got := w.incidents[i].Gated; got != tt.want {
			t.Errorf("%s: gated is %b, want %b", tt.name, got, tt.want)
		}
	}
}
