package measure

import (
	"qsniff/track"
)

// Request is what a request turned out to be.
type Request struct {
	IsQuery  bool // it counts as a query: it is not the echo of a request that counted
	IsProven bool // its source proved its address in the last ProvenFor seconds
	IsGuess  bool // it has a challenge that was never issued to it
}

// CheckRequest compares the challenge of a request with those that its source was given,
// and records the request. t and b are nil where the server is not watched closely: then
// nothing is counted there.
func (c *Claims) CheckRequest(t *Server, b *Second, s *track.Sighting, now int32) Request {
	follows := c.follows(s.ClientHash)
	if !follows && s.Flags&track.HasKey == 0 {
		return Request{IsQuery: true}
	}
	x := c.add(claimKey(s.ServerHash, s.ClientHash), now) // few requests of a flood from invented addresses have a challenge
	if x.pending > 0 && now-x.askedAt > PendingFor {
		x.pending, x.unproven, x.awaitsEcho = 0, 0, false
	}
	if s.Flags&track.HasKey == 0 && !(s.Flags&track.Cut != 0 && x.awaitsEcho && uint16(s.Bytes) == x.plainBytes+uint16(s.Type.TokenLen())) {
		return c.recordPlain(b, s, x, now)
	}
	x.lastWasPlain = false
	switch {
	case s.Flags&track.HasKey == 0:
		return c.recordEcho(t, x, now, false)
	case x.challenge == 0 && x.previous == 0 && !follows: // it is not in the sample: the challenge may be valid
		return Request{IsQuery: t == nil || t.LastChallenge == 0}
	case x.challenge == 0 && x.previous == 0:
		return c.recordUnissued(t, s, x, now)
	case s.Key == x.challenge || s.Key == x.previous:
		return c.recordEcho(t, x, now, true)
	}
	return Request{IsGuess: true, IsProven: x.isProven(now)}
}

// recordPlain records a request without a challenge.
func (c *Claims) recordPlain(b *Second, s *track.Sighting, x *claim, now int32) Request {
	x.lastWasPlain, x.plainBytes = true, uint16(s.Bytes)
	if x.pending == 0 {
		x.askedAt, x.level = now, c.SampleLevel
	}
	x.pending = min(x.pending, 1<<15) + 1
	r := Request{IsQuery: true, IsProven: x.isProven(now)}
	if !r.IsProven {
		x.unproven = min(x.unproven, 1<<15) + 1
		if b != nil {
			b.Unproven += x.weight()
		}
	}
	return r
}

// recordEcho records a request that brings back what its source was given. isWhole is
// false where the capture cut the challenge.
func (c *Claims) recordEcho(t *Server, x *claim, now int32, isWhole bool) Request {
	r := Request{IsQuery: x.pending == 0, IsProven: true}
	x.pending -= min(x.pending, 1)
	x.provedAt = now
	c.recentlyProven.Add(x.key)
	if t == nil {
		return r
	}
	if !isWhole {
		t.LastCut = now
	}
	w := x.weight()
	if b := t.At(x.askedAt); b != nil {
		b.ProvenLater += w * uint32(x.unproven)
	}
	if x.awaitsEcho {
		if b := t.At(x.issuedAt); b != nil {
			b.Echoed += w
		}
	}
	x.unproven, x.awaitsEcho = 0, false
	return r
}

// recordUnissued records a request with a challenge that the capture did not show. If the
// capture shows no challenge of this server, or the first one less than FreshFor ago, the
// challenge may well be valid: then the request counts as an echo.
func (c *Claims) recordUnissued(t *Server, s *track.Sighting, x *claim, now int32) Request {
	r := Request{IsQuery: x.pending == 0}
	switch {
	case t == nil || t.LastChallenge == 0 || now-t.FirstChallenge < FreshFor:
		// A capture of one direction shows no better proof than what looks like an echo.
		if t != nil && t.LastChallenge == 0 && x.pending > 0 {
			x.provedAt, r.IsProven = now, true
			c.recentlyProven.Add(x.key)
		}
		if x.pending > 0 {
			x.pending--
			if b := t.At(x.askedAt); b != nil {
				b.ProvenLater += x.weight() * uint32(x.unproven)
			}
			x.unproven = 0
		}
	case x.unissued == 0: // its first one: it may have been given before the capture began
		if b := t.At(now); b != nil && x.pending == 0 { // a pending one may have got a challenge that the capture lacks
			b.Orphans += c.weight()
		}
	case x.unissued != s.Key:
		r.IsGuess = true
	}
	x.unissued = s.Key
	return r
}

// RecordChallenge records a challenge that a server gives. t is nil where the server is
// not watched closely.
func (c *Claims) RecordChallenge(t *Server, s *track.Sighting, clock Clock) {
	if t != nil {
		if t.LastChallenge == 0 {
			t.FirstChallenge = clock.Now
		}
		t.LastChallenge = clock.Now
	}
	key := claimKey(s.ServerHash, s.ClientHash)
	x := c.find(key)
	if x == nil {
		if !c.follows(s.ClientHash) {
			return
		}
		x = c.add(key, clock.Now)
	}
	if s.Key != x.challenge {
		x.previous, x.challenge = x.challenge, s.Key
	}
	if t == nil {
		return
	}
	b := t.OpenSecond(clock.Now, clock.Nanos)
	switch {
	case x.pending > 0 && !x.awaitsEcho:
		x.awaitsEcho, x.issuedAt = true, clock.Now
		b.Challenged += x.weight()
	case x.unissued != 0 && x.unissued != s.Key && !x.lastWasPlain && clock.Now-t.FirstChallenge >= FreshFor:
		// The server refuses the challenge that the source brought.
		x.unissued = 0
		t.countRefusedGuess(s, b, clock.Now, c.weight())
	}
}

// IsProven reports whether a source proved its address to a server in the last ProvenFor
// seconds. It also holds for sources outside the sample that brought a challenge back.
func (c *Claims) IsProven(server, source uint64, now int32) bool {
	key := claimKey(server, source)
	if !c.recentlyProven.Has(key) {
		return false
	}
	x := c.find(key)
	return x != nil && x.isProven(now)
}

// TakePlainRequest returns the length of the request without a challenge that a reply to
// client answers; ok is false if there is none. It returns each request once.
func (c *Claims) TakePlainRequest(server, client uint64, now int32) (bytes uint16, ok bool) {
	if !c.follows(client) {
		return 0, false
	}
	x := c.find(claimKey(server, client))
	if x == nil || !x.lastWasPlain || x.pending == 0 || now-x.lastUsed > PendingFor {
		return 0, false
	}
	x.pending--
	x.lastWasPlain = false
	return x.plainBytes, true
}
