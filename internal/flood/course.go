package flood

import (
	"math"
	"time"

	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/sketch"
)

// course follows one family of traffic at a server from second to second: for how long a
// verdict has held, and the incident that was opened for it.
type course struct {
	family           family
	in               *Incident // nil: none is open
	streak           streak    // without an incident
	firstSec         int32     // of the incident
	lastSec          int32     // last second that qualified
	lastEnd          int64     // the time stamp at the end of the last one that was counted; of queries, of the last in it
	countedTo        int32     // and its number: what qualified after it is the tail, unless more comes
	runStart         int32     // first second since the last pause
	longestRun       int32     // seconds without a pause, at most
	betterStreak     int       // seconds in a row in which another kind was the better one
	isActive         bool      // the second before qualified
	pauseStart       int32     // first second of a pause
	trial            Trial     // of the rules advised; nil: none runs
	packets          float64   // of the family, and the seconds in which they came
	seconds          float64
	announcedPeak    float64 // the peak when it was last announced
	isDescribedAlone bool    // it was described again after aloneAfter
	wasRefused       bool    // there was no room for its incident, and the verdict holds
	hasWaited        bool    // a note waited for those of other servers of the network
	sources          sketch.Distinct
	sourcesFrom      int32         // first second that sources holds: it has whole panes
	sourcesTo        int32         // last second of the streak that sources holds
	before, after    uint64        // packets in the panes of sources from before and after the incident
	summary          *summary      // of the incident so far; nil: none is open
	shape            measure.Shape // of its packets
	leak             leak          // what guesses brought
	toldLeak         bool          // the first sentence of the evidence is about it

	leader     *course // that has the note that this one joined; nil: none
	leaderID   uint64
	joinedBase float64 // the usual rates of servers that joined this one
	rateSec    int32   // a second, and what came in it, with servers that joined
	rate       float64
}

// serverSecond is the second that ends at one server, as its courses see it.
type serverSecond struct {
	*book
	server   *measure.Server
	features *measure.Features
	watched  *watched
}

// applyVerdict applies the verdict on the second that ends: it opens an incident, or
// changes, continues or closes the open one. rate, in packets a second, decides whether the
// open one continues.
func (c *course) applyVerdict(s *serverSecond, v verdict, rate float64) {
	if c.in != nil {
		c.considerKind(s, v)
		c.updateIncident(s, v, rate)
		return
	}
	if c.leader != nil && c.followNote(s) {
		return
	}
	hasVerdict := c.countStreak(s, v)
	if isPulse := c.streak.pulses.hasPause() && c.streak.pulses.areEnough(&s.lim) && v.judged.isPulse(); isPulse {
		v.kind = v.judged
	} else if !hasVerdict || !c.isLongEnough(&s.lim, v) {
		return
	}
	if !s.isJoined(c, v) && !s.joinNote(c, v) {
		c.openIncident(s, v)
	}
}

// isLongEnough reports whether the verdict has held for long enough to open an incident.
func (c *course) isLongEnough(lim *Thresholds, v verdict) bool {
	need := lim.SlowTicks
	if v.isUrgent {
		need = lim.FastTicks
	}
	switch v.kind.Level() {
	case Alert:
		return c.streak.alerts >= need || c.streak.warnings >= lim.WarnTicks
	case Warn:
		if v.kind == FloodCompleting && c.streak.warnings >= need { // its sources have been at it for measure.KeenFor seconds
			return true
		}
		if v.isUrgent {
			return c.streak.warnings >= (lim.WarnTicks+1)/2
		}
		return c.streak.warnings >= lim.WarnTicks
	}
	return c.streak.notes >= lim.WarnTicks
}

// openIncident opens an incident that starts with the first second of what led to the
// verdict and holds the counts from there to the second that ends, if there is room for one.
func (c *course) openIncident(s *serverSecond, v verdict) {
	start := c.findStart(s, v)
	if c.packetsSince(s, start.Sec) == 0 {
		return
	}
	in := s.openIncident(s.watched.target(), v.kind, c.incidentFamily(v.kind), start.Nanos)
	if in == nil {
		if c.wasRefused {
			s.unopened-- // it is counted
		}
		c.wasRefused = true
		c.streak = streak{} // it has to qualify again
		return
	}
	in.Proto, in.Frame, in.Baseline, in.SourceSketch = s.server.Proto, start.Frame, s.server.Usual(), &c.sources
	if start.Sec-s.begun < usualAfter {
		in.Baseline = 0
	}
	in.IsSampled = s.server.IsSampled()
	c.in, c.firstSec, c.lastSec, c.lastEnd, c.pauseStart, c.betterStreak = in, start.Sec, s.Now, s.secondEnd(), 0, 0
	c.countedTo = s.Now
	c.packets, c.seconds, c.isActive, c.announcedPeak, c.isDescribedAlone = 0, 0, true, 0, false
	c.summary = newSummary(start.Sec)
	c.joinedBase, c.rateSec = 0, 0
	if x := s.watched.members; x != nil && !s.watched.hasOther(c) {
		x.restart(s.Now)
	}
	if start.Sec < s.server.PaneStart() {
		s.server.MergePreviousSources(&c.sources, c.packetSort())
		c.sourcesFrom = min(c.sourcesFrom, s.server.PaneStart()-measure.PaneSeconds)
	}
	c.before, c.after = c.countPackets(s, c.sourcesFrom, start.Sec-1), 0
	c.shape.Reset()
	c.runStart, c.longestRun = start.Sec, 0
	c.addStreak(s, start.Sec)
	c.longestRun = s.Now - c.runStart + 1
	c.summary.paneSeconds = min(c.summary.paneSeconds, s.Now-s.server.PaneStart()+1)
	c.summary.addProofs(s.server, s.Now, s.Now-measure.EchoDelay)
	c.describe(s, v)
	c.addPane(s)
	c.announcedPeak = in.Peak
	in.Gated = s.watched.amplifier.gated()
	c.trial = s.advisor.Try(in)
	if c.family != ofLoad {
		s.watched.leaveNetwork(s.Now)
	}
	s.keepNote(c)
	s.announce(in, Begins)
}

// incidentFamily returns the family of an incident of the course: a storm of the operator's tools is
// part of no attack's campaign.
func (c *course) incidentFamily(k Kind) family {
	if k == OwnToolStorm {
		return ofOwn
	}
	return c.family
}

// packetsSince returns how many packets of the family came from second sec to the one that
// ends. An incident without any is none.
func (c *course) packetsSince(s *serverSecond, sec int32) float64 {
	n := 0.0
	for ; sec <= s.Now; sec++ {
		if b := s.server.At(sec); b != nil {
			n += c.packetsIn(s, b)
		}
	}
	return n
}

// findStart returns the first second of what led to the verdict. It goes back from now as
// long as a second is part of the streak, or its rate is at least half of the present one
// and twice the baseline. The second that ends counts even if it is empty, and so does the
// one before the others if more came than usual: it began in the middle of that one.
func (c *course) findStart(s *serverSecond, v verdict) measure.Second {
	first := measure.Second{Sec: s.Now, Nanos: s.secondEnd() - int64(time.Second)}
	for sec := s.Now; sec > s.Now-measure.BinSeconds && sec > 0; sec-- {
		if c.streak.pulses.hasPause() && sec >= c.streak.firstSecond() && !c.isPulse(s, sec) {
			continue
		}
		b := s.server.At(sec)
		if b == nil {
			break
		}
		n := c.packetsIn(s, b)
		isBefore := n < max(v.rate/2, 2*s.server.Base) && sec < c.streak.firstSecond()
		if isBefore && n < c.minRateAt(s.server.Base) {
			break
		}
		first = *b
		if isBefore {
			break
		}
	}
	return first
}

// packetsIn returns how many packets of the family came in a second.
func (c *course) packetsIn(s *serverSecond, b *measure.Second) float64 {
	switch c.family {
	case ofGuesses:
		x := s.server.Sum(b.Sec, 1)
		return s.server.CountGuesses(&x, 1, s.Now)
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
func (c *course) addSecond(s *serverSecond, b *measure.Second) {
	if b == nil {
		return
	}
	in := c.in
	n := c.packetsIn(s, b)
	in.Requests += uint64(n)
	in.Replies += uint64(b.Replies)
	in.BytesIn += b.BytesIn + b.JunkBytes
	in.BytesOut += b.BytesOut
	in.Peak = max(in.Peak, c.addToRate(b.Sec, n))
	c.packets += n
	c.seconds++
	c.summary.totals.Add(b)
	c.summary.paneSeconds++
	if c.seconds <= limitSeconds {
		in.Stands = c.findLimit(s)
	}
}

// findLimit returns what a server answers in a second that leaves requests unanswered; 0: it does not, or
// that is unknown.
func (c *course) findLimit(s *serverSecond) float64 {
	t := &c.summary.totals
	if c.family != ofQueries || s.server.IsOneWay(s.Now) || t.Packets == 0 || float64(t.Replies) >= answersNearlyAll*float64(t.Packets) {
		return 0
	}
	if rate := float64(t.Replies) / c.seconds; rate >= leastLimit {
		return rate
	}
	return 0 // it hangs, or rules are loaded that let it be asked by few
}

const (
	// limitSeconds is for how long the limit of a server is looked for. Engines count over 30 or 60 s, and give all
	// that in the first seconds of a flood. Later rules may be loaded: then replies are few because little comes.
	limitSeconds = 60
	// answersNearlyAll is the share of requests with a reply from which on no limit shows: the rules have the same
	// figure for a server that refuses some.
	answersNearlyAll = 0.9
	// leastLimit is the smallest limit of a server, in requests a second. Chosen: engines have 30 and more.
	leastLimit = 10
)

// refitRules lets the rules follow what was found of the server's limit, at the end of some seconds of the incident,
// and reports whether they changed.
func (c *course) refitRules(s *serverSecond) bool {
	if c.trial == nil || c.seconds > limitSeconds || int(c.seconds)%refitEvery != 0 {
		return false
	}
	c.updateTotals(s.secondEnd())
	return c.trial.Refit(c.in)
}

// refitEvery is how many seconds of an incident pass between two looks at its rules. Chosen: each begins the trial
// of new rules anew, and who loads them by hand needs no more often.
const refitEvery = 5

// meanRate returns the rate of the incident so far.
func (c *course) meanRate() float64 { return measure.Share(c.packets, c.seconds) }

// minRate returns the rate below which a second does not continue the incident.
func (c *course) minRate() float64 {
	return max(c.minRateAt(c.in.Baseline-c.joinedBase), liveShare*c.meanRate())
}

// minRateAt returns what is more than a calm day has of the family, at that baseline.
func (c *course) minRateAt(baseline float64) float64 {
	switch c.family {
	case ofGuesses:
		return minLiveGuesses
	case ofJunk:
		return minLiveJunk
	}
	return 2*baseline + minLiveQueries
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
	if !c.continues(s, v, rate) {
		c.summary.addProofs(s.server, c.countedTo, s.Now-measure.EchoDelay)
		if c.isActive {
			c.isActive, c.pauseStart = false, s.Now
		}
		switch {
		case c.isOver(s):
			c.closeIncident(s)
		case s.Now-c.lastSec >= pulseGap:
			in.Paused = c.lastEnd
		}
		return
	}
	if !c.isActive {
		c.resume(s)
	}
	c.longestRun = max(c.longestRun, s.Now-c.runStart+1)
	c.lastSec, c.isActive, c.pauseStart = s.Now, true, 0
	if one := s.server.At(s.Now); one != nil {
		n := c.packetsIn(s, one)
		if isLast := c.countedTo == s.Now-1 && n >= c.minRateAt(in.Baseline-c.joinedBase); isLast || n >= c.minRate() {
			c.countUpTo(s, s.Now)
		}
	}
	c.summary.addProofs(s.server, c.countedTo, s.Now-measure.EchoDelay)
	s.server.MergeSources(&c.sources, c.packetSort())
	c.after = c.countPackets(s, c.countedTo+1, s.Now)
	if !c.isDescribedAlone && s.Now-c.firstSec >= aloneAfter && 2*v.rate >= c.meanRate() { // the sketches hold nothing from before it any more
		c.isDescribedAlone = true
		c.describe(s, v)
	}
	if refits, leaks := c.refitRules(s), c.updateLeak(); refits || leaks {
		s.announce(in, Changes)
	}
	if in.Peak >= 2*c.announcedPeak {
		c.announcedPeak = in.Peak
		c.describe(s, v)
		s.announce(in, Changes)
	}
}

// countUpTo adds the seconds after the last one that was counted. A second qualifies by the mean
// of three, so the one or two after the flood do as well. They are counted if another loud one
// follows, or if more than usual came in them: the flood ended in their midst. Otherwise the
// incident would have more packets than came from its start to its end.
func (c *course) countUpTo(s *serverSecond, last int32) {
	for sec := max(c.countedTo+1, last-measure.BinSeconds+1); sec <= last; sec++ {
		c.addSecond(s, s.server.At(sec))
		s.server.MergeShape(&c.shape, c.packetSort(), sec)
	}
	c.countedTo, c.lastEnd = last, s.secondEnd()
	if b := s.server.At(last); b != nil && c.packetSort() == measure.Queries {
		c.lastEnd = b.LastQuery(c.lastEnd, int(math.Ceil(c.in.Baseline)))
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
		if v.weight.Value > in.Weight.Value && 2*v.rate >= c.meanRate() { // not in its tail
			c.describe(s, v)
		}
		c.betterStreak = 0
		return
	}
	if v.kind == NoKind || v.kind.Level() < in.Level || v.weight.Value < in.Weight.Value+betterBy && v.kind.Level() == in.Level {
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

// A verdict replaces another one of the same level if its weight is higher by betterBy
// for betterFor seconds. Chosen: less than one point of evidence, and long enough that a
// single second does not rename an attack.
const (
	betterBy  = 0.05
	betterFor = 3
)

// closeIncident ends the incident at the last second that qualified.
func (c *course) closeIncident(s *serverSecond) {
	in := c.in
	in.Paused = 0
	s.setEnd(in, c.lastEnd, c.family)
	c.summary.addProofs(s.server, c.countedTo, s.Now)
	c.conclude(s, in.End)
	s.closeIncident(in, c.incidentFamily(in.Kind))
	c.in, c.streak, c.wasRefused = nil, streak{}, false
}

// conclude describes the incident once more, as a whole that ends at end, and writes the final
// advice.
func (c *course) conclude(s *serverSecond, end int64) {
	c.updateTotals(end)
	c.describeWhole(s, end)
	c.describeServers(s, end)
	c.toldLeak = false
	c.updateLeak()
	c.updateAnswers(s)
	s.concludeTrial(c.in, c.trial, s.features[measure.OneWay] > 0)
	c.trial = nil
}

// updateAnswers fills in what clients got, where rules are tried: a trial knows them one by one. Without, Served
// counts requests with a challenge only, and a client whose first query is lost sends none.
func (c *course) updateAnswers(s *serverSecond) {
	if c.trial == nil || s.features[measure.OneWay] > 0 {
		return
	}
	a := c.trial.Answers()
	if a.FirstAsked == 0 && a.ProvenAsked == 0 {
		return
	}
	c.in.Answers, c.in.Served = a, a.Served()
}

// finish announces the incident that is open when the capture ends.
func (c *course) finish(s *serverSecond) {
	switch {
	case c.in == nil:
	case !c.isActive: // its last second lies inside the capture
		c.closeIncident(s)
	default:
		c.countUpTo(s, s.Now)
		c.summary.addProofs(s.server, c.lastSec, s.Now)
		c.conclude(s, s.captureEnd())
		s.announce(c.in, Ends)
		c.in = nil
	}
}

// An attack may come in pulses: of a second, so that no verdict holds for the seconds that an
// incident needs, and with pauses, so that each pulse looks like an incident of its own.
// Against the first, the seconds of a streak are counted on after a pause. Against the second,
// an incident of short pulses waits for the next one for longer than others.
const (
	// longestPause is how long a pause in a streak lasts at most, in seconds. Attacks pause
	// for up to a minute, and the counts of the pulse before are kept for BinSeconds.
	longestPause = 60
	// longestPulse is how long the pulses of such an incident last at most, in seconds, and
	// pulseQuiet for how long it waits for the next one. Chosen: who stops after seconds
	// most often comes again within minutes, and one report of that says more than ten.
	longestPulse = 10
	pulseQuiet   = 5 * 60
	// pulseShare is the share of the peak from which on a second that comes later than quiet
	// is the next pulse: less may be a busy minute of the day. Chosen.
	pulseShare = 0.5
)

// streak is the seconds with a verdict that have not opened an incident yet.
type streak struct {
	alerts   int   // seconds in a row with a verdict that is an alert
	warnings int   // that is at least a warning
	notes    int   // that is at least a note
	start    int32 // first second of those in a row
	pulses   pulses
}

// pulses is the pulses that have not opened an incident yet: seconds at burst_rate and more,
// with pauses between them.
type pulses struct {
	alerts    int     // seconds with an alert
	start     int32   // the first second of the pulse with the first of them
	first     int32   // the first second of the last pulse
	last      int32   // the last one of it
	rate      float64 // and its peak
	isCounted bool    // alerts has a second of it
}

// add counts the second that ends with its verdict, and reports whether the verdict has a kind.
func (k *streak) add(v verdict, now int32, burstRate float64) bool {
	k.pulses.add(v, now, burstRate)
	if v.kind == NoKind {
		k.alerts, k.warnings, k.notes = 0, 0, 0
		return false
	}
	if k.notes == 0 {
		k.start = now
	}
	k.notes++
	if v.kind.Level() >= Warn {
		k.warnings++
	} else {
		k.warnings = 0
	}
	if v.kind.Level() == Alert {
		k.alerts++
	} else {
		k.alerts = 0
	}
	return true
}

// add counts the second that ends. A pause is a second with less than liveShare of the pulse
// before. The first of a pause is judged, too: only then is it known who of the pulse brought
// a challenge back. It may show that the pulse was an attack, or was a crowd.
func (p *pulses) add(v verdict, now int32, burstRate float64) {
	if p.last > 0 && now-p.last > longestPause {
		*p = pulses{}
	}
	isCalm := v.judged != NoKind && v.judged.Level() == Info
	switch isPause := v.rate < liveShare*p.rate; {
	case isPause && now-p.last > 1:
	case isPause && isCalm, !isPause && (v.rate < burstRate || v.judged == NoKind):
		*p = pulses{}
	case isPause:
		if v.judged.isPulse() && !p.isCounted {
			p.count()
		}
	default:
		p.addLoud(v, now, isCalm)
	}
}

// addLoud counts a second of a pulse.
func (p *pulses) addLoud(v verdict, now int32, isCalm bool) {
	if p.last == 0 || now-p.last > 1 {
		p.first, p.rate, p.isCounted = now, 0, false
	} else if isCalm { // a second later it would be known
		*p = pulses{}
		return
	}
	p.last, p.rate = now, max(p.rate, v.rate)
	if v.judged.isPulse() {
		p.count()
	}
}

// isPulse reports whether seconds of a kind count as pulses of an attack.
func (k Kind) isPulse() bool { return k.Level() == Alert || k == FloodCompleting }

// count counts a second of the last pulse as an alert.
func (p *pulses) count() {
	if p.alerts == 0 {
		p.start = p.first
	}
	p.alerts++
	p.isCounted = true
}

// areEnough reports whether the pulses are long enough together to open an incident.
func (p *pulses) areEnough(lim *Thresholds) bool {
	if p.rate >= urgentRate {
		return p.alerts >= lim.FastTicks
	}
	return p.alerts >= lim.SlowTicks
}

// firstSecond returns the first second of the streak, or of the pulses before it.
func (k *streak) firstSecond() int32 {
	if k.pulses.alerts > 0 && (k.notes == 0 || k.pulses.start < k.start) {
		return k.pulses.start
	}
	return k.start
}

// hasPause reports whether there are pulses with a pause between them.
func (p *pulses) hasPause() bool { return p.alerts > 0 && p.first > p.start }

// countStreak counts the second in the streak, and reports whether its verdict has a kind.
func (c *course) countStreak(s *serverSecond, v verdict) bool {
	k := &c.streak
	hasVerdict := k.add(v, s.Now, s.lim.BurstRate)
	if v.kind == NoKind {
		c.hasWaited, c.wasRefused = false, false
	}
	if !hasVerdict && k.pulses.last != s.Now {
		return false
	}
	first := k.firstSecond()
	if !hasVerdict && k.pulses.alerts == 0 { // a pulse begins, and it is not known yet of what
		first = k.pulses.first
	}
	if c.sourcesTo < first { // they are those of an incident or a streak before
		c.sources.Reset()
		c.sourcesFrom = s.server.PaneStart()
	}
	c.sourcesTo = s.Now
	s.server.MergeSources(&c.sources, c.packetSort()) // the sketches have lost it when the next pulse comes
	return hasVerdict
}

// addStreak adds the seconds from start to now to the incident that opens: all of them, or
// where it came in pulses, these with the second before and after each.
func (c *course) addStreak(s *serverSecond, start int32) {
	last := start
	for sec := start; sec <= s.Now; sec++ {
		if c.streak.pulses.hasPause() && !c.isPulse(s, sec) && !c.isPulse(s, sec-1) && !c.isPulse(s, sec+1) {
			continue
		}
		if sec-last > pulseGap {
			c.in.Pulses++
			c.runStart = sec
		}
		last = sec
		c.addSecond(s, s.server.At(sec))
		s.server.MergeShape(&c.shape, c.packetSort(), sec)
	}
}

// isPulse reports whether a second is part of a pulse of the streak.
func (c *course) isPulse(s *serverSecond, sec int32) bool {
	b := s.server.At(sec)
	return b != nil && c.packetsIn(s, b) >= max(c.minRateAt(s.server.Base), liveShare*c.streak.pulses.rate)
}

// isInPulses reports whether all of the incident so far were short pulses of burst_rate and
// more, so that another one may come.
func (c *course) isInPulses(lim *Thresholds) bool {
	return c.in.Level == Alert && c.longestRun <= longestPulse && c.in.Peak >= lim.BurstRate
}

// isWaiting reports whether the incident is open for the next pulse only.
func (c *course) isWaiting(s *book) bool { return s.isQuiet(c.lastSec) && !c.isActive }

// isOver reports whether nothing will continue the incident.
func (c *course) isOver(s *serverSecond) bool {
	return c.isWaiting(s.book) && (!c.isInPulses(&s.lim) || s.Now-c.lastSec >= pulseQuiet)
}

// continues reports whether the second that ends continues the incident.
func (c *course) continues(s *serverSecond, v verdict, rate float64) bool {
	return rate >= c.minRate() && (!c.isWaiting(s.book) || v.rate >= pulseShare*c.in.Peak)
}

// resume continues the incident after a pause. A long one is between two pulses and is not
// counted, but for its last second, which may have the begin of the next.
func (c *course) resume(s *serverSecond) {
	c.runStart, c.in.Paused = s.Now, 0
	if c.pauseStart > 0 && s.Now-c.pauseStart >= pulseGap {
		c.in.Pulses++
		c.countedTo = s.Now - 2
	}
}

// evict closes the incidents of a server that wait for a pulse: another one needs the room.
func (w *watched) evict(b *book) {
	if w.hasIncident() {
		w.finish(b)
	}
}

// isBusy reports whether an incident is open at the server that is not over but for a pulse
// that may come.
func (w *watched) isBusy(b *book) bool {
	for i := range w.courses {
		if c := &w.courses[i]; c.in != nil && !c.isWaiting(b) {
			return true
		}
	}
	return false
}
