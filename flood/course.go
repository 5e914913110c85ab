package flood

import (
	"time"

	"qsniff/flood/measure"
	"qsniff/flood/sketch"
)

// course is how one family of traffic of a server goes: how long a verdict has held, and
// the incident that came of it.
type course struct {
	family           family
	in               *Incident // open; nil: none is
	alertStreak      int       // seconds in a row with an alert
	warnStreak       int       // with a warning or better
	noteStreak       int       // with a note or better
	streakStart      int32     // first second of the streak
	firstSec         int32     // of the incident
	lastSec          int32     // last second that qualified
	lastEnd          int64     // and the time stamp of its end
	betterStreak     int       // seconds for which another kind was the better one
	isActive         bool      // the last second qualified
	pauseStart       int32     // first second of a pause
	trial            Trial     // of the rules advised; nil: none is
	packets          float64   // packets that counted, and the seconds in which they came
	seconds          float64
	announcedPeak    float64 // the peak when it was last announced
	isDescribedAlone bool    // it was described when sketches showed it alone
	sources          sketch.Distinct
}

// serverSecond is what a second of a course is about.
type serverSecond struct {
	*book
	server   *measure.Server
	features *measure.Features
}

// applyVerdict takes one second of a course: the verdict, and the rate that an incident
// lives by.
func (c *course) applyVerdict(s *serverSecond, v verdict, rate float64) {
	if c.in != nil {
		c.considerKind(s, v)
		c.updateIncident(s, v, rate)
	} else if c.countStreak(v, s.Now) && c.isLongEnough(&s.lim, v) {
		c.openIncident(s, v)
	}
}

// countStreak counts seconds in a row, and reports whether v is anything.
func (c *course) countStreak(v verdict, now int32) bool {
	if v.kind == NoKind {
		c.alertStreak, c.warnStreak, c.noteStreak = 0, 0, 0
		return false
	}
	if c.noteStreak == 0 {
		c.streakStart = now
	}
	c.noteStreak++
	if v.kind.Level() >= Warn {
		c.warnStreak++
	} else {
		c.warnStreak = 0
	}
	if v.kind.Level() == Alert {
		c.alertStreak++
	} else {
		c.alertStreak = 0
	}
	return true
}

// isLongEnough reports whether the verdict has held for long enough.
func (c *course) isLongEnough(lim *Thresholds, v verdict) bool {
	switch need := lim.SlowTicks; v.kind.Level() {
	case Alert:
		if v.isUrgent {
			need = lim.FastTicks
		}
		return c.alertStreak >= need || c.warnStreak >= lim.WarnTicks
	case Warn:
		if v.isUrgent {
			return c.warnStreak >= (lim.WarnTicks+1)/2
		}
		return c.warnStreak >= lim.WarnTicks
	}
	return c.noteStreak >= lim.WarnTicks
}

// openIncident opens an incident with all that led to it, if there is room for one. The second at
// hand is part of that: were it added later, an incident would go on at the moment it is
// opened.
func (c *course) openIncident(s *serverSecond, v verdict) {
	start := c.findStart(s, v)
	in := s.openIncident(Target{End: s.server.End.AddrPort()}, v.kind, c.family, start.Nanos)
	if in == nil {
		c.alertStreak, c.warnStreak, c.noteStreak = 0, 0, 0 // it has to qualify again
		return
	}
	in.Proto, in.Frame, in.Baseline = s.server.Proto, start.Frame, s.server.Base
	c.in, c.firstSec, c.lastSec, c.lastEnd, c.pauseStart, c.betterStreak = in, start.Sec, s.Now, s.secondEnd(), 0, 0
	c.packets, c.seconds, c.isActive, c.announcedPeak, c.isDescribedAlone = 0, 0, true, 0, false
	c.sources.Reset()
	if start.Sec < s.server.PaneStart() {
		s.server.MergeSourcesBefore(&c.sources, c.packetSort())
	}
	s.server.MergeSources(&c.sources, c.packetSort())
	for sec := start.Sec; sec <= s.Now; sec++ {
		c.addSecond(s.server.At(sec))
	}
	c.describe(s, v)
	c.announcedPeak = in.Peak
	c.trial = s.advisor.Try(in)
	s.announce(in, Begins)
}

// findStart returns the first second of what led to the verdict: where the rate began to
// be at least half of what it is now. In the second at hand nothing need have come.
func (c *course) findStart(s *serverSecond, v verdict) measure.Second {
	first := measure.Second{Sec: s.Now, Nanos: s.secondEnd() - int64(time.Second)}
	for sec := s.Now; sec > s.Now-measure.BinSeconds && sec > 0; sec-- {
		b := s.server.At(sec)
		if b == nil || c.packetsIn(b) < max(v.rate/2, 2*s.server.Base) && sec < c.streakStart {
			break
		}
		first = *b
	}
	return first
}

// packetsIn returns what counts in a second.
func (c *course) packetsIn(b *measure.Second) float64 {
	switch c.family {
	case ofGuesses:
		return float64(b.Bad)
	case ofJunk:
		return float64(b.Junk + b.Strange)
	}
	return float64(b.Queries)
}

// packetSort returns the sort of packets that the course is about.
func (c *course) packetSort() measure.Sort {
	switch c.family {
	case ofGuesses:
		return measure.Guesses
	case ofJunk:
		return measure.Junk
	}
	return measure.Queries
}

// addSecond adds a second to the sums of the incident; nil is an empty one.
func (c *course) addSecond(b *measure.Second) {
	if b == nil {
		return
	}
	in := c.in
	n := c.packetsIn(b)
	in.Requests += uint64(n)
	in.Replies += uint64(b.Replies)
	in.BytesIn += b.BytesIn + b.JunkBytes
	in.BytesOut += b.BytesOut
	in.Peak = max(in.Peak, n)
	c.packets += n
	c.seconds++
}

// meanRate returns the rate of the incident so far.
func (c *course) meanRate() float64 { return measure.Share(c.packets, c.seconds) }

// minRate returns the rate below which a second does not qualify any more.
func (c *course) minRate() float64 {
	switch c.family {
	case ofGuesses:
		return max(minLiveGuesses, liveShare*c.meanRate())
	case ofJunk:
		return max(minLiveJunk, liveShare*c.meanRate())
	}
	return max(2*c.in.Baseline+minLiveQueries, liveShare*c.meanRate())
}

// What an incident lives by: a share of its mean rate, and packets a second that are not
// left over from a calm day.
const (
	liveShare      = 0.25
	minLiveGuesses = 1
	minLiveJunk    = 5
	minLiveQueries = 3
)

// updateIncident goes on with an open incident for one second.
func (c *course) updateIncident(s *serverSecond, v verdict, rate float64) {
	in := c.in
	if rate < c.minRate() {
		if c.isActive {
			c.isActive, c.pauseStart = false, s.Now
		}
		if s.isQuiet(c.lastSec) {
			c.closeIncident(s)
		}
		return
	}
	if !c.isActive && c.pauseStart > 0 && s.Now-c.pauseStart >= pulseGap {
		in.Pulses++
	}
	c.addSecond(s.server.At(s.Now))
	c.lastSec, c.isActive, c.pauseStart = s.Now, true, 0
	if one := s.server.At(s.Now); one != nil && c.packetsIn(one) >= c.minRate() {
		c.lastEnd = s.secondEnd()
	}
	s.server.MergeSources(&c.sources, c.packetSort())
	if !c.isDescribedAlone && s.Now-c.firstSec >= aloneAfter && 2*v.rate >= c.meanRate() { // nothing from before is in the sketches
		c.isDescribedAlone = true
		c.describe(s, v)
	}
	if in.Peak >= 2*c.announcedPeak {
		c.announcedPeak = in.Peak
		c.describe(s, v)
		s.announce(in, Changes)
	}
}

// aloneAfter is when sketches show an incident alone, in seconds.
const aloneAfter = 2 * measure.PaneSeconds

// pulseGap is how long a pause between two pulses lasts at least, in seconds.
const pulseGap = 4

// considerKind lets a better verdict take the place of the one that is given.
func (c *course) considerKind(s *serverSecond, v verdict) {
	in := c.in
	if v.kind == in.Kind && c.isActive {
		if v.confidence > in.Confidence && 2*v.rate >= c.meanRate() { // not in its dying tail
			c.describe(s, v)
		}
		c.betterStreak = 0
		return
	}
	if v.kind == NoKind || v.kind.Level() < in.Level || v.confidence < in.Confidence+betterBy && v.kind.Level() == in.Level {
		c.betterStreak = 0
		return
	}
	if c.betterStreak++; c.betterStreak < betterFor {
		return
	}
	c.betterStreak = 0
	s.changeKind(in, v.kind, s.secondEnd())
	c.describe(s, v)
	c.trial = s.restartTrial(in, c.trial)
	s.announce(in, Changes)
}

// A verdict takes the place of another one if it is surer by betterBy for
// betterFor seconds.
const (
	betterBy  = 0.05
	betterFor = 3
)

// describe fills in what the incident shows now.
func (c *course) describe(s *serverSecond, v verdict) {
	in, t := c.in, s.server
	in.Confidence = max(in.Confidence, v.confidence)
	if n := len(in.History); n > 0 && v.kind == in.Kind {
		in.Confidence = v.confidence
	}
	t.MergeSources(&c.sources, c.packetSort())
	c.updateTotals()
	s.busiest = t.Busiest(s.busiest, c.packetSort())
	in.Top = appendTop(in.Top[:0], s.busiest, t.LastChallenge > 0 && t.LastCut == 0)
	in.Prefixes = in.Prefixes[:0]
	if c.packetSort() == measure.Queries {
		s.prefixes = appendPrefixes(s.prefixes[:0], t)
		in.Prefixes = append(in.Prefixes, s.prefixes[:min(len(s.prefixes), listedPrefixes)]...)
	}
	writeEvidence(in, c.family, t, s.features, &s.lim, s.Now)
}

// updateTotals fills in the figures of the whole incident so far.
func (c *course) updateTotals() {
	c.in.Mean = c.meanRate()
	c.in.setSources(c.sources.Count())
	c.in.SourcesError = sketch.DistinctError
}

// closeIncident ends an incident at the last second that qualified.
func (c *course) closeIncident(s *serverSecond) {
	in := c.in
	in.End = c.lastEnd
	c.concludeTrial(s)
	s.closeIncident(in, c.family)
	c.in, c.alertStreak, c.warnStreak, c.noteStreak = nil, 0, 0, 0
}

// concludeTrial writes the advice of an incident that is announced for the last time.
func (c *course) concludeTrial(s *serverSecond) {
	c.updateTotals()
	if in := c.in; in.Answered >= 0 && in.Requests > 0 {
		in.Answered = min(1, float64(in.Replies)/float64(in.Requests))
	}
	s.concludeTrial(c.in, c.trial, s.features[measure.OneWay] > 0)
	c.trial = nil
}

// finish announces an incident that the capture leaves open.
func (c *course) finish(s *serverSecond) {
	switch {
	case c.in == nil:
	case !c.isActive: // its last second lies inside the capture
		c.closeIncident(s)
	default:
		c.concludeTrial(s)
		s.announce(c.in, Ends)
		c.in = nil
	}
}
