package flood

import (
	"time"

	"qsniff/flood/measure"
	"qsniff/flood/sketch"
)

// course is how one family of traffic of a server goes: how long a verdict has held, and
// the incident that came of it.
type course struct {
	family    family
	in        *Incident // open; nil: none is
	streak    int       // seconds in a row with an alert
	weak      int       // with a warning or better
	calm      int       // with a note or better
	since     int32     // first second of the streak
	started   int32     // of the incident
	last      int32     // last second that qualified
	lastAt    int64     // and the time stamp of its end
	better    int       // seconds for which another kind was the better one
	active    bool      // the last second qualified
	rest      int32     // first second of a pause
	trial     Trial     // of the rules advised; nil: none is
	sum       float64   // packets that counted, and the seconds in which they came
	seconds   float64
	announced float64 // the peak when it was last announced
	alone     bool    // it was described when sketches showed it alone
	sources   sketch.Distinct
}

// scene is what a second of a course is about.
type scene struct {
	*book
	server   *measure.Server
	features *measure.Features
}

// step takes one second of a course: the verdict, and the rate that an incident
// lives by.
func (c *course) step(s *scene, v verdict, rate float64) {
	if c.in != nil {
		c.follow(s, v)
		c.live(s, v, rate)
	} else if c.countStreak(v, s.Now) && c.isRipe(&s.lim, v) {
		c.begin(s, v)
	}
}

// countStreak counts seconds in a row, and reports whether v is anything.
func (c *course) countStreak(v verdict, now int32) bool {
	if v.kind == NoKind {
		c.streak, c.weak, c.calm = 0, 0, 0
		return false
	}
	if c.calm == 0 {
		c.since = now
	}
	c.calm++
	if v.kind.Level() >= Warn {
		c.weak++
	} else {
		c.weak = 0
	}
	if v.kind.Level() == Alert {
		c.streak++
	} else {
		c.streak = 0
	}
	return true
}

// isRipe reports whether the verdict has held for long enough.
func (c *course) isRipe(lim *Thresholds, v verdict) bool {
	switch need := lim.SlowTicks; v.kind.Level() {
	case Alert:
		if v.quick {
			need = lim.FastTicks
		}
		return c.streak >= need || c.weak >= lim.WarnTicks
	case Warn:
		if v.quick {
			return c.weak >= (lim.WarnTicks+1)/2
		}
		return c.weak >= lim.WarnTicks
	}
	return c.calm >= lim.WarnTicks
}

// begin opens an incident with all that led to it, if there is room for one. The second at
// hand is part of that: were it added later, an incident would go on at the moment it is
// opened.
func (c *course) begin(s *scene, v verdict) {
	start := c.findStart(s, v)
	in := s.openIncident(Target{End: s.server.End.AddrPort()}, v.kind, c.family, start.Nanos)
	if in == nil {
		c.streak, c.weak, c.calm = 0, 0, 0 // it has to qualify again
		return
	}
	in.Proto, in.Frame, in.Baseline = s.server.Proto, start.Frame, s.server.Base
	c.in, c.started, c.last, c.lastAt, c.rest, c.better = in, start.Sec, s.Now, s.secondEnd(), 0, 0
	c.sum, c.seconds, c.active, c.announced, c.alone = 0, 0, true, 0, false
	c.sources.Reset()
	if start.Sec < s.server.PaneStart() {
		s.server.MergeSourcesBefore(&c.sources, c.sort())
	}
	s.server.MergeSources(&c.sources, c.sort())
	for sec := start.Sec; sec <= s.Now; sec++ {
		c.addSecond(s.server.At(sec))
	}
	c.describe(s, v)
	c.announced = in.Peak
	c.trial = s.advisor.Try(in)
	s.found(in, Begins)
}

// findStart returns the first second of what led to the verdict: where the rate began to
// be at least half of what it is now. In the second at hand nothing need have come.
func (c *course) findStart(s *scene, v verdict) measure.Second {
	first := measure.Second{Sec: s.Now, Nanos: s.secondEnd() - int64(time.Second)}
	for sec := s.Now; sec > s.Now-measure.BinSeconds && sec > 0; sec-- {
		b := s.server.At(sec)
		if b == nil || c.countIn(b) < max(v.rate/2, 2*s.server.Base) && sec < c.since {
			break
		}
		first = *b
	}
	return first
}

// countIn returns what counts in a second.
func (c *course) countIn(b *measure.Second) float64 {
	switch c.family {
	case ofGuesses:
		return float64(b.Bad)
	case ofJunk:
		return float64(b.Junk + b.Strange)
	}
	return float64(b.Queries)
}

// sort returns the sort of packets that the course is about.
func (c *course) sort() measure.Sort {
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
	n := c.countIn(b)
	in.Requests += uint64(n)
	in.Replies += uint64(b.Replies)
	in.BytesIn += b.BytesIn + b.JunkBytes
	in.BytesOut += b.BytesOut
	in.Peak = max(in.Peak, n)
	c.sum += n
	c.seconds++
}

// mean returns the rate of the incident so far.
func (c *course) mean() float64 { return measure.Share(c.sum, c.seconds) }

// floor returns the rate below which a second does not qualify any more.
func (c *course) floor() float64 {
	switch c.family {
	case ofGuesses:
		return max(leastGuesses, lowShare*c.mean())
	case ofJunk:
		return max(leastJunk, lowShare*c.mean())
	}
	return max(2*c.in.Baseline+leastQueries, lowShare*c.mean())
}

// What an incident lives by: a share of its mean rate, and packets a second that are not
// left over from a calm day.
const (
	lowShare     = 0.25
	leastGuesses = 1
	leastJunk    = 5
	leastQueries = 3
)

// live goes on with an open incident for one second.
func (c *course) live(s *scene, v verdict, rate float64) {
	in := c.in
	if rate < c.floor() {
		if c.active {
			c.active, c.rest = false, s.Now
		}
		if s.isQuiet(c.last) {
			c.close(s)
		}
		return
	}
	if !c.active && c.rest > 0 && s.Now-c.rest >= pulseGap {
		in.Pulses++
	}
	c.addSecond(s.server.At(s.Now))
	c.last, c.active, c.rest = s.Now, true, 0
	if one := s.server.At(s.Now); one != nil && c.countIn(one) >= c.floor() {
		c.lastAt = s.secondEnd()
	}
	s.server.MergeSources(&c.sources, c.sort())
	if !c.alone && s.Now-c.started >= aloneAfter && 2*v.rate >= c.mean() { // nothing from before is in the sketches
		c.alone = true
		c.describe(s, v)
	}
	if in.Peak >= 2*c.announced {
		c.announced = in.Peak
		c.describe(s, v)
		s.found(in, Changes)
	}
}

// aloneAfter is when sketches show an incident alone, in seconds.
const aloneAfter = 2 * measure.PaneSeconds

// pulseGap is how long a pause between two pulses lasts at least, in seconds.
const pulseGap = 4

// follow lets a better verdict take the place of the one that is given.
func (c *course) follow(s *scene, v verdict) {
	in := c.in
	if v.kind == in.Kind && c.active {
		if v.confidence > in.Confidence && 2*v.rate >= c.mean() { // not in its dying tail
			c.describe(s, v)
		}
		c.better = 0
		return
	}
	if v.kind == NoKind || v.kind.Level() < in.Level || v.confidence < in.Confidence+betterBy && v.kind.Level() == in.Level {
		c.better = 0
		return
	}
	if c.better++; c.better < betterFor {
		return
	}
	c.better = 0
	s.changeKind(in, v.kind, s.secondEnd())
	c.describe(s, v)
	c.trial = s.retry(in, c.trial)
	s.found(in, Changes)
}

// A verdict takes the place of another one if it is surer by betterBy for
// betterFor seconds.
const (
	betterBy  = 0.05
	betterFor = 3
)

// describe fills in what the incident shows now.
func (c *course) describe(s *scene, v verdict) {
	in, t := c.in, s.server
	in.Confidence = max(in.Confidence, v.confidence)
	if n := len(in.History); n > 0 && v.kind == in.Kind {
		in.Confidence = v.confidence
	}
	t.MergeSources(&c.sources, c.sort())
	c.sumUp()
	s.busiest = t.Busiest(s.busiest, c.sort())
	in.Top = appendTop(in.Top[:0], s.busiest, t.LastChallenge > 0 && t.LastCut == 0)
	in.Prefixes = in.Prefixes[:0]
	if c.sort() == measure.Queries {
		s.prefixes = appendPrefixes(s.prefixes[:0], t)
		in.Prefixes = append(in.Prefixes, s.prefixes[:min(len(s.prefixes), listedPrefixes)]...)
	}
	writeEvidence(in, c.family, t, s.features, &s.lim, s.Now)
}

// sumUp fills in the figures of the whole incident so far.
func (c *course) sumUp() {
	c.in.Mean = c.mean()
	c.in.setSources(c.sources.Count())
	c.in.SourcesError = sketch.DistinctError
}

// close ends an incident at the last second that qualified.
func (c *course) close(s *scene) {
	in := c.in
	in.End = c.lastAt
	c.conclude(s)
	s.closeIncident(in, c.family)
	c.in, c.streak, c.weak, c.calm = nil, 0, 0, 0
}

// conclude writes the advice of an incident that is announced for the last time.
func (c *course) conclude(s *scene) {
	c.sumUp()
	if in := c.in; in.Answered >= 0 && in.Requests > 0 {
		in.Answered = min(1, float64(in.Replies)/float64(in.Requests))
	}
	s.conclude(c.in, c.trial, s.features[measure.OneWay] > 0)
	c.trial = nil
}

// end announces an incident that the capture leaves open.
func (c *course) end(s *scene) {
	switch {
	case c.in == nil:
	case !c.active: // its last second lies inside the capture
		c.close(s)
	default:
		c.conclude(s)
		s.found(c.in, Ends)
		c.in = nil
	}
}
