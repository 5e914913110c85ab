package measure

import (
	"time"

	"qsniff/dissect"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// Server is a server that is watched closely: what it was asked and answered in the last
// seconds. Times are seconds of the detector; 0 is never.
type Server struct {
	serverState
	key     Key
	seconds [BinSeconds]Second
	shapes  [ShapeSeconds]secondShape
	panes   [2]pane // the current one is panes[turn&1]
}

// serverState is what of a Server is small.
type serverState struct {
	End   track.End
	Hash  uint64
	Proto *dissect.Proto // of most packets that have one
	// weight is how many packets the last one stood for. Seconds count what packets stand for, panes
	// the samples themselves: shares of these are right, and a source that came once is no busy one.
	weight uint32
	votes  uint8 // by how many these lead
	Born   int32 // when it became watched, or was counted first

	LastAsked      int32 // second of the last request or junk
	LastSent       int32 // any packet
	LacksPackets   bool  // the capture lacks many packets
	LastChallenge  int32 // the server gave one
	FirstChallenge int32 // the first that it gave
	LastCut        int32 // a source brought back a challenge that the capture cut

	Base    float64 // the baseline: queries/s when nothing is wrong
	learned float64 // the share of Base that is what was learned; the rest is the 0 that it began from
	habit   habit
	turn    int32
}

// habit is what the server's sources do in a second when nothing is wrong, as slow means
// of Second's counts.
type habit struct{ challenged, echoed, orphans float64 }

// Init allocates the sketches of a server. Call it once.
func (t *Server) Init(k Key) {
	t.key = k
	for i := range t.panes {
		t.panes[i].init()
	}
}

// Reset makes t another server. It reuses the memory, of which it copies none: who sprays
// random addresses makes servers follow each other.
func (t *Server) Reset(e track.End, hash uint64, now int32) {
	t.serverState = serverState{End: e, Hash: hash, Born: now, LastAsked: now, turn: now / PaneSeconds}
	clear(t.seconds[:])
	clear(t.shapes[:])
	for i := range t.panes {
		t.panes[i].reset(0)
	}
	t.currentPane().start = now
}

// Forget empties the window and the counts of seconds, as if nothing had come in them. The
// baseline stays.
func (t *Server) Forget(now int32) {
	clear(t.seconds[:])
	t.previousPane().reset(0)
	t.currentPane().reset(now)
}

func (t *Server) currentPane() *pane  { return &t.panes[t.turn&1] }
func (t *Server) previousPane() *pane { return &t.panes[(t.turn+1)&1] }

// PaneStart returns the second in which the current pane began.
func (t *Server) PaneStart() int32 { return t.currentPane().start }

// OpenSecond returns the counts of a second, which are zero if nothing came in it yet.
func (t *Server) OpenSecond(sec int32, nanos int64) *Second {
	b := &t.seconds[sec%BinSeconds]
	if b.Sec != sec {
		*b = Second{Sec: sec, Nanos: nanos}
	}
	return b
}

// At returns the counts of a second in the last BinSeconds, or nil if nothing happened in
// it.
func (t *Server) At(sec int32) *Second {
	if t == nil || sec < 0 {
		return nil
	}
	if b := &t.seconds[sec%BinSeconds]; b.Sec == sec {
		return b
	}
	return nil
}

// Sum adds up the n seconds that end with sec.
func (t *Server) Sum(sec, n int32) Second {
	var s Second
	for i := sec - n + 1; i <= sec; i++ {
		if b := t.At(i); b != nil {
			s.add(b)
		}
	}
	return s
}

// CountAsked returns how many requests and how much junk came in the n seconds that end with
// sec.
func (t *Server) CountAsked(sec, n int32) (sum uint32) {
	for i := sec - n + 1; i <= sec; i++ {
		if b := t.At(i); b != nil {
			sum += b.Packets + b.Junk
		}
	}
	return sum
}

// TurnPane begins a new pane if the current one has ended.
func (t *Server) TurnPane(now int32) {
	turn := now / PaneSeconds
	if turn == t.turn {
		return
	}
	if turn > t.turn+1 { // nothing happened in between
		t.panes[(turn+1)&1].reset(now - PaneSeconds)
	}
	t.turn = turn
	t.currentPane().reset(now)
}

// minSamples is how many samples of the last ten to twenty seconds a rate takes: with fewer it is off by
// a third and more, and one sample of a thousand looks like a flood of a thousand.
const minSamples = 10

// IsSampled reports whether what the server gets are samples.
func (t *Server) IsSampled() bool { return t.weight > 1 }

// IsTooFew reports whether n packets, counted by their weight, are too few samples for a rate.
func (t *Server) IsTooFew(n uint32) bool { return t.IsSampled() && n < minSamples*t.weight }

// IsOneWay reports whether the capture seems to have only what goes to the server.
func (t *Server) IsOneWay(now int32) bool {
	return t.LastSent == 0 || now-t.LastSent > BinSeconds && t.LastSent < t.Born
}

// BusiestCount returns how many queries of the window the busiest source sent, and how
// many there are.
func (t *Server) BusiestCount() (one, all uint32) {
	return t.panes[0].busiest + t.panes[1].busiest, t.panes[0].queries + t.panes[1].queries
}

// MergeSources adds the sources of a sort in the current pane to all.
func (t *Server) MergeSources(all *sketch.Distinct, sort Sort) {
	all.Merge(&t.currentPane().sources[sort])
}

// MergeSites adds the larger networks of the queries in the current pane to all.
func (t *Server) MergeSites(all *sketch.Distinct) { all.Merge(&t.currentPane().sites) }

// MergePreviousSources adds the sources of a sort in the previous pane to all.
func (t *Server) MergePreviousSources(all *sketch.Distinct, sort Sort) {
	all.Merge(&t.previousPane().sources[sort])
}

// Busiest lists the sources of a sort in the window, busiest first. It overwrites list and
// returns it.
func (t *Server) Busiest(list []BusyHost, sort Sort) []BusyHost {
	return mergeBusiest(list, t.currentPane().top[sort], t.previousPane().top[sort])
}

// EachPrefix calls f for each of the busiest networks of the current pane, in no order, with
// bounds of the number of their queries and a lower bound of the number of their hosts.
func (t *Server) EachPrefix(f func(prefix track.Host, low, high uint32, hosts int)) {
	t.currentPane().prefixes.Each(func(it *sketch.Item[track.Host, Neighbours], low, high uint32) {
		f(it.Key, low, high, it.Value.hosts.Count())
	})
}

// Second counts what happened at a server in one second. Counts of sources are estimates
// from the sample that Claims follows.
type Second struct {
	Sec   int32
	Nanos int64  // Unix time of its begin
	Frame uint64 // of its first packet

	Queries       uint32 // requests that are no echo of a challenge, no junk and no guess
	Packets       uint32 // requests of all kinds
	BytesIn       uint64
	Replies       uint32
	BytesOut      uint64
	Junk          uint32 // datagrams that no protocol recognizes
	JunkBytes     uint64
	Strange       uint32     // datagrams that are no query and belong to no session
	WithChallenge uint32     // requests with any challenge
	Checked       uint32     // those of them whose source is in the sample
	Guesses       uint32     // of Checked: the challenge was never issued to its source
	Orphans       uint32     // of Checked: the first challenge of its source, which the capture did not show, nor its refusal
	Unreachable   uint32     // ICMP errors about replies
	Proven        uint32     // queries of sources that had proved their address
	Plain         uint32     // requests without a challenge, estimated from the sample
	Followed      uint32     // those of them that one with a challenge followed within PendingFor seconds
	ProvenAsked   uint32     // requests with a challenge of sources that had proved their address, or do by that
	ProvenGiven   uint32     // replies to such sources that are no challenge
	Challenged    uint32     // sources that were challenged
	Echoed        uint32     // those of them that brought the challenge back
	Given         uint32     // challenges, also further ones of a source
	Brought       uint32     // challenges that were brought back
	bins          [100]uint8 // queries in each 10 ms, up to 255
}

// add adds the counts of another second.
func (s *Second) add(b *Second) {
	s.Queries += b.Queries
	s.Packets += b.Packets
	s.BytesIn += b.BytesIn
	s.Replies += b.Replies
	s.BytesOut += b.BytesOut
	s.Junk += b.Junk
	s.JunkBytes += b.JunkBytes
	s.Strange += b.Strange
	s.WithChallenge += b.WithChallenge
	s.Checked += b.Checked
	s.Guesses += b.extrapolate(b.Guesses)
	s.Orphans += b.extrapolate(b.Orphans)
	s.Unreachable += b.Unreachable
	s.Proven += b.Proven
	s.Plain += b.Plain
	s.Followed += b.Followed
	s.Challenged += b.Challenged
	s.Echoed += b.Echoed
	s.Given += b.Given
	s.Brought += b.Brought
}

// extrapolate returns for how many requests with a challenge n of Checked stand. A share is
// right even where one source of few sends most; all of them are never more than there were.
func (s *Second) extrapolate(n uint32) uint32 {
	if s.Checked == 0 || s.Checked >= s.WithChallenge {
		return n
	}
	return uint32(uint64(n) * uint64(s.WithChallenge) / uint64(s.Checked))
}

// isMostlyGuesses reports whether the requests of the second that brought a challenge are
// guesses mostly, or orphans, and not few.
func (s *Second) isMostlyGuesses() bool {
	n := s.Guesses + s.Orphans
	return n >= minOrphans && 2*n > s.Checked
}

// LastQuery returns the time, to 10 ms, by which all but the last usual queries had come of the
// second that ends at end; end, if no more than usual came.
func (s *Second) LastQuery(end int64, usual int) int64 {
	const bin = int64(10 * time.Millisecond)
	for t := end; t > end-int64(time.Second); t -= bin {
		if usual -= int(s.bins[uint64(t-1)/uint64(bin)%100]); usual < 0 {
			return t
		}
	}
	return end
}

// dispersion returns the variance of the queries in 10 ms divided by their mean: about 1
// where senders are independent of each other. ok is false where no query came or a bin
// is full.
func (s *Second) dispersion() (d float64, ok bool) {
	sum, squares := 0.0, 0.0
	for _, n := range s.bins {
		if n == 255 { // full
			return 0, false
		}
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	mean := sum / 100
	if mean == 0 {
		return 0, false
	}
	return (squares/100 - mean*mean) / mean, true
}

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
	// Where only one direction was captured, each query without a challenge counts as challenged: one that
	// brings it back follows, if the address is not forged.
	isChallenged := t.IsOneWay(c.Now) && s.Flags&track.HasKey == 0
	t.currentPane().addQuery(t.key, s, s.ClientHash, c.Now, isProven, isChallenged)
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
func (t *Server) CountReply(s *track.Sighting, c Clock, isFirst bool) *Second {
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
	return b
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

// Totals adds up the seconds of an incident.
type Totals struct {
	Queries, Packets, WithChallenge uint64
	BytesIn, BytesOut, Replies      uint64
	Junk, Strange                   uint64
	Unreachable                     uint64
	ProvenAsked, ProvenGiven        uint64
	// Given counts the challenges that the server gave, and Brought those of them that were brought
	// back, each once: what comes in the name of an address that also asks itself shows as a small share.
	Given, Brought uint64
}

// Add adds the counts of a second, without those of AddProofs; nil is a second without
// packets.
func (x *Totals) Add(s *Second) {
	if s == nil {
		return
	}
	x.Queries += uint64(s.Queries)
	x.Packets += uint64(s.Packets)
	x.WithChallenge += uint64(s.WithChallenge)
	x.BytesIn += s.BytesIn + s.JunkBytes
	x.BytesOut += s.BytesOut
	x.Replies += uint64(s.Replies)
	x.Junk += uint64(s.Junk)
	x.Strange += uint64(s.Strange)
	x.Unreachable += uint64(s.Unreachable)
	x.ProvenAsked += uint64(s.ProvenAsked)
	x.ProvenGiven += uint64(s.ProvenGiven)
}

// AddProofs adds the challenges of a second. It is called when their echoes have had EchoDelay seconds
// to arrive.
func (x *Totals) AddProofs(s *Second) {
	if s != nil {
		x.Given += uint64(s.Given)
		x.Brought += uint64(s.Brought)
	}
}

// EchoDelay is how many seconds after a challenge its echo is counted at the latest in
// totals. Chosen: a round trip across the world and a retry.
const EchoDelay = 3

const (
	// limit: BinSeconds is how many seconds back counts are kept: a minute, for the rate over one.
	BinSeconds = 64
	// limit: PaneSeconds is the length of a pane.
	PaneSeconds = 10
)
