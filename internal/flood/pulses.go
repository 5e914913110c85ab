package flood

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
		if v.judged.Level() == Alert && !p.isCounted {
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
	if v.judged.Level() == Alert {
		p.count()
	}
}

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
	c.runStart = s.Now
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
