package flood

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"qsniff/internal/base/digits"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// Leak is what a server sent in answer to challenges that it had never given, at least: the first
// one of an address may be from before the capture, so its answer does not count.
type Leak struct {
	Replies uint64
	Bytes   uint64 // of payload
	To      []LeakReceiver
}

// LeakReceiver is one of the hosts that got the most of a leak. The counts are since the host
// is among them.
type LeakReceiver struct {
	Addr           netip.Addr
	Replies, Bytes uint64
}

// leak counts, at one server, the answers with data to guessed challenges.
type leak struct {
	replies, bytes uint64
	lastSec        int32
	to             [leakReceivers]leakReceiver
}

type leakReceiver struct {
	host           track.Host
	replies, bytes uint64
}

// add counts an answer, or a further part of one. After a pause as long as the quiet time,
// another run begins.
func (x *leak) add(s *track.Sighting, isWhole bool, now int32, quiet time.Duration) {
	if x.lastSec > 0 && float64(now-x.lastSec) >= quiet.Seconds() {
		*x = leak{}
	}
	x.lastSec = now
	n, least := uint64(0), 0
	if isWhole {
		n = 1
	}
	x.replies += n
	x.bytes += uint64(s.Bytes)
	for i := range x.to {
		r := &x.to[i]
		if r.host == s.Dst {
			r.replies, r.bytes = r.replies+n, r.bytes+uint64(s.Bytes)
			return
		}
		if r.bytes < x.to[least].bytes {
			least = i
		}
	}
	x.to[least] = leakReceiver{s.Dst, n, uint64(s.Bytes)}
}

// leastLeaked is how many answers show that guesses succeed. Chosen: a server that changes its
// challenge may answer the old one of a few clients meanwhile.
const leastLeaked = 5

// hasSucceeded reports whether the server answers guesses.
func (x *leak) hasSucceeded() bool { return x.replies >= leastLeaked }

// describe returns the leak as an incident has it.
func (x *leak) describe() Leak {
	l := Leak{Replies: x.replies, Bytes: x.bytes}
	for _, r := range x.to {
		if r.bytes > 0 {
			l.To = append(l.To, LeakReceiver{r.host.Addr(), r.replies, r.bytes})
		}
	}
	slices.SortStableFunc(l.To, func(a, b LeakReceiver) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return l
}

// sentence returns the leak in words.
func (l *Leak) sentence() Sentence {
	var s sentences
	s.add("GUESSED CHALLENGES WERE ANSWERED: at least %s, %s went out to %s", digits.Counted(l.Replies, "reply with data", "replies with data"),
		bytesOf(l.Bytes), l.receivers())
	return s[0]
}

// receivers names the receiver that got the most, and whether there are others.
func (l *Leak) receivers() string {
	if len(l.To) == 0 {
		return "nobody"
	}
	first := l.To[0].Addr.String()
	switch {
	case len(l.To) == 1:
		return first
	case l.To[0].Bytes*2 < l.Bytes:
		return digits.Counted(uint64(len(l.To)), "address", "addresses") + " and more"
	}
	return first + " and others"
}

// guessers remembers for a moment who sent which server a challenge that it never gave, so
// that the answer is recognized. A newer guess replaces an older one at its place.
type guessers struct {
	places [guessPlaces]uint64
	isUsed bool // one was recorded: most captures have none
}

func guessKey(s *track.Sighting) uint64 {
	_, port := s.Client()
	return lru.Mix(lru.Mix(s.ServerHash, s.ClientHash), uint64(port)) | 1
}

// recordRequest records whether the last request of a client was a guess.
func (g *guessers) recordRequest(s *track.Sighting, isGuess bool) {
	if isGuess || g.isUsed {
		g.record(s, isGuess)
	}
}

// record is recordRequest where there is something to record, or to change.
func (g *guessers) record(s *track.Sighting, isGuess bool) {
	k := guessKey(s)
	switch place := &g.places[k%guessPlaces]; {
	case isGuess:
		*place, g.isUsed = k, true
	case *place == k:
		*place = 0
	}
}

// isAnswer reports whether a reply with data goes to a client whose last request was a guess.
func (g *guessers) isAnswer(s *track.Sighting) bool {
	if !g.isUsed || s.What == track.IsChallenge {
		return false
	}
	k := guessKey(s)
	return g.places[k%guessPlaces] == k
}

// recordLeak counts a reply of a server that is watched closely if it answers a guess.
func (d *Detector) recordLeak(w *watched, s *track.Sighting, isWhole bool) {
	if d.guessers.isAnswer(s) {
		w.courses[ofGuesses].leak.add(s, isWhole, d.book.Now, d.book.lim.Quiet)
	}
}

// updateLeak fills in what guesses brought so far, and reports whether that is news.
func (c *course) updateLeak() (isNew bool) {
	if c.in == nil || !c.leak.hasSucceeded() {
		return false
	}
	in := c.in
	isNew = !in.Succeeded
	in.Succeeded, in.Leak = true, c.leak.describe()
	if !isNew && len(in.Evidence) > 0 && c.toldLeak {
		in.Evidence[0] = in.Leak.sentence()
		return false
	}
	in.Evidence = slices.Insert(in.Evidence, 0, in.Leak.sentence())
	c.toldLeak = true
	return isNew
}

const (
	// limit: guessPlaces is how many clients that guess challenges are kept until the answer comes, 32
	// KiB: more than guess in the time that an answer takes.
	guessPlaces = 1 << 12
	// limit: leakReceivers is how many of those who got answers to guesses are kept for each server.
	// Another one replaces the one that got the least.
	leakReceivers = 8
)
