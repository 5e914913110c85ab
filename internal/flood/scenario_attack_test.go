package flood

import (
	"time"

	"qsniff/dissect"
	"qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// attacksToFind are scenarios with attacks.
var attacksToFind = []scenario{
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
	{name: "a forged monitor", last: 170 * sec, play: func(w *world) []attack { // which itself asks and completes
		s := w.server(usual, 27015)
		w.daily(s, 2, 170*sec)
		monitor := w.client(70_020)
		w.every(1, 0, 170*sec, func(int) { w.query(monitor, 41_000, s, dissect.AskInfo, true) })
		w.every(300, t0, t0+20*sec, func(int) {
			s.take(request{from: monitor.host, port: w.port(), ttl: 243, asks: dissect.AskInfo}, nil)
		})
		return []attack{{kinds: kinds(FloodFew), target: s.target(), from: t0, to: t0 + 20*sec, within: 8 * sec, peak: 303}}
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
	{name: "many bots that complete and pace themselves", last: 180 * sec, both: true, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 180*sec)
		w.every(480, t0, t0+30*sec, func(i int) { // 2/s each: less than any limit of an engine
			w.query(w.client(50_000+i%240), uint16(20_000+i%240), s, dissect.AskInfo, true)
		})
		return []attack{{kinds: kinds(FloodCompleting), target: s.target(), from: t0, to: t0 + 30*sec, within: 12 * sec, peak: 483, isSlow: true}}
	}},
	{name: "bots that use up what a server answers", last: 180 * sec, both: true, play: func(w *world) []attack {
		s := w.server(usual, 27015).limited(20, 30*sec)
		w.daily(s, 1, 180*sec)
		w.every(90, t0, t0+40*sec, func(i int) {
			w.query(w.client(50_000+i%60), uint16(20_000+i%60), s, dissect.AskInfo, true)
		})
		return []attack{{kinds: kinds(FloodCompleting), target: s.target(), from: t0, to: t0 + 40*sec, within: 30 * sec, peak: 91, isSlow: true}}
	}},
	{name: "in the name of a monitor that goes on", last: 170 * sec, both: true, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 170*sec)
		c := w.client(70_004)
		w.every(.1, 2*sec, 170*sec, func(int) { w.query(c, 41_000, s, dissect.AskInfo, true) })
		w.every(600, t0, t0+20*sec, func(int) { w.query(c, w.port(), s, dissect.AskInfo, false) })
		return []attack{{kinds: kinds(FloodFew), target: s.target(), from: t0, to: t0 + 20*sec, within: 4 * sec}}
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
	{name: "parts of split messages to a server", last: 170 * sec, play: func(w *world) []attack { // from ports of clients
		s := w.server(usual, 27015)
		w.daily(s, 2, 170*sec)
		w.every(1000, t0, t0+15*sec, func(i int) {
			c := w.client(60_000 + i%200)
			w.see(track.Sighting{What: track.IsPart, Flags: track.First, Src: c.host, SrcPort: 30_000 + w.port()/4, Dst: s.host, DstPort: s.port, TTL: c.ttl, Bytes: 1000, Print: w.r.Uint32()})
		})
		return []attack{{kinds: kinds(JunkFlood), target: s.target(), from: t0, to: t0 + 15*sec, within: 4 * sec, peak: 1000, sources: 200}}
	}},
	{name: "parts of split messages to a server that is asked little", last: 170 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.poisson(.1, 0, 170*sec, func() { w.visit(w.someone(), s, 1, 0, true) })
		w.every(100, t0, t0+15*sec, func(i int) {
			c := w.client(60_000 + i%200)
			w.see(track.Sighting{What: track.IsPart, Flags: track.First, Src: c.host, SrcPort: 30_000 + w.port()/4, Dst: s.host, DstPort: s.port, TTL: c.ttl, Bytes: 1000, Print: w.r.Uint32()})
		})
		return []attack{{kinds: kinds(JunkFlood), target: s.target(), from: t0, to: t0 + 15*sec, within: 8 * sec, peak: 100, sources: 200}}
	}},
	{name: "parts of replies to a server's port", last: 170 * sec, play: func(w *world) []attack { // from ports of servers
		s := w.server(usual, 27015)
		w.daily(s, 2, 170*sec)
		w.every(1000, t0, t0+15*sec, func(i int) {
			c := w.client(60_000 + i%200)
			w.see(track.Sighting{What: track.IsPart, Flags: track.First | track.AtSplitPort, Src: c.host, SrcPort: 27_015, Dst: s.host, DstPort: s.port, TTL: c.ttl, Bytes: 1000, Print: w.r.Uint32()})
		})
		return []attack{{kinds: kinds(ReplyFloodVictim), target: s.host.Addr().String(), from: t0, to: t0 + 15*sec, within: 4 * sec, peak: 1000, sources: 200}}
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
			target = measure.Network(c.host).String()
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
}

// invent asks a server in the name of random sources.
func invent(w *world, s *server, rate float64, from, to time.Duration) {
	w.every(rate, from, to, func(int) {
		s.take(request{from: w.anywhere(), port: uint16(w.r.IntN(65536)), ttl: 243, asks: dissect.AskInfo}, nil)
	})
}
