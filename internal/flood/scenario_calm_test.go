package flood

import (
	"time"

	"qsniff/dissect"
	"qsniff/internal/track"
)

// calm are scenarios that look like attacks and are none.
var calm = []scenario{
	{name: "nothing", last: 300 * sec, play: func(w *world) []attack {
		w.daily(w.server(usual, 27015), 4, 300*sec)
		w.daily(w.server("198.51.100.18", 27015).open(), 4, 300*sec)
		return nil
	}},
	{name: "crowd", last: 200 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 200*sec)
		n := 0
		w.poisson(80, t0, t0+60*sec, func() { n++; w.visit(w.client(n), s, 1+n%3, 200*time.Millisecond, true) })
		return nil
	}},
	{name: "crowd, no challenge", last: 200 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015).open()
		w.daily(s, 2, 200*sec)
		n := 0
		w.poisson(80, t0, t0+60*sec, func() { n++; w.visit(w.client(n), s, 1+n%3, 200*time.Millisecond, false) })
		return nil
	}},
	{name: "one packet of fifty of a crowd", last: 130 * sec, both: true, play: func(w *world) []attack {
		w.oneOf = 50 // the challenges that clients bring are in packets that the capture lacks
		s := w.server(usual, 27015)
		w.daily(s, 20, 130*sec)
		n := 0
		w.poisson(1500, t0, t0+20*sec, func() { n++; w.visit(w.client(n), s, 1+n%3, 200*time.Millisecond, true) })
		return nil
	}},
	{name: "one packet of fifty of players, as the capture says", last: 100 * sec, both: true, play: func(w *world) []attack {
		w.oneOf, w.told = 50, true
		w.daily(w.server(usual, 27015), 20, 100*sec)
		w.players(32, 30, 0, 100*sec)
		return nil
	}},
	{name: "monitors", last: 200 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 200*sec)
		for i := range 20 {
			c := w.client(90_000 + i)
			w.every(1, time.Duration(i)*37*time.Millisecond, 200*sec, func(int) { w.visit(c, s, 3, 100*time.Millisecond, true) })
		}
		return nil
	}},
	{name: "map change", last: 300 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		s.away = func(now time.Duration) bool { return now%(100*sec) < 8*sec }
		w.daily(s, 4, 300*sec)
		for _, at := range []time.Duration{100 * sec, 200 * sec} {
			for i := range 64 {
				c, first := w.client(91_000+i), time.Duration(w.r.Float64()*2e9)
				for again := range time.Duration(5) {
					w.at(at+first+again*sec, func() { w.visit(c, s, 3, 0, true) })
				}
			}
		}
		return nil
	}},
	{name: "one address for many clients", last: 240 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 240*sec)
		c := w.client(92_000)
		for i := range 60 {
			gap := 1 + 2*w.r.Float64()
			w.every(1/gap, t0+time.Duration(w.r.Float64()*10e9), 200*sec, func(int) { w.query(c, uint16(10_000+i*797), s, dissect.AskInfo, true) })
		}
		return nil
	}},
	{name: "an old password", both: true, last: 400 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 400*sec)
		c := w.client(93_000)
		w.every(0.5, 10*sec, 300*sec, func(i int) { w.login(s, c, uint16(20_000+i), 77, false) })
		return nil
	}},
	{name: "an admin who forgot the password", both: true, last: 400 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 400*sec)
		c := w.client(93_000)
		w.every(0.1, 60*sec, 120*sec, func(i int) { w.login(s, c, uint16(20_000+i), uint32(50+i), i == 5) })
		return nil
	}},
	{name: "a browser refreshes its list", last: 120 * sec, play: func(w *world) []attack {
		refresh(w, 1500, false)
		return nil
	}},
	{name: "a browser refreshes a list of dead servers", last: 120 * sec, both: true, play: func(w *world) []attack {
		refresh(w, 400, true)
		return nil
	}},
	{name: "restart", last: 300 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		s.away = func(now time.Duration) bool { return now > 100*sec && now < 140*sec }
		w.daily(s, 4, 300*sec)
		for i := range 100 { // who was playing tries until it is back
			c := w.client(94_000 + i)
			for at := 100*sec + time.Duration(w.r.Float64()*5e9); at < 141*sec; at += 3 * sec {
				w.at(at, func() { w.visit(c, s, 2, 0, true) })
			}
		}
		return nil
	}},
	{name: "old tools", last: 240 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 240*sec)
		n := 0
		w.poisson(60, t0, t0+60*sec, func() { n++; w.visit(w.client(n), s, 1+n%2, 200*time.Millisecond, n%5 > 1) })
		return nil
	}},
	{name: "a game", last: 150 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 150*sec)
		for i := range 24 {
			c, port := w.client(95_000+i), uint16(27005)
			w.every(30, time.Duration(i)*3*sec, 140*sec, func(int) {
				w.see(track.Sighting{What: track.IsOther, Src: c.host, SrcPort: port, Dst: s.host, DstPort: s.port, TTL: c.ttl, Bytes: 60})
				if !w.blind {
					w.see(track.Sighting{What: track.IsOther, Src: s.host, SrcPort: s.port, Dst: c.host, DstPort: port, TTL: 64, Bytes: 200})
				}
			})
		}
		return nil
	}},
}

// refresh has a client here ask the servers of a list, most of which answer, or
// most do not if a master server named them.
func refresh(w *world, n int, dead bool) {
	c := client{w.parse("192.0.2.9"), 64, 0}
	for i := range n {
		o := w.server(usual, uint16(27015+i%5))
		o.host = w.client(1000 + i).host
		if dead && i%4 != 0 || i%7 == 0 {
			o.away = func(time.Duration) bool { return true }
		}
		w.at(20*sec+time.Duration(i)*10*time.Millisecond, func() {
			if dead {
				w.d.AddListed(&track.Sighting{What: track.IsReply, Dst: c.host, DstPort: 27005}, []uint64{track.End{Host: o.host, Port: o.port}.Hash(seed)})
			}
		})
		w.at(45*sec+time.Duration(i)*10*time.Millisecond, func() { w.query(c, 27005, o, dissect.AskInfo, true) })
	}
}
