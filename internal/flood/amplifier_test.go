package flood

import (
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/flood/measure"
	"qsniff/internal/track"
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

// TestOpenAmplifiers: the open servers of a network are one note with what all of them sent, and
// those of two networks are two. A note is over when no server joined for amplifiersQuiet.
func TestOpenAmplifiers(t *testing.T) {
	w := newWorld(1)
	ask := func(s *server, from time.Duration) {
		s.isOpen = func(dissect.Asked) bool { return true }
		for i := range 25 {
			pipeline(w, w.client(30_000+i), s, 300*time.Millisecond, from+time.Duration(i)*time.Millisecond, from+3*sec, dissect.AskInfo)
		}
	}
	for i := range 80 {
		ask(w.server(usual, uint16(27015+i)), time.Duration(i)*200*time.Millisecond)
	}
	ask(w.server("203.0.113.5", 27015), 0)
	ask(w.server(usual, 29000), 25*sec+amplifiersQuiet*sec)
	w.run(40*sec + amplifiersQuiet*sec)
	notes := slices.Clone(w.incidents)
	slices.SortFunc(notes, func(a, b *record) int { return b.Servers - a.Servers })
	if len(notes) != 3 || notes[1].Servers != 0 || notes[2].Servers != 0 {
		w.logIncidents(t)
		t.Fatalf("got  %d notes\nwant one of many servers and two of one", len(notes))
	}
	one, all := notes[1], notes[0]
	if all.Servers != 80 || len(all.Targets) != listedServers || all.Targets[0] != all.Target.End {
		t.Errorf("got  %d servers, %d listed\nwant 80, %d listed, the first of them its target", all.Servers, len(all.Targets), listedServers)
	}
	if all.Replies != 80*one.Replies || all.BytesIn != 80*one.BytesIn || all.BytesOut != 80*one.BytesOut || all.Amplification() != one.Amplification() {
		t.Errorf("got  %d replies, %d B for %d B\nwant 80 times %d, %d, %d", all.Replies, all.BytesOut, all.BytesIn, one.Replies, one.BytesOut, one.BytesIn)
	}
	if all.Sources != one.Sources {
		t.Errorf("got  %.0f sources\nwant those of one server, %.0f", all.Sources, one.Sources)
	}
	if all.Start >= all.Detected || all.End-all.Start < int64(15*sec) || all.End-all.Start > int64(18*sec) {
		t.Errorf("got  %v long\nwant from the first answer to the last server", time.Duration(all.End-all.Start))
	}
	for in, want := range map[*record]string{one: "open amplifier: it sent 6.80x the bytes that it got, in 100 answers",
		all: "80 open amplifiers: they sent 6.80x the bytes that they got, in 8,000 answers"} {
		if got := in.Evidence[0].Text; !strings.HasPrefix(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestOpenAmplifiersBound: no more than sharedNotes are open, nor does a note count more than
// amplifierServers.
func TestOpenAmplifiersBound(t *testing.T) {
	d := New(Defaults(), 1, nil)
	b := &d.book
	d.Sight(&track.Sighting{Age: 1, Nanos: 1})
	x := &plainAnswers{data: 100, bytesIn: 1, bytesOut: 10}
	join := func(network, server int) {
		end := track.EndOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(network), 1}), uint16(server)))
		s := new(measure.Server)
		s.End, s.Hash = end, uint64(server)+1
		n := b.findAmplifiers(s, nil)
		if n == nil {
			n = b.openAmplifiers(s, nil, 0)
		}
		n.add(b, s, x)
	}
	for i := range amplifierServers + 10 {
		join(0, i)
	}
	if in := b.amplifiers[0].in; in.Servers != amplifierServers || !in.MoreServers {
		t.Errorf("got  %d servers, more: %t\nwant %d and more", in.Servers, in.MoreServers, amplifierServers)
	}
	for i := range 2 * sharedNotes {
		join(i, 0)
	}
	if got := len(b.amplifiers); got != sharedNotes || b.open != sharedNotes {
		t.Errorf("got  %d notes, %d incidents open\nwant %d", got, b.open, sharedNotes)
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
