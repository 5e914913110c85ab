package flood

import (
	m "qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// watched is a server that is watched closely: its measurements, and the course of each
// family of its traffic.
type watched struct {
	m.Server
	watch
	members *members // of a network: its servers
}

// watch is what is known of the server that is watched now.
type watch struct {
	features    m.Features
	burstStreak uint8   // seconds in a row above the burst rate
	drift       float64 // queries above a slowly raised baseline, added up
	courses     [serverFamilies]course
	amplifier   amplifier
	trials      [serverFamilies]Trial // the first numTrials: those of courses
	numTrials   int

	network  *network // of a server: that it is in, if that is watched closely; as of netEpoch
	netEpoch int32
}

func newWatched(k m.Key) *watched {
	w := &watched{}
	w.Init(k)
	return w
}

// reset makes w the watch of another server, and keeps its memory.
func (w *watched) reset(e track.End, hash uint64, now int32) {
	w.Reset(e, hash, now)
	w.watch = watch{netEpoch: -1}
	for i := range w.courses {
		w.courses[i].family = family(i)
	}
}

// hasIncident reports whether an incident is open at the server.
func (w *watched) hasIncident() bool {
	for i := range w.courses {
		if w.courses[i].in != nil {
			return true
		}
	}
	return false
}

// hasOther reports whether another course than c has an open incident.
func (w *watched) hasOther(c *course) bool {
	for i := range w.courses {
		if o := &w.courses[i]; o != c && o.in != nil {
			return true
		}
	}
	return false
}

// judgeSecond judges the second that ends: it applies a verdict to each family of traffic,
// and lets the baseline follow the rate where nothing but a crowd is going on.
func (w *watched) judgeSecond(b *book, rules *rulebook) {
	f := &w.features
	s := serverSecond{b, &w.Server, f, w}
	hasAlarm, isCalm := w.judgeQueries(&s, rules)
	oneWay := w.IsOneWay(b.Now)
	w.MeasureJunk(f, b.Now)
	junk := rules.judgeJunk(f)
	w.limitVerdict(&junk, f, b.Now)
	junk.weight = b.weigh(junk.score, oneWay)
	w.courses[ofJunk].applyVerdict(&s, junk, junk.rate)
	w.MeasureGuesses(f, b.Now)
	guesses := rules.judgeGuesses(f)
	w.limitVerdict(&guesses, f, b.Now)
	guesses.weight = b.weigh(guesses.score, oneWay)
	w.courses[ofGuesses].applyVerdict(&s, guesses, guesses.rate)
	if w.courses[ofQueries].in == nil && w.courses[ofGuesses].in == nil && (!hasAlarm || isCalm) {
		w.Learn(b.Now)
	}
	w.numTrials = 0
	for i := range w.courses {
		t := w.courses[i].trial
		if l := w.courses[i].leader; t == nil && l != nil && l.in != nil && l.in.ID == w.courses[i].leaderID {
			t = l.trial // what comes here is part of that
		}
		if t != nil {
			w.trials[w.numTrials] = t
			w.numTrials++
		}
	}
}

// judgeQueries applies the verdict on queries to the courses of attacks and of load. It
// computes features only for an alarm, a streak or an open incident. It reports whether
// there was an alarm, and whether the verdict was a note or none.
func (w *watched) judgeQueries(s *serverSecond, rules *rulebook) (hasAlarm, isCalm bool) {
	hasAlarm, isLoud := w.checkAlarm(s.book)
	attacks, load := &w.courses[ofQueries], &w.courses[ofLoad]
	three := float64(w.Sum(s.Now, 3).Queries) / 3
	v := verdict{rate: float64(w.Sum(s.Now, 1).Queries)}
	if hasAlarm || attacks.in != nil || load.in != nil || attacks.streak.warnings > 0 || load.streak.notes > 0 {
		f := s.features
		w.Measure(f, s.Now, w.limits(s.book))
		w.countSourcesOnce(f)
		if hasAlarm || attacks.in != nil {
			v = rules.judgeQueries(f)
			v.weight = s.weigh(v.score, f[m.OneWay] > 0)
			w.limitVerdict(&v, f, s.Now)
		}
		if f[m.RateNow] <= tailShare*w.judgedRate(f) && attacks.in == nil {
			v.kind = NoKind
		}
	}
	attack, note := v, v
	isCalm = v.kind.Level() == Info
	if isCalm || !hasAlarm && attacks.in == nil {
		attack.kind = NoKind
	}
	if !isCalm || !isLoud || three < s.lim.SlowRate {
		note.kind = NoKind
	}
	note.judged = note.kind
	attacks.applyVerdict(s, attack, three)
	load.applyVerdict(s, note, three)
	return hasAlarm, isCalm
}

// tailShare is the share of the rate that a verdict rests on below which a second is the tail
// of something that is over, as is one without queries after ten without.
const tailShare = 0.3

// judgedRate returns the highest mean rate of those times that a verdict rests on: ten
// seconds, the window of the sketches, and a minute, in which challenges come back.
func (w *watched) judgedRate(f *m.Features) float64 {
	_, inWindow := w.BusiestCount()
	return max(f[m.Rate10], f[m.Rate60], float64(inWindow)/f[m.Window])
}

// checkAlarm reports whether the second that ends asks for a verdict on the queries. It is
// cheap, and crowds raise an alarm as well as attacks. isLoud reports whether the alarm is
// about the present rate, and not about queries added up, or one source.
func (w *watched) checkAlarm(b *book) (hasAlarm, isLoud bool) {
	lim := &b.lim
	sum := w.Sum(b.Now, 10)
	one, ten := float64(w.Sum(b.Now, 1).Queries), float64(sum.Queries)/10
	if w.IsTooFew(sum.Queries) {
		one, ten = 0, 0
	}
	if one >= max(lim.BurstRate, lim.BurstFactor*w.Base) {
		w.burstStreak = min(w.burstStreak, 250) + 1
	} else {
		w.burstStreak = 0
	}
	if w.courses[ofQueries].in != nil { // there is no need for an alarm
		w.drift = 0
	} else if b.Now%10 == 0 {
		usual := w.Usual() // from the first seconds on, so that what always came is no rise
		w.drift = min(max(0, w.drift+10*(ten-usual-max(2, usual/2))), 2*lim.DriftSum)
	}
	most, all := w.BusiestCount()
	isLoud = w.burstStreak >= 2 || one >= max(lim.SurgeRate, lim.SurgeFactor*w.Base) || ten >= max(lim.SlowRate, lim.SlowFactor*w.Base)
	return isLoud || w.drift > lim.DriftSum || most >= lim.LonePackets && 2*most >= all && ten >= lim.ReflectRate, isLoud
}

// hasTrial reports whether one of the courses has a trial.
func (w *watch) hasTrial() bool { return w.numTrials > 0 }

// applyTrials applies the rules that are tried for the server's incidents to a packet to or
// from it.
func (w *watched) applyTrials(s *track.Sighting, proven bool) {
	if s.IsSample() { // limits act on what is between samples
		return
	}
	for _, t := range w.trials[:w.numTrials] {
		t.Apply(s, proven)
	}
}

// finish announces the incidents that are open when the capture ends.
func (w *watched) finish(b *book) {
	s := serverSecond{b, &w.Server, &w.features, w}
	for i := range w.courses {
		w.courses[i].finish(&s)
	}
}
