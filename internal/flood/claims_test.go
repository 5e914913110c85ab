package flood

import (
	"testing"

	"qsniff/dissect"
	"qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// A source that brings its challenge back counts for as much then as it did when it
// was challenged, whatever share of the sources is followed by now.
func TestClaimWeight(t *testing.T) {
	for _, tt := range []struct{ before, after uint8 }{{0, 0}, {0, 3}, {3, 0}, {2, 3}} {
		w := newWorld(1)
		s := w.server(usual, 27015)
		// A source that is followed at both levels, at a target that is watched.
		var c client
		for n := 0; ; n++ {
			if c = w.client(n); c.host.Hash(seed)>>32&7 == 0 {
				break
			}
		}
		busy := w.client(100_000)
		for range promoteSecond {
			w.query(busy, 1, s, 1, false)
		}
		target := w.d.servers.find(&s.host, s.port)
		if target == nil {
			t.Fatal("the target is not watched")
		}
		*target.OpenSecond(1, 0) = measure.Second{Sec: 1}
		w.d.claims.SampleLevel = tt.before
		q := request{from: c.host, port: 2, ttl: c.ttl, asks: 1}
		s.take(q, nil)
		s.reply(q, true)
		w.d.claims.SampleLevel = tt.after
		q.key = s.key(c.host)
		s.take(q, nil)
		b := target.At(1)
		if want := uint32(1) << tt.before; b.Challenged != want || b.Echoed != want || b.Plain != want || b.Followed != want {
			t.Errorf("level %d, then %d\ngot  %d challenged, %d echoed, %d plain, %d followed\nwant %d of each",
				tt.before, tt.after, b.Challenged, b.Echoed, b.Plain, b.Followed, want)
		}
	}
}

// TestChallengesBroughtBack: of what is asked in the name of an address only what the host itself asks comes
// back, and each challenge counts, also while others wait.
func TestChallengesBroughtBack(t *testing.T) {
	w := newWorld(1)
	s := w.server(usual, 27015)
	c := w.client(1)
	for range promoteSecond {
		w.query(w.client(100_000), 1, s, 1, false)
	}
	target := w.d.servers.find(&s.host, s.port)
	*target.OpenSecond(1, 0) = measure.Second{Sec: 1}
	q := request{from: c.host, port: 2, ttl: c.ttl, asks: 1}
	for i := range 40 {
		s.take(q, nil)
		s.reply(q, true)
		if i%20 == 0 { // the host
			again := q
			again.key = s.key(c.host)
			s.take(again, nil)
			s.take(again, nil) // two questions with one challenge
		}
	}
	if b := target.At(1); b.Given != 40 || b.Brought != 3 {
		t.Errorf("got  %d challenges given, %d brought back\nwant 40, 3: the second question of i = 20 brings an earlier one back", b.Given, b.Brought)
	}
}

// A challenge that a source brings before the capture shows it given is a proof: the clock of what the
// server sends is late, and nobody guesses it.
func TestEarlyEcho(t *testing.T) {
	for _, right := range []bool{true, false} {
		w := newWorld(1)
		s := w.server(usual, 27015)
		busy, c := w.client(100_000), w.client(1)
		for range promoteSecond {
			w.query(busy, 1, s, 1, false)
		}
		target := w.d.servers.find(&s.host, s.port)
		target.LastChallenge, target.FirstChallenge = 1, -2*measure.FreshFor // none that is not shown is of before
		q := request{from: c.host, port: 2, ttl: c.ttl, asks: 1}
		s.take(q, nil)
		again := q
		again.key = s.key(c.host)
		if !right {
			again.key ^= 1
		}
		s.take(again, nil)
		s.reply(q, true)
		x := track.Sighting{What: track.IsRequest, Src: c.host, Dst: s.host, DstPort: s.port, Asks: 1}
		x.FillHashes(seed)
		if got := w.d.isProven(&x); got != right {
			t.Errorf("right %t\ngot  proven %t", right, got)
		}
	}
}

// However many sources are invented, with a challenge or without, about measure.ClaimsEach are
// followed in a second, and all of them again when it is over.
func TestClaimLevel(t *testing.T) {
	for _, flags := range []track.SightFlags{0, track.HasKey} {
		w := newWorld(1)
		s := w.server(usual, 27015)
		for second := range int64(20) {
			for range 100_000 {
				x := track.Sighting{What: track.IsRequest, Age: second * 1e9, Src: w.anywhere(), Dst: s.host, DstPort: s.port,
					Asks: 1, Bytes: 25, Flags: flags, Key: w.r.Uint32()}
				x.FillHashes(seed)
				w.d.Sight(&x)
			}
		}
		if got := 100_000 >> w.d.claims.SampleLevel; got > measure.ClaimsEach || got < measure.ClaimsEach/3 {
			t.Errorf("at 100,000 sources a second, flags %d\ngot  %d followed\nwant %d at most, a third of that at least", flags, got, measure.ClaimsEach)
		}
		w.d.Tick(60e9, 60e9)
		if got := w.d.claims.SampleLevel; got != 0 {
			t.Errorf("after the attack one source in 2^n is followed\ngot  n = %d\nwant 0", got)
		}
	}
}

// TestOrphanCountsOnce: a request with a challenge that the capture does not show is no query
// where the server challenges, an orphan until the answer comes, a guess if that refuses it.
func TestOrphanCountsOnce(t *testing.T) {
	for _, tt := range []struct {
		name                      string
		answer                    bool // the server answers
		isValid                   bool
		queries, orphans, guesses uint32
	}{
		{"no answer", false, false, 0, 1, 0},
		{"refused", true, false, 0, 0, 1},
		{"accepted", true, true, 0, 1, 0},
	} {
		w := newWorld(1)
		s := w.server(usual, 27015)
		w.every(2*promoteSecond, 0, 70*sec, func(i int) { w.query(w.client(i%50), 1, s, dissect.AskInfo, true) })
		w.run(70 * sec)
		target := w.d.servers.find(&s.host, s.port)
		c := w.client(1000)
		q := request{from: c.host, port: 2, ttl: c.ttl, asks: dissect.AskInfo, key: s.key(c.host)}
		if !tt.isValid {
			q.key ^= 1 << 20
		}
		w.now += sec
		s.take(q, nil)
		if tt.answer {
			s.reply(q, !tt.isValid)
		}
		b := target.Sum(w.d.book.Now, 1)
		if b.Packets != 1 || b.Queries != tt.queries || b.Orphans != tt.orphans || b.Guesses != tt.guesses {
			t.Errorf("%s\ngot  %d queries, %d orphans, %d guesses of %d packets\nwant %d, %d, %d of 1",
				tt.name, b.Queries, b.Orphans, b.Guesses, b.Packets, tt.queries, tt.orphans, tt.guesses)
		}
	}
}
