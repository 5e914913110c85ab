package flood

import (
	"math"
	"slices"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/track"
)

const sec = time.Second

// t0 is when attacks begin.
const t0 = 60 * sec

// attack is what must be found.
type attack struct {
	kinds    []Kind
	target   string
	from, to time.Duration
	within   time.Duration // of from: when it is detected at the latest
	pulses   int           // 0: one
	peak     float64       // packets/s, 20 % off at most; 0: any
	sources  float64       // 10 % off at most, usual visitors in that time counted; 0: any
	hosts    int           // of the busiest network, 15 % off at most; 0: any
	campaign int           // those with the same number belong together; 0: to none of the others
}

// scenario is what happens in a world, and what a detector must say: the attacks,
// each once, and no other alert or warning.
type scenario struct {
	name string
	play func(w *world) []attack
	// blind are the kinds that each attack may have where only requests are
	// captured, and what takes longer to tell then; nil: the same ones.
	blind []Kind
	// both: it means nothing in a capture of one direction.
	both bool
	// four: it means nothing in IPv6.
	four bool
	last time.Duration // end of the capture
}

func kinds(k ...Kind) []Kind { return k }

const usual = "198.51.100.17"

var scenarios = []scenario{
	{name: "one source", last: 170 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015).limited(90, 30*sec)
		w.daily(s, 2, 170*sec)
		c := w.client(70_001)
		w.every(800, t0, t0+20*sec, func(int) { w.query(c, 57147, s, dissect.AskInfo, false) })
		return []attack{{kinds: kinds(FloodFew), target: s.target(), from: t0, to: t0 + 20*sec, within: 3 * sec, peak: 803}}
	}},
	{name: "one source that completes", last: 170 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 170*sec)
		c := w.client(70_002)
		w.every(120, t0, t0+20*sec, func(int) { w.query(c, 57147, s, dissect.AskInfo, true) })
		return []attack{{kinds: kinds(FloodFew), target: s.target(), from: t0, to: t0 + 20*sec, within: 7 * sec, peak: 123}}
	}},
	{name: "from the first packet", last: 110 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 110*sec)
		c := w.client(70_001)
		w.every(800, 0, 20*sec, func(int) { w.query(c, 57147, s, dissect.AskInfo, false) })
		return []attack{{kinds: kinds(FloodFew), target: s.target(), from: 0, to: 20 * sec, within: 4 * sec}}
	}},
	{name: "one source in a crowd", last: 190 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 190*sec)
		n := 0
		w.poisson(20, 40*sec, 110*sec, func() { n++; w.visit(w.client(n), s, 1+n%3, 200*time.Millisecond, true) })
		c := w.client(70_003)
		w.every(300, t0, t0+20*sec, func(int) { w.query(c, 4444, s, dissect.AskInfo, false) })
		return []attack{{kinds: kinds(FloodFew), target: s.target(), from: t0, to: t0 + 20*sec, within: 6 * sec}}
	}},
	{name: "a network", last: 170 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 170*sec)
		w.every(300, t0, t0+20*sec, func(i int) {
			c := client{w.ip(0x5bc60700 + uint32(i%100)), uint8(49 + i%100%7), 0}
			w.query(c, w.port(), s, dissect.AskInfo, false)
		})
		return []attack{{kinds: kinds(FloodFew, FloodDistributed), target: s.target(), from: t0, to: t0 + 20*sec, within: 6 * sec, sources: 144, hosts: 100}}
	}},
	{name: "bots", last: 180 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 180*sec)
		w.every(2400, t0, t0+20*sec, func(i int) {
			c := w.client(50_000 + i%240)
			port := uint16(w.r.IntN(65536))
			s.take(request{from: c.host, port: port, ttl: c.ttl, asks: dissect.AskInfo}, nil)
			if i%2400 < 72 {
				w.unreachable(s, c.host, port)
			}
		})
		return []attack{{kinds: kinds(FloodDistributed), target: s.target(), from: t0, to: t0 + 20*sec, within: 4 * sec, peak: 2403, sources: 284}}
	}},
	{name: "bots that complete", last: 180 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 180*sec)
		w.every(720, t0, t0+20*sec, func(i int) {
			w.query(w.client(50_000+i%60), uint16(20_000+i%60), s, dissect.AskInfo, true)
		})
		return []attack{{kinds: kinds(FloodDistributed, FloodFew), target: s.target(), from: t0, to: t0 + 20*sec, within: 8 * sec, peak: 723}}
	}},
	{name: "invented sources", last: 180 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 180*sec)
		invent(w, s, 4000, t0, t0+15*sec)
		return []attack{{kinds: kinds(FloodSpoofed), target: s.target(), from: t0, to: t0 + 15*sec, within: 3 * sec, peak: 4003, sources: 60_000}}
	}},
	{name: "invented sources, no challenge", last: 180 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015).open()
		w.daily(s, 2, 180*sec)
		invent(w, s, 4000, t0, t0+15*sec)
		return []attack{{kinds: kinds(FloodSpoofed), target: s.target(), from: t0, to: t0 + 15*sec, within: 3 * sec, peak: 4003, sources: 60_000}}
	}},
	{name: "a server that is overrun", last: 150 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		s.away = func(now time.Duration) bool { return now > t0 } // only who came before was challenged
		w.daily(s, 10, t0)
		w.every(4000, t0, t0+6*sec, func(i int) { // none impossible, all over one path
			s.take(request{from: w.client(100_000 + i).host, port: w.port(), ttl: 57, asks: dissect.AskInfo}, nil)
		})
		return []attack{{kinds: kinds(FloodSpoofed, FloodDistributed, FloodSuspect), target: s.target(), from: t0, to: t0 + 6*sec, within: 3 * sec, peak: 4000, sources: 24_000}}
	}},
	{name: "pulses", last: 290 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 290*sec)
		for i := range time.Duration(4) {
			invent(w, s, 3000, t0+i*40*sec, t0+i*40*sec+5*sec)
		}
		return []attack{{kinds: kinds(FloodSpoofed), target: s.target(), from: t0, to: t0 + 125*sec, within: 3 * sec, pulses: 4, peak: 3003}}
	}},
	{name: "again", last: 3300 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 1, 3300*sec)
		c := w.client(70_001)
		var all []attack
		for i, at := range []time.Duration{t0, t0 + 1000*sec, t0 + 3100*sec} {
			w.every(600, at, at+8*sec, func(int) { w.query(c, 57147, s, dissect.AskInfo, false) })
			all = append(all, attack{kinds: kinds(FloodFew), target: s.target(), from: at, to: at + 8*sec, within: 3 * sec, campaign: []int{1, 1, 0}[i]})
		}
		return all
	}},
	{name: "two servers", last: 180 * sec, play: func(w *world) []attack {
		s, o := w.server(usual, 27015), w.server("198.51.100.18", 27016)
		w.daily(s, 2, 180*sec)
		w.daily(o, 2, 180*sec)
		c := w.client(70_001)
		w.every(800, t0, t0+20*sec, func(int) { w.query(c, 57147, s, dissect.AskInfo, false) })
		invent(w, o, 3000, t0+5*sec, t0+15*sec)
		return []attack{
			{kinds: kinds(FloodFew), target: s.target(), from: t0, to: t0 + 20*sec, within: 3 * sec},
			{kinds: kinds(FloodSpoofed), target: o.target(), from: t0 + 5*sec, to: t0 + 15*sec, within: 3 * sec},
		}
	}},
	{name: "one victim", last: 220 * sec, blind: kinds(FloodFew), play: func(w *world) []attack {
		s := w.server(usual, 27015).open()
		w.daily(s, 2, 220*sec)
		victim := client{w.parse("203.0.113.77"), 243, 0}
		w.every(60, t0, t0+60*sec, func(i int) {
			port := uint16(w.r.IntN(65536))
			w.query(client{victim.host, 243, 0}, port, s, dissect.AskInfo, false)
			if i%60 == 0 {
				w.unreachable(s, victim.host, port)
			}
		})
		return []attack{{kinds: kinds(Reflection), target: s.target(), from: t0, to: t0 + 60*sec, within: 10 * sec, peak: 63}}
	}},
	{name: "many victims", last: 200 * sec, blind: kinds(FloodDistributed, FloodSpoofed, FloodSuspect, FloodFew), play: func(w *world) []attack {
		s := w.server(usual, 22126).open()
		s.proto = ase
		w.daily(s, 2, 200*sec)
		w.every(240, t0, t0+40*sec, func(i int) {
			h := w.ip(uint32(30+i%24*3)<<24 | uint32(i%24)*7919)
			w.query(client{h, 243, 0}, 443, s, dissect.AskStatus, false)
		})
		return []attack{{kinds: kinds(Reflection), target: s.target(), from: t0, to: t0 + 40*sec, within: 10 * sec, peak: 243}}
	}},
	{name: "a network as victim", last: 200 * sec, blind: kinds(FloodFew), play: func(w *world) []attack {
		s := w.server(usual, 27015).open()
		w.daily(s, 2, 200*sec)
		w.every(200, t0, t0+40*sec, func(i int) {
			w.query(client{w.ip(0xcb007100 + uint32(w.r.IntN(256))), 243, 0}, uint16(w.r.IntN(65536)), s, dissect.AskInfo, false)
		})
		return []attack{{kinds: kinds(Reflection), target: s.target(), from: t0, to: t0 + 40*sec, within: 10 * sec, peak: 203}}
	}},
	{name: "replies nobody asked for", last: 180 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 180*sec)
		h := w.parse("198.51.100.99")
		w.every(2400, t0, t0+20*sec, func(i int) {
			w.see(track.Sighting{What: track.IsReply, Src: w.client(80_000 + i%400).host, SrcPort: uint16(27015 + i%5), Dst: h, DstPort: 80,
				TTL: 55, Asks: dissect.AskInfo, Proto: a2s, Bytes: 180})
		})
		return []attack{{kinds: kinds(ReplyFloodVictim), target: h.Addr().String(), from: t0, to: t0 + 20*sec, within: 3 * sec, peak: 2400, sources: 400}}
	}},
	{name: "guessed challenges", both: true, last: 200 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 200*sec)
		c := w.client(70_005)
		from := 90 * sec // challenges that were given before the capture have run out
		w.every(50, from, from+20*sec, func(int) {
			s.take(request{from: c.host, port: 40_000, ttl: c.ttl, asks: dissect.AskPlayers, key: w.r.Uint32() | 1}, nil)
		})
		return []attack{{kinds: kinds(ChallengeBypass), target: s.target(), from: from, to: from + 20*sec, within: 5 * sec, peak: 50, sources: 1}}
	}},
	{name: "junk", last: 170 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 170*sec)
		w.every(1000, t0, t0+15*sec, func(i int) {
			c := w.client(60_000 + i%200)
			w.see(track.Sighting{What: track.IsJunk, Src: c.host, SrcPort: w.port(), Dst: s.host, DstPort: s.port, TTL: c.ttl, Bytes: uint32(8 + w.r.IntN(56)), Print: w.r.Uint32()})
		})
		return []attack{{kinds: kinds(JunkFlood), target: s.target(), from: t0, to: t0 + 15*sec, within: 4 * sec, peak: 1000, sources: 200}}
	}},
	{name: "guessed passwords", both: true, last: 200 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 200*sec)
		c := w.client(70_006)
		w.every(2, t0, t0+30*sec, func(i int) { w.login(s, c, uint16(30_000+i), 1000+uint32(i), i == 59) })
		return []attack{{kinds: kinds(RconBruteforce), target: "tcp/" + s.target()[4:], from: t0, to: t0 + 30*sec, within: 10 * sec, sources: 1}}
	}},
	{name: "passwords guessed by many", both: true, last: 290 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 290*sec)
		w.every(0.5, t0, t0+120*sec, func(i int) { w.login(s, w.client(71_000+i), 30_000, 1000+uint32(i), false) })
		return []attack{{kinds: kinds(RconBruteforce), target: "tcp/" + s.target()[4:], from: t0, to: t0 + 120*sec, within: 65 * sec, sources: 60}}
	}},
	{name: "scan", both: true, last: 200 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 200*sec)
		c := w.client(70_007)
		w.every(20, t0, t0+20*sec, func(i int) {
			o := w.server(usual, 27015)
			o.host = w.ip(0xc6336400 + uint32(i))
			if i%80 != 17 { // one in 80 is there
				o.away = func(time.Duration) bool { return true }
			}
			w.query(c, 33_333, o, dissect.AskInfo, true)
		})
		target := c.host.Addr().String()
		if w.six {
			target = network(c.host).String()
		}
		return []attack{{kinds: kinds(Scan), target: target, from: t0, to: t0 + 20*sec, within: 10 * sec, peak: 20}}
	}},
	{name: "a tool with one port", last: 220 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015).open()
		w.daily(s, 2, 220*sec)
		w.poisson(80, t0, t0+40*sec, func() { w.query(w.someone(), 5555, s, dissect.AskInfo, false) })
		return []attack{{kinds: kinds(FloodSuspect), target: s.target(), from: t0, to: t0 + 40*sec, within: 22 * sec}}
	}},
	{name: "the clock goes back", last: 170 * sec, play: func(w *world) []attack {
		w.steps = []step{{t0 - 5*sec, -30 * sec}}
		s := w.server(usual, 27015)
		w.daily(s, 2, 170*sec)
		c := w.client(70_001)
		w.every(800, t0, t0+20*sec, func(int) { w.query(c, 57147, s, dissect.AskInfo, false) })
		return []attack{{kinds: kinds(FloodFew), target: s.target(), from: t0 - 30*sec, to: t0 - 10*sec, within: 3 * sec}}
	}},
	{name: "the clock leaps", last: 170 * sec, play: func(w *world) []attack {
		w.steps = []step{{t0 - 5*sec, 2 * time.Hour}}
		s := w.server(usual, 27015)
		w.daily(s, 2, 170*sec)
		c := w.client(70_001)
		at := t0 + 2*time.Hour
		w.every(800, t0, t0+20*sec, func(int) { w.query(c, 57147, s, dissect.AskInfo, false) })
		return []attack{{kinds: kinds(FloodFew), target: s.target(), from: at, to: at + 20*sec, within: 3 * sec}}
	}},

	// What is no attack.
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

// invent asks a server in the name of random sources.
func invent(w *world, s *server, rate float64, from, to time.Duration) {
	w.every(rate, from, to, func(int) {
		s.take(request{from: w.anywhere(), port: uint16(w.r.IntN(65536)), ttl: 243, asks: dissect.AskInfo}, nil)
	})
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
				w.see(track.Sighting{What: track.IsListed, Src: o.host, SrcPort: o.port, Dst: c.host, DstPort: 27005})
			}
		})
		w.at(45*sec+time.Duration(i)*10*time.Millisecond, func() { w.query(c, 27005, o, dissect.AskInfo, true) })
	}
}

func TestScenarios(t *testing.T) {
	for _, sc := range scenarios {
		for _, v := range []struct {
			name       string
			blind, six bool
		}{{"both ways", false, false}, {"requests only", true, false}, {"IPv6", false, true}} {
			if v.blind && sc.both || v.six && sc.four {
				continue
			}
			t.Run(sc.name+"/"+v.name, func(t *testing.T) {
				w := newWorld(1)
				w.blind, w.six = v.blind, v.six
				attacks := sc.play(w)
				w.run(sc.last)
				for i := range attacks {
					if v.blind && sc.blind != nil {
						attacks[i].kinds = sc.blind
						attacks[i].within += 5 * sec
					}
				}
				w.compare(t, attacks)
				if t.Failed() {
					w.logIncidents(t)
				}
			})
		}
	}
}

// compare holds what was found against what happened.
func (w *world) compare(t *testing.T, attacks []attack) {
	t.Helper()
	var alerts []*record
	for _, x := range w.incidents {
		if x.level >= Warn {
			alerts = append(alerts, x)
		}
	}
	if len(alerts) != len(attacks) {
		t.Errorf("got  %d alerts and warnings\nwant %d", len(alerts), len(attacks))
	}
	campaigns := map[int]uint64{}
	seen := map[uint64]int{}
	for _, a := range attacks {
		i := slices.IndexFunc(alerts, func(x *record) bool { return x.Target.String() == a.target })
		if i < 0 {
			t.Errorf("got  nothing at %s\nwant one of %v", a.target, a.kinds)
			continue
		}
		x := alerts[i]
		alerts = slices.Delete(alerts, i, i+1)
		a.check(t, x)
		if first, ok := campaigns[a.campaign]; ok && a.campaign > 0 {
			if x.Campaign != first {
				t.Errorf("campaign of %s\ngot  %d\nwant %d", x.Name(), x.Campaign, first)
			}
		} else if seen[x.Campaign] > 0 {
			t.Errorf("campaign of %s\ngot  %d, which others have\nwant its own", x.Name(), x.Campaign)
		}
		campaigns[a.campaign] = x.Campaign
		seen[x.Campaign]++
	}
}

func (a *attack) check(t *testing.T, x *record) {
	t.Helper()
	since := func(n int64) time.Duration { return time.Duration(n - dawn.UnixNano()) }
	if !slices.Contains(a.kinds, x.Kind) {
		t.Errorf("kind\ngot  %v\nwant one of %v", x.Kind, a.kinds)
	}
	if got := since(x.Detected) - a.from; got < 0 || got > a.within {
		t.Errorf("%v detected after\ngot  %v\nwant %v at most", x.Kind, got, a.within)
	}
	if got := since(x.Start) - a.from; got.Abs() > 3*sec {
		t.Errorf("%v starts\ngot  %v off\nwant 3 s at most", x.Kind, got)
	}
	if got := since(x.End) - a.to; x.End == 0 || got.Abs() > 4*sec {
		t.Errorf("%v ends\ngot  %v off (end %d)\nwant 4 s at most", x.Kind, got, x.End)
	}
	if want := max(a.pulses, 1); x.Pulses != want {
		t.Errorf("%v pulses\ngot  %d\nwant %d", x.Kind, x.Pulses, want)
	}
	if a.peak > 0 && math.Abs(x.Peak/a.peak-1) > 0.2 {
		t.Errorf("%v peak\ngot  %.0f\nwant %.0f, 20 %% off at most", x.Kind, x.Peak, a.peak)
	}
	if a.sources > 0 && math.Abs(x.Sources/a.sources-1) > 0.1 {
		t.Errorf("%v sources\ngot  %.0f\nwant %.0f, 10 %% off at most", x.Kind, x.Sources, a.sources)
	}
	if a.hosts > 0 && (len(x.Prefixes) == 0 || math.Abs(float64(x.Prefixes[0].Hosts)/float64(a.hosts)-1) > 0.15) {
		t.Errorf("%v networks\ngot  %v\nwant one with %d hosts first, 15 %% off at most", x.Kind, x.Prefixes, a.hosts)
	}
	if x.events[0] != Begins || x.events[len(x.events)-1] != Ends {
		t.Errorf("%v\ngot  %v\nwant open first and close last", x.Kind, x.events)
	}
}
