package flood

import (
	"math"
	"slices"
	"testing"
	"time"
)

// ports returns n servers of a host.
func (w *world) ports(addr string, n int, until time.Duration) []*server {
	var all []*server
	for i := range n {
		s := w.server(addr, uint16(27015+i))
		w.poisson(.1, 0, until, func() { w.visit(w.someone(), s, 1, 0, true) })
		all = append(all, s)
	}
	return all
}

// One service that polls servers with different ports, on several hosts, is one note with
// what all of them got.
func TestSharedNote(t *testing.T) {
	w := newWorld(1)
	all := slices.Concat(w.ports(usual, 12, 120*sec), w.ports("203.0.113.5", 12, 120*sec))
	poll(w, all, 60, 1, true, t0, 100*sec)
	w.run(240 * sec)
	if len(w.incidents) != 1 {
		w.logIncidents(t)
		t.Fatalf("got  %d incidents\nwant one", len(w.incidents))
	}
	in := w.incidents[0]
	if in.level != Info || in.Servers != len(all) || len(in.Targets) != len(all) {
		t.Errorf("got  level %v, %d servers, %d listed\nwant a note with %d", in.level, in.Servers, len(in.Targets), len(all))
	}
	for _, x := range []struct {
		name      string
		got, want float64
	}{
		{"requests", float64(in.Requests), 24 * 60 * 40},
		{"peak", in.Peak, 24 * 60},
		{"mean", in.Mean, 24 * 60},
	} {
		if off := math.Abs(x.got/x.want - 1); off > 0.1 {
			t.Errorf("%s\ngot  %.1f\nwant %.1f", x.name, x.got, x.want)
		}
	}
	if got := time.Duration(in.End - dawn.Add(100*sec).UnixNano()); in.End == 0 || got.Abs() > 4*sec {
		t.Errorf("ends\ngot  %v off\nwant 4 s at most", got)
	}
}

// Two services that poll different servers are two notes, and a server that both poll is of
// the one that sends most.
func TestSharedNotesApart(t *testing.T) {
	w := newWorld(1)
	all := w.ports(usual, 16, 120*sec)
	poll(w, all[:9], 60, 1, true, t0, 100*sec)
	for p := range 70 { // another service
		c := w.client(97_000 + p)
		for i, s := range all[7:] {
			w.every(1, t0+time.Duration(p*17+i*3)*time.Millisecond, 100*sec, func(int) { w.query(c, 40_000, s, three[0], true) })
		}
	}
	w.run(240 * sec)
	total := 0
	for _, x := range w.incidents {
		total += x.Servers
	}
	if len(w.incidents) != 2 || total != len(all) {
		w.logIncidents(t)
		t.Errorf("got  %d notes of %d servers\nwant two of %d", len(w.incidents), total, len(all))
	}
}

// A server that gets most from other sources has a note of its own.
func TestSameSources(t *testing.T) {
	w := newWorld(1)
	a, b := w.server(usual, 27015), w.server(usual, 27016)
	poll(w, []*server{a, b}, 50, 1, true, t0, 100*sec)
	for p := range 60 { // most of what b gets is from others
		c := w.client(97_000 + p)
		w.every(2, t0+time.Duration(p)*17*time.Millisecond, 100*sec, func(int) { w.query(c, 40_000, b, three[0], true) })
	}
	w.run(240 * sec)
	if len(w.incidents) != 2 || w.incidents[0].Servers != 0 {
		w.logIncidents(t)
		t.Errorf("got  %d notes\nwant two of one server each", len(w.incidents))
	}
}

// Notes that are over are joined by nobody, and no more than sharedNotes are kept.
func TestSharedNotesBound(t *testing.T) {
	w := newWorld(1)
	var all [][]*server
	for i := range sharedNotes + 6 {
		all = append(all, []*server{w.server(usual, uint16(27015+i))})
		for p := range 55 {
			c := w.client(100_000 + 100*i + p)
			w.every(1, t0+time.Duration(i)*sec+time.Duration(p*17)*time.Millisecond, 120*sec, func(int) { w.query(c, 40_000, all[i][0], three[0], true) })
		}
	}
	w.run(120 * sec)
	if len(w.incidents) != len(all) {
		w.logIncidents(t)
		t.Errorf("got  %d notes\nwant %d", len(w.incidents), len(all))
	}
	if got := len(w.d.book.notes); got != sharedNotes {
		t.Errorf("got  %d notes kept\nwant %d", got, sharedNotes)
	}
}
