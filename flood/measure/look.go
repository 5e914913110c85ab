package measure

import (
	"math"

	"qsniff/flood/sketch"
)

// Over how many seconds it is counted how many of those who were challenged completed:
// longer where little happens.
const (
	completionDelay  = 1 // a client's way back
	completionWindow = 10
	completionSlow   = 50 // below slowRate queries/s
	slowRate         = 50
	// completionQuick seconds are enough where completionMany sources were challenged
	// in them.
	completionQuick = 3
	completionMany  = 150
)

// habitAfter is how long a server must be known before it has a habit, in seconds, and
// moreThanUsual how many times the usual number of sources must be challenged before the
// rest of them are looked at apart, addedLeast of them at least.
const (
	habitAfter    = 60
	moreThanUsual = 1.5
	addedLeast    = 60
)

var unknown = math.NaN()

// Look computes the features of the second that ends, but for those of junk and guesses.
// list is memory for sources.
func (t *Server) Look(f *Features, now int32, limits Limits, list *[]Busy) {
	*f = Features{Base: t.Base}
	one, three, ten := t.Sum(now, 1), t.Sum(now, 3), t.Sum(now, 10)
	f[RateNow], f[Rate3], f[Rate10] = float64(one.Queries), float64(three.Queries)/3, float64(ten.Queries)/10
	f[Rate60] = float64(t.Sum(now, 60).Queries) / 60
	f[Answered], f[Gain], f[Unreach] = unknown, unknown, unknown
	if t.IsOneWay(now) {
		f[OneWay] = 1
	} else {
		f[Answered] = Share(float64(ten.Replies), float64(ten.Packets))
		f[Gain] = Share(float64(ten.BytesOut), float64(ten.BytesIn))
		f[Unreach] = Share(float64(ten.Unreach), float64(ten.Replies))
		if one.Replies > 0 && t.Sum(now-1, 1).Replies > 0 && t.Sum(now-2, 1).Replies > 0 && 2*three.Replies < three.Packets {
			f[Refusing] = 1
		}
	}
	late := t.Sum(now-completionDelay, 10)
	f[EchoLike] = min(1, Share(float64(late.Credited+late.Proven), float64(late.Unproven+late.Proven)))
	f[Proven] = Share(float64(ten.Proven), float64(ten.Queries))
	t.lookAtWindow(f, now)
	t.lookAtCompletion(f, now)
	t.lookAtCrowd(f, now, limits, list)
	f[Pace] = unknown
	if b := t.At(now); b != nil {
		if pace, ok := b.pacing(); ok {
			f[Pace] = pace
		}
	}
}

// lookAtCompletion fills in who brought challenges back.
func (t *Server) lookAtCompletion(f *Features, now int32) {
	f[Completion], f[Echoed] = unknown, unknown
	n := int32(completionWindow)
	if f[Rate10] < slowRate {
		n = completionSlow
	}
	s := t.Sum(now-completionDelay, n)
	if quick := t.Sum(now-completionDelay, completionQuick); quick.Challenged >= completionMany {
		s, n = quick, completionQuick // what was before does not dilute it
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
	if now-t.Born < habitAfter || s.Challenged < addedLeast || float64(s.Challenged) < moreThanUsual*k*h.challenged {
		return
	}
	added := max(0, Share(float64(s.Echoed)-k*h.echoed, float64(s.Challenged)-k*h.challenged))
	f[Echoed] = min(f[Completion], added)
}

// lookAtWindow fills in what sketches of the window show of all queries.
func (t *Server) lookAtWindow(f *Features, now int32) {
	a, b := &t.panes[0], &t.panes[1]
	f[Window] = float64(now - t.pane().start + 1)
	if t.before().queries > 0 {
		f[Window] += PaneSeconds
	}
	queries := float64(a.queries + b.queries)
	all := a.sources[Queries]
	all.Merge(&b.sources[Queries])
	f[Sources] = all.Count()
	all = a.sites
	all.Merge(&b.sites)
	f[Sites] = all.Count()
	f[SiteShare] = Share(f[Sites], f[Sources])
	f[Each] = Share(queries, f[Sources])
	f[Low] = Share(float64(a.low+b.low), queries)
	f[Alien] = Share(float64(a.alien+b.alien), queries)
	if scopeOf(&t.End.Host) == public && a.inside+b.inside > 0 && f[Alien] > 0 { // no host here has such an address, then
		f[Alien] = Share(float64(a.alien+b.alien+a.inside+b.inside), queries)
	}
	odd, most := uint32(0), uint32(0)
	for ttl := range a.ttl {
		n := a.ttl[ttl] + b.ttl[ttl]
		if n > most {
			most, f[TTL] = n, float64(ttl)
		}
		if !isUsualTTL(ttl) {
			odd += n
		}
	}
	f[TTL1], f[TTLX] = Share(float64(most), queries), Share(float64(odd), queries)
	port, n, of := leader(&a.ports, &b.ports)
	f[Port], f[Port1] = float64(port), Share(float64(n), float64(of))
	_, n, of = leader(&a.prints, &b.prints)
	f[Print1] = Share(float64(n), float64(of))
}

// isUsualTTL reports whether a packet of a usual system arrives with that time to live
// over a usual path: it began with 64, 128 or 255 and made up to 34 hops.
func isUsualTTL(ttl int) bool {
	return ttl >= 30 && ttl <= 64 || ttl >= 94 && ttl <= 128 || ttl >= 221
}

// leader returns the commonest value of two panes, how often it came at least, and of
// how many.
func leader(a, b *sketch.Dominant) (value, count, all uint32) {
	x, n, i := a.Leader()
	y, m, j := b.Leader()
	n, m = n+b.CountOf(x), m+a.CountOf(y)
	if m > n {
		return y, m, i + j
	}
	return x, n, i + j
}

// strangeLeast is how many datagrams of an unknown session in a second are not
// those of somebody who joins the game.
const strangeLeast = 100

// LookAtJunk fills in the features of what is nothing known.
func (t *Server) LookAtJunk(f *Features, now int32) {
	one, ten := t.Sum(now, 1), t.Sum(now, 10)
	junk := func(b *Second) float64 {
		n := float64(b.Junk)
		if t.LastSent > 0 && now-t.LastSent < 10 && b.Strange >= strangeLeast {
			n += float64(b.Strange)
		}
		return n
	}
	n, tenth := junk(&one), junk(&ten)
	f[JunkNow], f[JunkMean] = n, tenth/10
	f[JunkShareNow] = Share(n, n+float64(one.Packets))
	f[JunkShareMean] = Share(tenth, tenth+float64(ten.Packets))
}

// orphansLeast is how many sources a second may come with a challenge that the capture
// did not show before that is no leftover of earlier visits; orphansTimes is the same in
// times of what is usual.
const (
	orphansLeast = 20
	orphansTimes = 4
)

// LookAtGuesses fills in the features of challenges that were never issued.
func (t *Server) LookAtGuesses(f *Features, now int32) {
	guesses := func(b *Second, n float64) float64 {
		stray := b.Orphans
		if t.LastChallenge == 0 || now-t.FirstChallenge < FreshFor || float64(stray) < max(orphansLeast, orphansTimes*t.habit.orphans)*n {
			stray = 0
		}
		return float64(b.Bad + stray)
	}
	one, three, ten := t.Sum(now, 1), t.Sum(now, 3), t.Sum(now, 10)
	n3, n10 := guesses(&three, 3), guesses(&ten, 10)
	f[GuessesNow] = guesses(&one, 1)
	f[Guesses3], f[Guesses10] = n3, n10/10
	f[GuessShare3], f[GuessShare10] = Share(n3, max(float64(three.Keyed), n3)), Share(n10, max(float64(ten.Keyed), n10))
}
