package vantages_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"qsniff/internal/track/vantages"
)

// scene is captures of several clients, and whether something answers all of them at the same time over
// different paths.
type scene struct {
	name    string
	clients []client
	isFlat  bool
}

// between returns a time from lo to hi.
func between(rng *rand.Rand, lo, hi time.Duration) time.Duration {
	return lo + time.Duration(rng.Int64N(int64(hi-lo)))
}

// newScene returns a scene: of each seed another one, half of them flat.
func newScene(seed uint64) scene {
	rng := rand.New(rand.NewPCG(seed, 7))
	near := between(rng, 5*ms, 40*ms)
	base := client{polls: 20 + rng.IntN(40), jitter: between(rng, 200*time.Microsecond, 3*ms), loss: 0.05, isSteady: rng.IntN(4) == 0}
	evidence := rng.IntN(3)
	switch evidence {
	case 0:
		base.handshakes = 20
	case 1:
		base.echoes = true
	case 2:
		base.players = true
	}
	if rng.IntN(2) == 0 {
		base.frame = between(rng, 15*ms, 66*ms)
	}
	s := scene{}
	put := func(path time.Duration, change func(c *client)) {
		c := base
		c.path = path
		change(&c)
		s.clients = append(s.clients, c)
	}
	far := near + between(rng, 200*ms, 300*ms) // enough for any evidence, frame and jitter of these
	more := rng.IntN(3)
	kind := rng.IntN(3)
	if s.isFlat = seed%2 == 0; s.isFlat {
		switch kind {
		case 0, 1:
			s.name = "edge"
			for range 1 + more {
				put(between(rng, near, far), func(c *client) { c.edge = between(rng, ms, 12*ms) })
			}
			put(near, func(c *client) { c.edge = between(rng, ms, 12*ms) })
			put(far, func(c *client) { c.edge = between(rng, ms, 12*ms) })
		case 2:
			s.name = "hold"
			hold := far + 100*ms
			put(near, func(c *client) { c.hold = hold })
			put(far, func(c *client) { c.hold = hold })
		}
		return s
	}
	switch seed / 2 % 8 {
	case 0:
		s.name = "honest"
		put(near, func(*client) {})
		put(far, func(*client) {})
	case 1:
		s.name = "near to each other"
		for range 2 + more {
			put(near+between(rng, 0, 8*ms), func(*client) {})
		}
	case 2:
		s.name = "long frames, clients that ask on the dot"
		base.frame, base.isSteady = 66*ms, true
		put(near, func(*client) {})
		put(near+between(rng, 10*ms, 66*ms), func(*client) {})
	case 3:
		s.name = "busy"
		base.work = between(rng, 50*ms, 800*ms)
		put(near, func(*client) {})
		put(far, func(*client) {})
	case 4:
		s.name = "one has as much jitter as the other's path is longer"
		put(near, func(c *client) { c.jitter = 20 * ms })
		put(near+between(rng, 30*ms, 60*ms), func(*client) {})
	case 5:
		s.name = "few answers"
		base.polls = vantages.LeastAnswers - 1
		put(near, func(c *client) { c.edge = 3 * ms })
		put(far, func(c *client) { c.edge = 3 * ms })
	case 6:
		s.name = "all of the host at the edge"
		put(near, func(c *client) { c.edge, c.isProxied = 3*ms, true })
		put(far, func(c *client) { c.edge, c.isProxied = 5*ms, true })
	case 7:
		s.name = "clients near to each other, much loss"
		base.loss = 0.3
		put(near, func(*client) {})
		put(near+between(rng, 10*ms, 40*ms), func(*client) {})
	}
	return s
}

// TestScore: of 400 scenes with lognormal jitter and 5 % loss, at least 98 of 100 flat ones are found, and
// at least 98 of 100 that are found are flat.
func TestScore(t *testing.T) {
	reg := registry(t)
	var flat, found, both float64
	for seed := range uint64(400) {
		x := newScene(seed)
		all := vantages.Compare(played(t, reg, seed, x.clients...), nil)
		isFound := slices.ContainsFunc(all, func(s vantages.Server) bool { return s.Verdict == vantages.Flat })
		if x.isFlat {
			flat++
		}
		if isFound {
			found++
		}
		if x.isFlat && isFound {
			both++
		}
		if x.isFlat != isFound {
			s := &all[0]
			t.Logf("seed %d, %s: %v by %s, answers differ by %v, paths by %v of %v, %+v", seed, x.name, s.Verdict, s.Path[0].Name(), s.AnswersDiffer, s.PathsDiffer, s.Needed, x.clients[0])
		}
	}
	recall, precision := both/flat, both/max(found, 1)
	t.Logf("recall %.3f, precision %.3f", recall, precision)
	const least = 0.98
	if recall < least || precision < least {
		t.Errorf("recall %.3f, precision %.3f, want %.2f", recall, precision, least)
	}
}
