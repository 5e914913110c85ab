package measure

import (
	"math"

	"qsniff/internal/flood/sketch"
)

// The seconds over which the share of challenged sources that brought the challenge back
// is counted: more of them where few queries come, so that a share rests on enough
// sources. Chosen.
const (
	echoDelay        = 1 // seconds from a challenge to its echo; younger seconds are not counted
	completionWindow = 10
	slowWindow       = 50 // below slowRate queries/s
	slowRate         = 50
	// quickWindow seconds are enough where quickChallenged sources were challenged
	// in them.
	quickWindow     = 3
	quickChallenged = 150
)

// Once a server is known for habitAge seconds, the sources that it usually challenges are
// subtracted if crowdFactor times as many as usual are challenged, and at least
// minChallenged: regular clients must not hide that the others complete nothing. Chosen:
// well above the variation of an ordinary minute.
const (
	habitAge      = 60
	crowdFactor   = 1.5
	minChallenged = 60
)

// unknown is the value of a feature that this capture cannot give.
var unknown = math.NaN()

// Measure computes the features of the second that ends, except those of junk and
// guesses.
func (t *Server) Measure(f *Features, now int32, limits Limits) {
	*f = Features{Base: t.Base}
	one, three, ten := t.Sum(now, 1), t.Sum(now, 3), t.Sum(now, 10)
	f[RateNow], f[Rate3], f[Rate10] = float64(one.Queries), float64(three.Queries)/3, float64(ten.Queries)/10
	f[Rate60] = float64(t.Sum(now, 60).Queries) / 60
	if t.IsTooFew(ten.Queries) {
		f[RateNow], f[Rate3], f[Rate10], f[Rate60] = 0, 0, 0, 0
	}
	f[Answered], f[Gain], f[Unreach] = unknown, unknown, unknown
	if t.IsOneWay(now) {
		f[OneWay] = 1
	} else {
		f[Answered] = Share(float64(ten.Replies), float64(ten.Packets))
		f[Gain] = Share(float64(ten.BytesOut), float64(ten.BytesIn))
		f[Unreach] = Share(float64(ten.Unreachable), float64(ten.Replies))
		if one.Replies > 0 && t.Sum(now-1, 1).Replies > 0 && t.Sum(now-2, 1).Replies > 0 && 2*three.Replies < three.Packets {
			f[Refusing] = 1
		}
	}
	echoed := t.Sum(now-echoDelay, 10)
	f[EchoLike] = min(1, Share(float64(echoed.ProvenLater+echoed.Proven), float64(echoed.Unproven+echoed.Proven)))
	f[Proven], f[Keyed] = Share(float64(ten.Proven), float64(ten.Queries)), float64(ten.WithChallenge)/10
	t.measureWindow(f, now)
	t.measureCompletion(f, now)
	t.measureCrowd(f, now, limits)
	if t.IsSampled() { // proofs are two packets of one source, of which samples show hardly any
		f[Proven], f[EchoLike], f[Completion], f[Echoed] = unknown, 0, unknown, unknown
	}
	f[Pace] = unknown
	if b := t.At(now); b != nil {
		if d, ok := b.dispersion(); ok {
			f[Pace] = d
		}
	}
}

// measureCompletion sets the features of challenged sources: how many they are and which
// share of them brought the challenge back.
func (t *Server) measureCompletion(f *Features, now int32) {
	f[Completion], f[Echoed] = unknown, unknown
	n := int32(completionWindow)
	if f[Rate10] < slowRate {
		n = slowWindow
	}
	s := t.Sum(now-echoDelay, n)
	if quick := t.Sum(now-echoDelay, quickWindow); quick.Challenged >= quickChallenged {
		s, n = quick, quickWindow // so that earlier seconds do not dilute an attack
	}
	f[Challenged] = float64(s.Challenged)
	f[ChallengedShare] = Share(f[Challenged], f[Sources])
	if s.Challenged > 0 {
		f[EachRate] = f[Each] / max(f[Window], 1)
	}
	if t.LastChallenge == 0 || s.Challenged == 0 {
		return
	}
	f[Completion] = Share(float64(s.Echoed), float64(s.Challenged))
	f[Echoed] = f[Completion]
	h, k := &t.habit, float64(n)
	if now-t.Born < habitAge || s.Challenged < minChallenged || float64(s.Challenged) < crowdFactor*k*h.challenged {
		return
	}
	added := max(0, Share(float64(s.Echoed)-k*h.echoed, float64(s.Challenged)-k*h.challenged))
	f[Echoed] = min(f[Completion], added)
}

// measureWindow sets the features that come from the sketches of the window.
func (t *Server) measureWindow(f *Features, now int32) {
	a, b := &t.panes[0], &t.panes[1]
	f[Window] = float64(t.WindowSeconds(now))
	queries := float64(a.queries + b.queries)
	f[Sources] = sketch.CountOfTwo(&a.sources[Queries], &b.sources[Queries])
	f[Sites] = sketch.CountOfTwo(&a.sites, &b.sites)
	f[SiteShare] = Share(f[Sites], f[Sources])
	f[Each] = Share(queries, f[Sources])
	f[Low] = Share(float64(a.lowPorts+b.lowPorts), queries)
	f[Alien] = Share(float64(a.impossible+b.impossible), queries)
	// Where sources are invented, local addresses at a public server are, too.
	if scopeOf(&t.End.Host) == public && a.local+b.local > 0 && f[Alien] > 0 {
		f[Alien] = Share(float64(a.impossible+b.impossible+a.local+b.local), queries)
	}
	odd, most := uint32(0), uint32(0)
	for ttl := range a.ttls {
		n := a.ttls[ttl] + b.ttls[ttl]
		if n > most {
			most, f[TTL] = n, float64(ttl)
		}
		if !isUsualTTL(ttl) {
			odd += n
		}
	}
	f[TTL1], f[TTLX] = Share(float64(most), queries), Share(float64(odd), queries)
	port, n, of := mostCommon(&a.ports, &b.ports)
	f[Port], f[Port1], f[PortQueries] = float64(port), Share(float64(n), float64(of)), float64(of)
	_, n, of = mostCommon(&a.prints, &b.prints)
	f[Print1], f[PrintQueries] = Share(float64(n), float64(of)), float64(of)
	f[WindowQueries] = queries
}

// WindowSeconds returns how many seconds the sketches cover.
func (t *Server) WindowSeconds(now int32) int32 {
	n := now - t.currentPane().start + 1
	if t.previousPane().queries > 0 {
		n += PaneSeconds
	}
	return n
}

// isUsualTTL reports whether packets of common systems arrive with that time to live:
// they leave with 64, 128 or 255. Chosen: a path has at most 34 hops.
func isUsualTTL(ttl int) bool {
	return ttl >= 30 && ttl <= 64 || ttl >= 94 && ttl <= 128 || ttl >= 221
}

// mostCommon returns the commonest value of two panes, a lower bound of how often it
// came, and how many values were counted.
func mostCommon(a, b *sketch.Dominant) (value, count, all uint32) {
	x, n, i := a.Leader()
	y, m, j := b.Leader()
	n, m = n+b.CountOf(x), m+a.CountOf(y)
	if m > n {
		return y, m, i + j
	}
	return x, n, i + j
}

// minStrange is the number of datagrams a second outside of any known session from which
// on they count as junk: the default of junk_rate. Chosen: a player who joins the game sends fewer before
// the server answers.
const minStrange = 20

// MeasureJunk sets the features of junk: datagrams that no protocol recognizes.
func (t *Server) MeasureJunk(f *Features, now int32) {
	one, ten := t.Sum(now, 1), t.Sum(now, 10)
	countJunk := func(b *Second, seconds uint32) float64 {
		n := float64(b.Junk)
		if t.LastSent > 0 && now-t.LastSent < 10 && b.Strange >= minStrange*seconds {
			n += float64(b.Strange)
		}
		return n
	}
	n, n10 := countJunk(&one, 1), countJunk(&ten, 10)
	if t.IsTooFew(uint32(n10)) {
		n, n10 = 0, 0
	}
	f[JunkNow], f[JunkMean] = n, n10/10
	f[JunkShareNow] = Share(n, n+float64(one.Packets))
	f[JunkShareMean] = Share(n10, n10+float64(ten.Packets))
}

// Sources that bring a challenge which the capture did not show count as guessers from
// minOrphans a second and orphansFactor times the usual number on: fewer are clients that
// got the challenge on an earlier visit. Chosen.
const (
	minOrphans    = 20
	orphansFactor = 4
)

// takesUnissued reports whether a challenge that the capture did not show may well be valid:
// the capture shows no challenge of this server, or the first one less than FreshFor ago, and
// the server does not refuse most of those that are brought.
func (t *Server) takesUnissued(now int32) bool {
	if t.LastChallenge == 0 {
		return true
	}
	if now-t.FirstChallenge >= FreshFor {
		return false
	}
	three := t.Sum(now, 3)
	return three.Guesses < minOrphans || 2*three.Guesses < three.Guesses+three.Orphans
}

// CountGuesses returns how many requests with a challenge that was never issued came in some
// seconds until now, whose sum is s. Orphans are some of them if they are too many for clients.
func (t *Server) CountGuesses(s *Second, seconds float64, now int32) float64 {
	if t.IsSampled() { // that a challenge was issued is hardly among the samples
		return 0
	}
	n := float64(s.Guesses)
	if float64(s.Orphans) >= max(minOrphans, orphansFactor*t.habit.orphans)*seconds && !t.takesUnissued(now) {
		n += float64(s.Orphans)
	}
	return n
}

// MeasureGuesses sets the features of guesses: requests with a challenge that was never
// issued.
func (t *Server) MeasureGuesses(f *Features, now int32) {
	one, three, ten := t.Sum(now, 1), t.Sum(now, 3), t.Sum(now, 10)
	n3, n10 := t.CountGuesses(&three, 3, now), t.CountGuesses(&ten, 10, now)
	f[GuessesNow] = t.CountGuesses(&one, 1, now)
	f[Guesses3], f[Guesses10] = n3, n10/10
	f[GuessShare3], f[GuessShare10] = Share(n3, max(float64(three.WithChallenge), n3)), Share(n10, max(float64(ten.WithChallenge), n10))
}
