package flood

import (
	"time"

	"qsniff/dissect"
)

// pulsing has invented sources ask a server rate times a second for the first on of every
// period, n times.
func pulsing(w *world, s *server, rate float64, from, on, period time.Duration, n int) {
	for i := range time.Duration(n) {
		invent(w, s, rate, from+i*period, from+i*period+on)
	}
}

// playPulses is a server on a usual day and pulses of a second: one attack, found with the
// second pulse, whose figures are those of the packets. Seconds of the detector begin with the
// first packet, so a pulse that begins late in one has most of its packets in the next.
func playPulses(w *world, rate float64, late, period time.Duration, n int) []attack {
	s := w.server(usual, 27015)
	from := t0 + late
	to := from + time.Duration(n-1)*period + sec
	w.at(0, func() { w.visit(w.someone(), s, 1, 0, true) })
	w.daily(s, 2, to+60*sec)
	pulsing(w, s, rate, from, sec, period, n)
	return []attack{{kinds: kinds(FloodSpoofed), target: s.target(), from: from, to: to, within: period + 3*sec, pulses: n, requests: rate * float64(n), mean: rate * float64(n) / (to - from).Seconds()}}
}

// inPulses are scenarios with pulses, and with attacks that begin slowly or go on at the end.
var inPulses = []scenario{
	{name: "a second in ten", last: 220 * sec, play: func(w *world) []attack {
		return playPulses(w, 3000, 0, 10*sec, 6)
	}},
	{name: "a second in fifteen", last: 280 * sec, play: func(w *world) []attack {
		return playPulses(w, 3000, 300*time.Millisecond, 15*sec, 8)
	}},
	{name: "a second in thirty", last: 340 * sec, play: func(w *world) []attack {
		return playPulses(w, 1500, 950*time.Millisecond, 30*sec, 6)
	}},
	{name: "a second in a minute", last: 400 * sec, play: func(w *world) []attack {
		return playPulses(w, 1500, 50*time.Millisecond, 60*sec, 4)
	}},
	{name: "a second in one and a half minutes is too rare", last: 400 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.at(0, func() { w.visit(w.someone(), s, 1, 0, true) })
		w.daily(s, 2, 400*sec)
		pulsing(w, s, 1500, t0, sec, 90*sec, 3)
		return nil
	}},
	{name: "the pause is longer than quiet", last: 1100 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 1100*sec)
		pulsing(w, s, 2000, t0, 5*sec, 200*sec, 4)
		return []attack{{kinds: kinds(FloodSpoofed), target: s.target(), from: t0, to: t0 + 605*sec, within: 3 * sec, pulses: 4, peak: 2003, requests: 40_000}}
	}},
	{name: "the pause is longer than any", last: 800 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 800*sec)
		var all []attack
		for _, at := range []time.Duration{t0, t0 + 320*sec} {
			invent(w, s, 2000, at, at+5*sec)
			all = append(all, attack{kinds: kinds(FloodSpoofed), target: s.target(), from: at, to: at + 5*sec, within: 3 * sec, campaign: 1})
		}
		return all
	}},
	{name: "what lasted longer does not come in pulses", last: 500 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 500*sec)
		var all []attack
		for _, at := range []time.Duration{t0, t0 + 100*sec} {
			invent(w, s, 1000, at, at+15*sec)
			all = append(all, attack{kinds: kinds(FloodSpoofed), target: s.target(), from: at, to: at + 15*sec, within: 3 * sec, campaign: 1})
		}
		return all
	}},
	{name: "a busy minute after an attack of seconds", last: 500 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 500*sec)
		invent(w, s, 600, t0, t0+5*sec)
		n := 0
		w.poisson(80, t0+100*sec, t0+160*sec, func() { n++; w.visit(w.client(n), s, 1+n%3, 200*time.Millisecond, true) })
		return []attack{{kinds: kinds(FloodSpoofed), target: s.target(), from: t0, to: t0 + 5*sec, within: 3 * sec, requests: 3000}}
	}},
	{name: "crowds of a second", last: 300 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 300*sec)
		n := 0
		for i := range time.Duration(12) { // a post with a link, and who follows it at once
			w.poisson(600, t0+i*15*sec, t0+i*15*sec+sec, func() { n++; w.visit(w.client(n%15_000), s, 1, 0, true) })
		}
		return nil
	}},
	{name: "slow start", last: 330 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 330*sec)
		for i := range time.Duration(100) { // two more each second
			invent(w, s, float64(2*i+2), t0+i*sec, t0+(i+1)*sec)
		}
		invent(w, s, 200, t0+100*sec, t0+150*sec)
		return []attack{{kinds: kinds(FloodSpoofed), target: s.target(), from: t0 + 12*sec, to: t0 + 150*sec, within: 20 * sec, peak: 203, isSlow: true}}
	}},
	{name: "clients' addresses in pulses", last: 300 * sec, both: true, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.at(0, func() { w.visit(w.someone(), s, 1, 0, true) })
		w.daily(s, 2, 300*sec)
		n := 0
		for i := range time.Duration(6) { // only that nobody brings the challenge back shows what they are
			from := t0 + i*20*sec + 100*time.Millisecond
			w.poisson(1500, from, from+sec, func() { n++; w.visit(w.client(200_000+n), s, 1, 0, false) })
		}
		return []attack{{kinds: kinds(FloodSpoofed), target: s.target(), from: t0, to: t0 + 101*sec, within: 24 * sec, pulses: 6}}
	}},
	{name: "guesses in pulses", last: 300 * sec, both: true, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 300*sec)
		for i := range time.Duration(6) {
			guess(w, s, 1500, guessesFrom+i*20*sec, guessesFrom+i*20*sec+sec)
		}
		return []attack{{kinds: kinds(ChallengeBypass), target: s.target(), from: guessesFrom, to: guessesFrom + 101*sec, within: 3 * sec, pulses: 6, requests: 9000}}
	}},
	{name: "one source in pulses", last: 300 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.at(0, func() { w.visit(w.someone(), s, 1, 0, true) })
		w.daily(s, 2, 300*sec)
		c := w.client(70_001)
		for i := range time.Duration(6) {
			from := t0 + i*20*sec + 100*time.Millisecond
			w.every(1500, from, from+sec, func(int) { w.query(c, 57147, s, dissect.AskInfo, false) })
		}
		return []attack{{kinds: kinds(FloodFew), target: s.target(), from: t0, to: t0 + 101*sec, within: 24 * sec, pulses: 6, requests: 9000}}
	}},
	{name: "sources that complete each query in pulses", last: 300 * sec, both: true, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.at(0, func() { w.visit(w.someone(), s, 1, 0, true) })
		w.daily(s, 2, 300*sec)
		for i := range time.Duration(3) {
			for k := range 300 {
				from := t0 + i*60*sec + time.Duration(k)*800*time.Microsecond
				w.every(4, from, from+5*sec, func(int) { w.query(w.client(70_000+k), 40_000, s, dissect.AskInfo, true) })
			}
		}
		return []attack{{kinds: kinds(FloodCompleting), target: s.target(), from: t0, to: t0 + 125*sec, within: 66 * sec, pulses: 3}}
	}},
}
