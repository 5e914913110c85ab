package flood

import (
	"time"

	"qsniff/dissect"
)

// guess asks a server in the name of random sources, each with a challenge of its own invention.
func guess(w *world, s *server, rate float64, from, to time.Duration) {
	w.every(rate, from, to, func(int) {
		s.take(request{from: w.anywhere(), port: uint16(w.r.IntN(65536)), ttl: 117, asks: dissect.AskInfo, key: w.r.Uint32() | 1}, nil)
	})
}

// guessesFrom is when guesses begin: challenges of before the capture have run out.
const guessesFrom = 90 * sec

// guesses are scenarios with challenges that the capture does not show.
var guesses = []scenario{
	{name: "guessed challenges of invented sources", last: 220 * sec, blind: kinds(FloodSpoofed), play: func(w *world) []attack {
		return playGuesses(w, 1500, guessesFrom, guessesFrom+20*sec)
	}},
	{name: "as few of them as can be told", last: 220 * sec, both: true, play: func(w *world) []attack {
		return playGuesses(w, 25, guessesFrom, guessesFrom+20*sec)
	}},
	{name: "more of them than are followed", last: 200 * sec, blind: kinds(FloodSpoofed), play: func(w *world) []attack {
		return playGuesses(w, 8000, guessesFrom, guessesFrom+10*sec)
	}},
	{name: "the capture begins amid guesses", last: 120 * sec, blind: kinds(FloodSpoofed), play: func(w *world) []attack {
		return playGuesses(w, 1500, 0, 20*sec)
	}},
	{name: "the capture begins before guesses", last: 150 * sec, blind: kinds(FloodSpoofed), play: func(w *world) []attack {
		return playGuesses(w, 600, 20*sec, 70*sec)
	}},
	{name: "guesses that are not answered", last: 220 * sec, both: true, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 4, 220*sec)
		s.away = func(now time.Duration) bool { return now > guessesFrom+5*sec && now < guessesFrom+20*sec }
		guess(w, s, 1500, guessesFrom, guessesFrom+20*sec)
		return []attack{{kinds: kinds(ChallengeBypass), target: s.target(), from: guessesFrom, to: guessesFrom + 20*sec, within: 3 * sec, peak: 1500, requests: 30_000, sources: 30_000}}
	}},
	{name: "guesses of bots", last: 220 * sec, both: true, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 2, 220*sec)
		w.every(1000, guessesFrom, guessesFrom+20*sec, func(i int) {
			c := w.client(50_000 + i%300)
			s.take(request{from: c.host, port: w.port(), ttl: c.ttl, asks: dissect.AskInfo, key: w.r.Uint32() | 1}, nil)
		})
		return []attack{{kinds: kinds(ChallengeBypass), target: s.target(), from: guessesFrom, to: guessesFrom + 20*sec, within: 3 * sec, peak: 1000, requests: 20_000, sources: 300}}
	}},
	{name: "challenges of an earlier visit", last: 260 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 4, 260*sec)
		for i := range 300 { // monitors that were there before the capture, each once a minute
			c, port := w.client(110_000+i), w.port()
			w.every(1./60, time.Duration(i)*200*time.Millisecond, 260*sec, func(int) {
				s.take(request{from: c.host, port: port, ttl: c.ttl, asks: dissect.AskInfo, key: s.key(c.host)}, nil)
			})
		}
		n := 0
		w.every(15, 100*sec, 160*sec, func(int) { // and some that come late, below what clients may be
			n++
			c := w.client(120_000 + n)
			s.take(request{from: c.host, port: w.port(), ttl: c.ttl, asks: dissect.AskInfo, key: s.key(c.host)}, nil)
		})
		return nil
	}},
	{name: "a restart makes challenges invalid", last: 260 * sec, play: func(w *world) []attack {
		s := w.server(usual, 27015)
		w.daily(s, 4, 260*sec)
		w.at(120*sec, func() { s.epoch++ })
		for i := range 60 { // each asks with the challenge that it has, and takes the new one
			c, port := w.client(110_000+i), w.port()
			key := s.key(c.host)
			w.every(0.1, time.Duration(i)*170*time.Millisecond, 260*sec, func(int) {
				q := request{from: c.host, port: port, ttl: c.ttl, asks: dissect.AskInfo, key: key}
				s.take(q, func(challenged bool) {
					if challenged {
						key = s.key(c.host)
						w.at(w.now+c.trip, func() { q.key = key; s.take(q, nil) })
					}
				})
			})
		}
		return nil
	}},
}

// playGuesses is a server on a usual day, and guesses of invented sources: one attack, whose
// figures are those of the packets.
func playGuesses(w *world, rate float64, from, to time.Duration) []attack {
	s := w.server(usual, 27015)
	w.daily(s, 2, to+60*sec)
	guess(w, s, rate, from, to)
	n := rate * (to - from).Seconds()
	return []attack{{kinds: kinds(ChallengeBypass), target: s.target(), from: from, to: to, within: 3 * sec, peak: rate, requests: n, sources: n}}
}
