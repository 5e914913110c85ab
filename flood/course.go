package flood

import "qsniff/flood/sketch"

// course is how one family of traffic of a target goes.
type course struct {
	family  int
	in      *Incident // open; nil: none is
	streak  int       // seconds in a row with an alert
	weak    int       // with a warning or better
	calm    int       // with a note or better
	since   int32     // first second of the streak
	started int32     // of the incident
	last    int32     // last second that qualified
	lastAt  int64     // and the time stamp of its end
	better  int       // seconds for which another kind was the better one
	active  bool      // the last second qualified
	rest    int32     // first second of a pause
	trial   Trial     // of the lines of advice; nil: none is
	sum     float64   // packets that counted, and the seconds in which they came
	seconds float64
	told    float64 // the peak when it was last told of
	settled bool    // it was described when sketches showed it alone
	sources sketch.Distinct
}

// count counts seconds in a row, and tells whether v is anything.
func (c *course) count(v call, now int32) bool {
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

// of is what counts in a second.
func (c *course) of(b *bin) float64 {
	switch c.family {
	case ofGuesses:
		return float64(b.bad)
	case ofNonsense:
		return float64(b.junk + b.strange)
	}
	return float64(b.queries)
}

// add adds a second to the sums of the incident.
func (c *course) add(t *target, sec int32) {
	b := t.at(sec)
	if b == nil {
		return
	}
	in := c.in
	n := c.of(b)
	in.Requests += uint64(n)
	in.Replies += uint64(b.replies)
	in.BytesIn += b.bytesIn + b.junkBytes
	in.BytesOut += b.bytesOut
	in.Peak = max(in.Peak, n)
	c.sum += n
	c.seconds++
}

// floor is the rate below which a second does not qualify any more.
func (c *course) floor() float64 {
	mean := share(c.sum, c.seconds)
	switch c.family {
	case ofGuesses:
		return max(1, 0.25*mean)
	case ofNonsense:
		return max(5, 0.25*mean)
	}
	return max(2*c.in.Baseline+3, 0.25*mean)
}

// merge adds the sources of a pane to those of the incident.
func (c *course) merge(p *pane) {
	switch c.family {
	case ofGuesses:
		c.sources.Merge(&p.bad)
	case ofNonsense:
		c.sources.Merge(&p.junkSrc)
	default:
		c.sources.Merge(&p.sources)
	}
}

// tries is how many trials the course has.
func (c *course) tries() int {
	if c.trial == nil {
		return 0
	}
	return 1
}

// total fills in the figures of the whole incident so far.
func (c *course) total() {
	c.in.Mean = share(c.sum, c.seconds)
	c.in.Sources, c.in.SourcesError = c.sources.Count(), sketch.DistinctError
}
