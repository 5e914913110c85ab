package measure

import "qsniff/internal/track"

// Clock is the time of the current packet.
type Clock struct {
	Now   int32 // seconds since the first packet, from 1
	Nanos int64 // its time stamp
}

// recordAsked records that the server was asked something in frame, and returns the counts
// of that second.
func (t *Server) recordAsked(c Clock, frame uint64) *Second {
	t.LastAsked = c.Now
	b := t.OpenSecond(c.Now, c.Nanos)
	if b.Frame == 0 {
		b.Frame = frame
	}
	return b
}

// CountRequest counts a request of any kind and returns the counts of its second.
func (t *Server) CountRequest(s *track.Sighting, c Clock) *Second {
	b := t.recordAsked(c, s.Frame)
	t.learnProto(s)
	n := s.Count()
	t.weight = n
	b.Packets += n
	b.BytesIn += uint64(n) * uint64(s.Bytes)
	if s.Flags&track.HasKey != 0 {
		b.WithChallenge += n
	}
	return b
}

// maxVotes bounds how long the majority of before outvotes a flood of another protocol.
const maxVotes = 250

// learnProto sets Proto to the protocol that most packets have (Boyer and Moore 1981).
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

// countQuery counts a request that is a query, in its second b and in the sketches of the
// pane.
func (t *Server) countQuery(s *track.Sighting, c Clock, b *Second, isProven bool) {
	b.Queries += s.Count()
	if f := &b.bins[uint64(c.Nanos)/10e6%100]; *f < 255 {
		*f++
	}
	if isProven {
		b.Proven++
	}
	t.currentPane().addQuery(t.key, s, s.ClientHash, c.Now, isProven)
}

// CountChecked counts a request by what Claims.CheckRequest made of it. second is the one
// that CountRequest returned for it.
func (t *Server) CountChecked(s *track.Sighting, c Clock, second *Second, r Request) {
	switch {
	case r.IsGuess:
		t.countShape(Guesses, s, c.Now)
		t.countGuess(s, c)
	case r.MayBeGuess:
		t.countShape(Guesses, s, c.Now)
		t.countMaybeGuess(s)
	case r.IsQuery:
		t.countShape(Queries, s, c.Now)
		t.countQuery(s, c, second, r.IsProven)
	}
	if r.IsProven && s.Flags&track.HasKey != 0 && !r.IsGuess && !r.MayBeGuess { // of a query that was counted, or is one
		if v, _, _ := t.currentPane().top[Queries].Find(s.Src, s.ClientHash); v != nil {
			v.provenPort = s.SrcPort
			v.addEchoes(&Activity{echoes: 1})
		}
	}
}

// countGuess counts the source of a request whose challenge was never issued to it. Package
// measure counted the request itself.
func (t *Server) countGuess(s *track.Sighting, c Clock) {
	t.currentPane().addOther(Guesses, t.key, s, s.ClientHash, c.Now)
}

// countMaybeGuess counts the source of a request whose challenge may be a guess.
func (t *Server) countMaybeGuess(s *track.Sighting) {
	t.currentPane().addSource(Guesses, s.ClientHash)
}

// recordRefusal makes an orphan of the second asked a guess, which is not counted once more.
// s is the refusal: the server's new challenge.
func (t *Server) recordRefusal(s *track.Sighting, asked, now int32, isFollowed bool) {
	if b := t.At(asked); b != nil && isFollowed && b.Orphans > 0 {
		b.Orphans--
		b.Guesses++
	}
	p := t.currentPane()
	p.addSource(Guesses, s.ClientHash)
	if v := p.top[Guesses].Add(&s.Dst, s.ClientHash); v != nil {
		if v.First == 0 {
			v.First = now
		}
		v.last = now
	}
}

// CountJunk counts a datagram that no protocol recognizes.
func (t *Server) CountJunk(s *track.Sighting, c Clock) {
	b := t.recordAsked(c, s.Frame)
	t.weight = s.Count()
	b.Junk += s.Count()
	b.JunkBytes += uint64(s.Count()) * uint64(s.Bytes)
	t.countShape(Junk, s, c.Now)
	t.currentPane().addOther(Junk, t.key, s, s.ClientHash, c.Now)
}

// CountStrange counts a datagram that is no query and belongs to no session.
func (t *Server) CountStrange(s *track.Sighting, c Clock) {
	b := t.OpenSecond(c.Now, c.Nanos)
	b.Strange += s.Count()
	b.JunkBytes += uint64(s.Count()) * uint64(s.Bytes)
	t.countShape(Junk, s, c.Now)
	t.currentPane().addOther(Junk, t.key, s, s.ClientHash, c.Now)
}

// CountReply counts what the server sends. isFirst is false for the parts of a split reply
// after its first.
func (t *Server) CountReply(s *track.Sighting, c Clock, isFirst bool) {
	t.LastSent = c.Now
	b := t.OpenSecond(c.Now, c.Nanos)
	b.BytesOut += uint64(s.Count()) * uint64(s.Bytes)
	if v, _, _ := t.currentPane().top[Queries].Find(s.Dst, s.ClientHash); v != nil {
		v.bytesOut += s.Bytes
		if s.What == track.IsChallenge {
			v.addEchoes(&Activity{challenged: 1})
		}
	}
	if isFirst {
		b.Replies += s.Count()
	}
	t.learnProto(s)
}

// CountUnreachable counts an ICMP error about a reply.
func (t *Server) CountUnreachable(c Clock) { t.OpenSecond(c.Now, c.Nanos).Unreachable++ }

// The baseline moves towards the rate by 1/60 of the difference a second in the first
// learnUntil seconds, later by 1/600. Chosen: a start in mid-traffic settles in two
// minutes, and a flood of a minute moves the baseline by a tenth of the difference.
const (
	learnFast  = 1.0 / 60
	learnSlow  = 1.0 / 600
	learnUntil = 120 // seconds
	// learnFloor and learnFactor bound what one second can teach: a flood that begins
	// slowly must not become the baseline.
	learnFloor  = 10
	learnFactor = 4
)

// StartFrom sets the baseline to a rate that was counted before t was watched closely; 0: none was.
func (t *Server) StartFrom(rate float64) {
	t.Base, t.learned = rate, 0
	if rate > 0 {
		t.learned = 1
	}
}

// Usual returns the queries/s when nothing is wrong, for people. The baseline begins at 0 and
// takes minutes to get there, which is on the safe side for rules; the mean of what it has
// learned so far is right from the first seconds on.
func (t *Server) Usual() float64 { return Share(t.Base, t.learned) }

// Learn moves the baseline and the habit towards the second that ends.
func (t *Server) Learn(now int32) {
	x := min(float64(t.Sum(now, 1).Queries), max(learnFloor, learnFactor*t.Base))
	step := learnSlow
	if now-t.Born < learnUntil {
		step = learnFast
	}
	t.Base += (x - t.Base) * step
	t.learned += (1 - t.learned) * step
	echoed := t.Sum(now-echoDelay, 1)
	h := &t.habit
	h.challenged += (float64(echoed.Challenged) - h.challenged) * step
	h.echoed += (float64(echoed.Echoed) - h.echoed) * step
	h.orphans += (min(float64(echoed.Orphans), max(minOrphans, orphansFactor*h.orphans)) - h.orphans) * step
}
