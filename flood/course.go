package flood

import (
	"time"

	"qsniff/flood/measure"
	"qsniff/flood/sketch"
)

// course follows one family of traffic at a server from second to second: for how long a
// verdict has held, and the incident that was opened for it.
type course struct {
	family           family
	in               *Incident // nil: none is open
	alertStreak      int       // seconds in a row with a verdict that is an alert
	warnStreak       int       // that is at least a warning
	noteStreak       int       // that is at least a note
	streakStart      int32     // first second of the streak
	firstSec         int32     // of the incident
	lastSec          int32     // last second that qualified
	lastEnd          int64     // and the time stamp of its end
	betterStreak     int       // seconds in a row in which another kind was the better one
	isActive         bool      // the second before qualified
	pauseStart       int32     // first second of a pause
	trial            Trial     // of the rules advised; nil: none runs
	packets          float64   // of the family, and the seconds in which they came
	seconds          float64
	announcedPeak    float64 // the peak when it was last announced
	isDescribedAlone bool    // it was described again after aloneAfter
	sources          sketch.Distinct
	summary          *summary // of the incident so far; nil: none is open
}

// serverSecond is the second that ends at one server, as its courses see it.
type serverSecond struct {
	*book
	server   *measure.Server
	features *measure.Features
}

// applyVerdict applies the verdict on the second that ends: it opens an incident, or
// changes, continues or closes the open one. rate, in packets a second, decides whether the
// open one continues.
func (c *course) applyVerdict(s *serverSecond, v verdict, rate float64) {
	if c.in != nil {
		c.considerKind(s, v)
		c.updateIncident(s, v, rate)
	} else if c.countStreak(v, s.Now) && c.isLongEnough(&s.lim, v) {
		c.openIncident(s, v)
	}
}

// countStreak counts the seconds in a row with a verdict of each level, and reports whether
// v has a kind.
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

// isLongEnough reports whether the verdict has held for long enough to open an incident.
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

// openIncident opens an incident that starts with the first second of what led to the
// verdict and holds the counts from there to the second that ends, if there is room for one.
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
	c.summary = newSummary(start.Sec)
	c.sources.Reset()
	if start.Sec < s.server.PaneStart() {
		s.server.MergePreviousSources(&c.sources, c.packetSort())
	}
	s.server.MergeSources(&c.sources, c.packetSort())
	for sec := start.Sec; sec <= s.Now; sec++ {
		c.addSecond(s.server.At(sec))
	}
	c.summary.paneSeconds = min(c.summary.paneSeconds, s.Now-s.server.PaneStart()+1)
	c.summary.addProofs(s.server, s.Now, s.Now-measure.EchoDelay)
	c.describe(s, v)
	c.addPane(s)
	c.announcedPeak = in.Peak
	c.trial = s.advisor.Try(in)
	s.announce(in, Begins)
}

// findStart returns the first second of what led to the verdict. It goes back from now as
// long as a second is part of the streak, or its rate is at least half of the present one
// and twice the baseline. The second that ends counts even if it is empty.
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

// packetsIn returns how many packets of the family came in a second.
func (c *course) packetsIn(b *measure.Second) float64 {
	switch c.family {
	case ofGuesses:
		return float64(b.Guesses)
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

// addSecond adds a second to the sums of the incident; nil is one without packets.
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
	c.summary.totals.Add(b)
	c.summary.paneSeconds++
}

// meanRate returns the rate of the incident so far.
func (c *course) meanRate() float64 { return measure.Share(c.packets, c.seconds) }

// minRate returns the rate below which a second does not continue the incident.
func (c *course) minRate() float64 {
	switch c.family {
	case ofGuesses:
		return max(minLiveGuesses, liveShare*c.meanRate())
	case ofJunk:
		return max(minLiveJunk, liveShare*c.meanRate())
	}
	return max(2*c.in.Baseline+minLiveQueries, liveShare*c.meanRate())
}

// An open incident continues while its rate is at least liveShare of its mean rate and at
// least so many packets a second, of queries besides twice the baseline. Chosen: more than a
// calm day has of each.
const (
	liveShare      = 0.25
	minLiveGuesses = 1
	minLiveJunk    = 5
	minLiveQueries = 3
)

// updateIncident adds the second that ends to the open incident if it qualifies, and closes
// the incident when none has for the quiet time.
func (c *course) updateIncident(s *serverSecond, v verdict, rate float64) {
	in := c.in
	defer c.addPane(s)
	if rate < c.minRate() {
		c.summary.addProofs(s.server, c.lastSec, s.Now-measure.EchoDelay)
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
	c.summary.addProofs(s.server, c.lastSec, s.Now-measure.EchoDelay)
	if one := s.server.At(s.Now); one != nil && c.packetsIn(one) >= c.minRate() {
		c.lastEnd = s.secondEnd()
	}
	s.server.MergeSources(&c.sources, c.packetSort())
	if !c.isDescribedAlone && s.Now-c.firstSec >= aloneAfter && 2*v.rate >= c.meanRate() { // the sketches hold nothing from before it any more
		c.isDescribedAlone = true
		c.describe(s, v)
	}
	if in.Peak >= 2*c.announcedPeak {
		c.announcedPeak = in.Peak
		c.describe(s, v)
		s.announce(in, Changes)
	}
}

// aloneAfter is how many seconds after its start the sketches hold nothing but the incident:
// two panes.
const aloneAfter = 2 * measure.PaneSeconds

// pulseGap is how long a pause between two pulses lasts at least, in seconds. Chosen: one
// more than the three seconds that the rate is a mean of.
const pulseGap = 4

// considerKind lets a verdict of another kind replace that of the incident: one of a higher
// level, or a surer one of the same level, after betterFor seconds. A surer verdict of the
// same kind refreshes the description.
func (c *course) considerKind(s *serverSecond, v verdict) {
	in := c.in
	if v.kind == in.Kind && c.isActive {
		if v.confidence > in.Confidence && 2*v.rate >= c.meanRate() { // not in its tail
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

// A verdict replaces another one of the same level if its confidence is higher by betterBy
// for betterFor seconds. Chosen: less than one point of evidence, and long enough that a
// single second does not rename an attack.
const (
	betterBy  = 0.05
	betterFor = 3
)

// describe fills in confidence, sources, networks and evidence as they are now.
func (c *course) describe(s *serverSecond, v verdict) {
	in, t := c.in, s.server
	in.Confidence = max(in.Confidence, v.confidence)
	if n := len(in.History); n > 0 && v.kind == in.Kind {
		in.Confidence = v.confidence
	}
	t.MergeSources(&c.sources, c.packetSort())
	c.updateTotals(s.secondEnd())
	s.busiest = t.Busiest(s.busiest, c.packetSort())
	in.Top = appendTop(in.Top[:0], s.busiest, c.hasProofs(t))
	in.Prefixes = in.Prefixes[:0]
	if c.packetSort() == measure.Queries {
		s.prefixes = appendPrefixes(s.prefixes[:0], t)
		in.Prefixes = append(in.Prefixes, s.prefixes[:min(len(s.prefixes), listedPrefixes)]...)
		in.Missing = listMissing(in.Missing[:0], s.features, in.Proto)
		if t.LastCut > 0 {
			in.Missing = append(in.Missing, "challenge values (snap length)")
		}
		in.Features = listFeatures(in.Features[:0], s.features)
	}
	c.describeWindow(s)
}

// hasProofs reports whether the capture shows which sources of the course proved their
// address: the server gives challenges, and none was cut.
func (c *course) hasProofs(t *measure.Server) bool { return t.LastChallenge > 0 && t.LastCut == 0 }

// updateTotals fills in the mean rate and the number of sources of the incident so far, which
// ends at end.
func (c *course) updateTotals(end int64) {
	c.in.setMean(end)
	c.in.setSources(c.sources.Count())
	c.in.SourcesError = sketch.DistinctError
}

// closeIncident ends the incident at the last second that qualified.
func (c *course) closeIncident(s *serverSecond) {
	in := c.in
	s.setEnd(in, c.lastEnd, c.family)
	c.summary.addProofs(s.server, c.lastSec, s.Now)
	c.conclude(s, in.End)
	s.closeIncident(in, c.family)
	c.in, c.alertStreak, c.warnStreak, c.noteStreak = nil, 0, 0, 0
}

// conclude describes the incident once more, as a whole that ends at end, and writes the final
// advice.
func (c *course) conclude(s *serverSecond, end int64) {
	c.updateTotals(end)
	c.describeWhole(s, end)
	s.concludeTrial(c.in, c.trial, s.features[measure.OneWay] > 0)
	c.trial = nil
}

// finish announces the incident that is open when the capture ends.
func (c *course) finish(s *serverSecond) {
	switch {
	case c.in == nil:
	case !c.isActive: // its last second lies inside the capture
		c.closeIncident(s)
	default:
		c.summary.addProofs(s.server, c.lastSec, s.Now)
		c.conclude(s, s.captureEnd())
		s.announce(c.in, Ends)
		c.in = nil
	}
}
