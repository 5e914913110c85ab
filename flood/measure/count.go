package measure

import "qsniff/track"

// Clock is the time of the packet at hand.
type Clock struct {
	Now   int32 // seconds since the first packet, from 1
	Nanos int64 // its time stamp
}

// touch returns the counts of the second at hand, with the packet as its first one if
// there was none.
func (t *Server) touch(c Clock, frame uint64) *Second {
	t.LastAsked = c.Now
	b := t.Second(c.Now, c.Nanos)
	if b.Frame == 0 {
		b.Frame = frame
	}
	return b
}

// CountRequest counts a request of any kind.
func (t *Server) CountRequest(s *track.Sighting, c Clock) *Second {
	b := t.touch(c, s.Frame)
	t.learnProto(s)
	b.Packets++
	b.BytesIn += uint64(s.Bytes)
	if s.Flags&track.HasKey != 0 {
		b.Keyed++
	}
	return b
}

// maxVotes bounds how long the majority of before outvotes a flood of another protocol.
const maxVotes = 250

// learnProto keeps which protocol most packets have (Boyer and Moore 1981).
func (t *Server) learnProto(s *track.Sighting) {
	switch {
	case s.Proto == nil:
	case s.Proto == t.Proto:
		t.votes = min(t.votes+1, maxVotes)
	case t.votes > 0:
		t.votes--
	default:
		t.Proto, t.votes = s.Proto, 1
	}
}

// CountQuery counts a request that is a query, in its second b and in the sketches.
func (t *Server) CountQuery(s *track.Sighting, c Clock, b *Second, proven bool) {
	b.Queries++
	if f := &b.fine[uint64(c.Nanos)/10e6%100]; *f < 255 {
		*f++
	}
	if proven {
		b.Proven++
	}
	t.pane().addQuery(t.key, s, s.ClientHash, c.Now, proven)
}

// CountGuess counts a request whose challenge was never issued to its source.
func (t *Server) CountGuess(s *track.Sighting, c Clock, b *Second) {
	b.Bad++
	t.pane().add(Guesses, t.key, s, s.ClientHash, c.Now)
}

// countRefusedGuess counts weight sources whose challenge the server answers with another
// one: s is that answer.
func (t *Server) countRefusedGuess(s *track.Sighting, b *Second, now int32, weight uint32) {
	b.Bad += weight
	p := t.pane()
	p.sources[Guesses].Add(s.ClientHash)
	if v := p.top[Guesses].Add(s.Dst, s.ClientHash); v != nil {
		if v.First == 0 {
			v.First = now
		}
		v.last = now
	}
}

// CountJunk counts a datagram that no server of ours understands.
func (t *Server) CountJunk(s *track.Sighting, c Clock) {
	b := t.touch(c, s.Frame)
	b.Junk++
	b.JunkBytes += uint64(s.Bytes)
	t.pane().add(Junk, t.key, s, s.ClientHash, c.Now)
}

// CountStrange counts a datagram that is no query and belongs to no session.
func (t *Server) CountStrange(s *track.Sighting, c Clock) {
	t.Second(c.Now, c.Nanos).Strange++
	t.pane().add(Junk, t.key, s, s.ClientHash, c.Now)
}

// CountReply counts what the server sends. whole is not set for parts of a reply after
// its first.
func (t *Server) CountReply(s *track.Sighting, c Clock, whole bool) {
	t.LastSent = c.Now
	b := t.Second(c.Now, c.Nanos)
	b.BytesOut += uint64(s.Bytes)
	if v, _, _ := t.pane().top[Queries].Find(s.Dst, s.ClientHash); v != nil {
		v.out += s.Bytes
		v.given = v.given || s.What == track.IsChallenge
	}
	if whole {
		b.Replies++
	}
	t.learnProto(s)
}

// CountUnreachable counts an ICMP error about a reply.
func (t *Server) CountUnreachable(c Clock) { t.Second(c.Now, c.Nanos).Unreach++ }

// How the baseline follows the rate: by a tenth of the difference a minute in the
// first two minutes, later by a hundredth.
const (
	learnFast  = 1.0 / 60
	learnSlow  = 1.0 / 600
	learnUntil = 120 // seconds
	// learnLeast and learnFactor bound what one second can teach: a flood that begins
	// slowly is not to become the baseline.
	learnLeast  = 10
	learnFactor = 4
)

// Learn moves what is usual towards the second that ends.
func (t *Server) Learn(now int32) {
	x := min(float64(t.Sum(now, 1).Queries), max(learnLeast, learnFactor*t.Base))
	step := learnSlow
	if now-t.Born < learnUntil {
		step = learnFast
	}
	t.Base += (x - t.Base) * step
	late := t.Sum(now-completionDelay, 1)
	h := &t.habit
	h.challenged += (float64(late.Challenged) - h.challenged) * step
	h.echoed += (float64(late.Echoed) - h.echoed) * step
	h.orphans += (float64(late.Orphans) - h.orphans) * step
}
