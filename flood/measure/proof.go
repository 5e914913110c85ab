package measure

import (
	"qsniff/track"
)

// Request is what a request turns out to be.
type Request struct {
	Query  bool // it counts: not the second half of an exchange that counted
	Proven bool // its source proved its address not long ago
	Guess  bool // it has a challenge that was never issued to it
}

// ReadRequest holds a request against what its source was given. t and b are nil where
// the server is not watched closely: then the request is remembered only.
func (c *Claims) ReadRequest(t *Server, b *Second, s *track.Sighting, now int32) Request {
	follows := c.follows(s.ClientHash)
	if !follows && s.Flags&track.HasKey == 0 {
		return Request{Query: true}
	}
	x := c.add(claimKey(s.ServerHash, s.ClientHash), now) // who has a challenge is rare in a flood of others
	if x.pending > 0 && now-x.asked > PendingFor {
		x.pending, x.unproven, x.waits = 0, 0, false
	}
	if s.Flags&track.HasKey == 0 && !(s.Flags&track.Cut != 0 && x.waits && uint16(s.Bytes) == x.plain+uint16(s.Type.TokenLen())) {
		return c.readPlain(b, s, x, now)
	}
	x.open = false
	switch {
	case s.Flags&track.HasKey == 0:
		return c.readEcho(t, x, now, false)
	case x.value == 0 && x.before == 0 && !follows: // it may have been given it just now
		return Request{Query: t == nil || t.LastChallenge == 0}
	case x.value == 0 && x.before == 0:
		return c.readUnknown(t, s, x, now)
	case s.Key == x.value || s.Key == x.before:
		return c.readEcho(t, x, now, true)
	}
	return Request{Guess: true, Proven: x.proven(now)}
}

// readPlain takes a request without a challenge.
func (c *Claims) readPlain(b *Second, s *track.Sighting, x *claim, now int32) Request {
	x.open, x.plain = true, uint16(s.Bytes)
	if x.pending == 0 {
		x.asked, x.level = now, c.Level
	}
	x.pending = min(x.pending, 1<<15) + 1
	r := Request{Query: true, Proven: x.proven(now)}
	if !r.Proven {
		x.unproven = min(x.unproven, 1<<15) + 1
		if b != nil {
			b.Unproven += x.weight()
		}
	}
	return r
}

// readEcho takes a request that brings back what its source was given; whole is not set
// where the capture cut the value.
func (c *Claims) readEcho(t *Server, x *claim, now int32, whole bool) Request {
	r := Request{Query: x.pending == 0, Proven: true}
	x.pending -= min(x.pending, 1)
	x.proved = now
	c.shown.Add(x.key)
	if t == nil {
		return r
	}
	if !whole {
		t.LastCut = now
	}
	w := x.weight()
	if b := t.At(x.asked); b != nil {
		b.Credited += w * uint32(x.unproven)
	}
	if x.waits {
		if b := t.At(x.issued); b != nil {
			b.Echoed += w
		}
	}
	x.unproven, x.waits = 0, false
	return r
}

// readUnknown takes a request with a challenge that the capture did not show. Where it
// shows none of this server, or just began, nothing can be said against it: it
// counts as the echo that it looks like.
func (c *Claims) readUnknown(t *Server, s *track.Sighting, x *claim, now int32) Request {
	r := Request{Query: x.pending == 0}
	switch {
	case t == nil || t.LastChallenge == 0 || now-t.FirstChallenge < FreshFor:
		if t != nil && t.LastChallenge == 0 && x.pending > 0 { // in one direction, what looks like proof is all there is
			x.proved, r.Proven = now, true
			c.shown.Add(x.key)
		}
		if x.pending > 0 {
			x.pending--
			if b := t.At(x.asked); b != nil {
				b.Credited += x.weight() * uint32(x.unproven)
			}
			x.unproven = 0
		}
	case x.cached == 0: // it may have been given before the capture began
		if b := t.At(now); b != nil && x.pending == 0 { // else its challenge may be missing in the capture
			b.Orphans += c.weight()
		}
	case x.cached != s.Key:
		r.Guess = true
	}
	x.cached = s.Key
	return r
}

// ReadChallenge takes a challenge that a server gives. t is nil where the server is not
// watched closely.
func (c *Claims) ReadChallenge(t *Server, s *track.Sighting, at Clock) {
	if t != nil {
		if t.LastChallenge == 0 {
			t.FirstChallenge = at.Now
		}
		t.LastChallenge = at.Now
	}
	key := claimKey(s.ServerHash, s.ClientHash)
	x := c.find(key)
	if x == nil {
		if !c.follows(s.ClientHash) {
			return
		}
		x = c.add(key, at.Now)
	}
	if s.Key != x.value {
		x.before, x.value = x.value, s.Key
	}
	if t == nil {
		return
	}
	b := t.Second(at.Now, at.Nanos)
	switch {
	case x.pending > 0 && !x.waits:
		x.waits, x.issued = true, at.Now
		b.Challenged += x.weight()
	case x.cached != 0 && x.cached != s.Key && !x.open && at.Now-t.FirstChallenge >= FreshFor: // what it had brought is refused
		x.cached = 0
		t.countRefusedGuess(s, b, at.Now, c.weight())
	}
}

// IsProven reports whether a source proved its address to a server not long ago, whoever
// is followed.
func (c *Claims) IsProven(server, source uint64, now int32) bool {
	key := claimKey(server, source)
	if !c.shown.Has(key) {
		return false
	}
	x := c.find(key)
	return x != nil && x.proven(now)
}

// TakePlain reports whether a reply to a client answers a request that brought no
// challenge, and how long that request was. It answers one request once.
func (c *Claims) TakePlain(server, client uint64, now int32) (bytes uint16, ok bool) {
	if !c.follows(client) {
		return 0, false
	}
	x := c.find(claimKey(server, client))
	if x == nil || !x.open || x.pending == 0 || now-x.last > PendingFor {
		return 0, false
	}
	x.pending--
	x.open = false
	return x.plain, true
}
