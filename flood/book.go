package flood

import (
	"slices"
	"time"
)

// book is the incidents: those that are open, and what is remembered of others.
type book struct {
	d      *Detector
	next   uint64
	past   []past // the last ones that closed
	list   []busy // memory of busiest
	nets   []Prefix
	open   int // incidents
	minute int32
	opened [NumKinds]int // in this minute
	// Uncounted is how many incidents were not opened, because too many were.
	uncounted uint64
}

// past is an incident that closed.
type past struct {
	target   Target
	family   int
	campaign uint64
	end      int64
}

// opened tells whether an incident is open at the target.
func (t *target) opened() bool {
	for i := range t.busy {
		if t.busy[i].in != nil {
			return true
		}
	}
	return false
}

// judge judges the second that ends.
func (d *Detector) judge(t *target) {
	alarm, loud := d.alarm(t)
	c := &t.busy[ofQueries]
	load := &t.busy[ofLoad]
	var q call
	three := float64(t.sum(d.now, 3).queries) / 3
	q.rate = float64(t.sum(d.now, 1).queries)
	if alarm || c.in != nil || load.in != nil || c.weak > 0 || load.calm > 0 {
		f := d.look(t)
		if alarm || c.in != nil {
			q = d.queryCall(t, f)
			q.confidence = d.confidence(q.score, f.oneWay, t.born)
		}
		if dying := f.now < 0.3*f.r10; dying && c.in == nil {
			q.kind = NoKind
		}
	}
	attack, note := q, q
	if q.kind.Level() == Info {
		attack.kind = NoKind
	} else {
		note.kind = NoKind
	}
	if !alarm && c.in == nil {
		attack.kind = NoKind
	}
	if !loud || three < d.lim.SlowRate {
		note.kind = NoKind
	}
	d.book.step(t, c, attack, three)
	d.book.step(t, load, note, three)
	j := d.junkCall(t)
	j.confidence = d.confidence(j.score, t.oneWay(d.now), t.born)
	d.book.step(t, &t.busy[ofNonsense], j, j.rate)
	g := d.guessCall(t)
	g.confidence = d.confidence(g.score, t.oneWay(d.now), t.born)
	d.book.step(t, &t.busy[ofGuesses], g, g.rate)
	if c.in == nil && (!alarm || q.kind.Level() == Info) {
		t.learn(d.now)
	}
}

// step takes one second of a course: the verdict, and the rate that an incident
// lives by.
func (b *book) step(t *target, c *course, v call, rate float64) {
	d := b.d
	if c.in == nil {
		if !c.count(v, d.now) {
			return
		}
		if !b.ripe(c, v) {
			return
		}
		b.begin(t, c, v)
		if c.in == nil {
			return
		}
	} else {
		b.follow(t, c, v)
	}
	b.live(t, c, v, rate)
}

// ripe tells whether the verdict has held for long enough.
func (b *book) ripe(c *course, v call) bool {
	lim := &b.d.lim
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

// begin opens an incident.
func (b *book) begin(t *target, c *course, v call) {
	d := b.d
	start := t.startOf(c, v, d.now, d.secondNanos()-int64(time.Second))
	in := b.register(Target{End: t.end.AddrPort()}, v.kind, c.family, start.nanos)
	if in == nil {
		c.streak, c.weak, c.calm = 0, 0, 0 // it has to qualify again
		return
	}
	in.Protocol, in.Frame, in.Baseline = t.proto, start.frame, t.base
	c.in, c.started, c.last, c.lastAt, c.rest, c.better = in, start.sec, d.now, d.secondNanos(), 0, 0
	c.sum, c.seconds, c.active, c.told, c.settled = 0, 0, true, 0, false
	in.Pulses = 1
	c.sources.Reset()
	if start.sec < t.pane().start {
		c.merge(&t.panes[(t.turn+1)&1])
	}
	for sec := start.sec; sec < d.now; sec++ {
		c.add(t, sec)
	}
	d.describe(t, c, v)
	c.told = in.Peak
	c.trial = d.try(in)
	t.tries += c.tries()
	d.Found(in, Begins)
}

// register makes an incident; nil where too many are open already.
func (b *book) register(target Target, kind Kind, family int, start int64) *Incident {
	d := b.d
	if d.now/60 != b.minute {
		b.minute = d.now / 60
		clear(b.opened[:])
	}
	b.opened[kind]++
	if b.opened[kind] > maxPerMinute || b.open == openIncidents {
		b.uncounted++
		return nil
	}
	b.open++
	b.next++
	in := &Incident{ID: b.next, Campaign: b.next, Kind: kind, Level: kind.Level(), Target: target,
		Start: start, Detected: max(d.secondNanos(), start), Completion: -1, Answered: -1, Frame: d.frame, Dropped: d.lost}
	for i := range b.past {
		p := &b.past[i]
		if p.target == target && p.family == family && start-p.end <= int64(d.lim.Campaign) {
			in.Campaign = p.campaign
		}
	}
	return in
}

// secondNanos is the time stamp at the end of the second at hand.
func (d *Detector) secondNanos() int64 {
	return d.first + int64(d.now)*int64(time.Second) + d.shift
}

// startOf is the first second of what led to the verdict: where the rate began to be
// at least half of what it is now. nanos is the begin of the second at hand, in which
// nothing need have come.
func (t *target) startOf(c *course, v call, now int32, nanos int64) bin {
	first := bin{sec: now, nanos: nanos}
	for sec := now; sec > now-binSeconds && sec > 0; sec-- {
		b := t.at(sec)
		if b == nil || c.of(b) < max(v.rate/2, 2*t.base) && sec < c.since {
			break
		}
		first = *b
	}
	return first
}

// live goes on with an open incident for one second.
func (b *book) live(t *target, c *course, v call, rate float64) {
	d := b.d
	in := c.in
	if rate >= c.floor() {
		if !c.active && c.rest > 0 && d.now-c.rest >= pulseGap {
			in.Pulses++
		}
		if c.active || rate >= c.floor() {
			c.add(t, d.now)
		}
		c.last, c.active, c.rest = d.now, true, 0
		if one := t.at(d.now); one != nil && c.of(one) >= c.floor() {
			c.lastAt = d.secondNanos()
		}
		c.merge(t.pane())
		if !c.settled && d.now-c.started >= settledAfter && 2*v.rate >= share(c.sum, c.seconds) { // the sketches have forgotten what was before
			c.settled = true
			d.describe(t, c, v)
		}
		if in.Peak >= 2*c.told {
			c.told = in.Peak
			d.describe(t, c, v)
			d.Found(in, Changes)
		}
		return
	}
	if c.active {
		c.active, c.rest = false, d.now
	}
	if float64(d.now-c.last) >= d.lim.Quiet.Seconds() {
		b.close(t, c)
	}
}

// settledAfter is when sketches show an incident alone, in seconds.
const settledAfter = 2 * paneSeconds

// pulseGap is how long a pause between two pulses lasts at least, in seconds.
const pulseGap = 4

// follow lets a better verdict take the place of the one that is given.
func (b *book) follow(t *target, c *course, v call) {
	d := b.d
	in := c.in
	if v.kind == in.Kind && c.active {
		if v.confidence > in.Confidence && 2*v.rate >= share(c.sum, c.seconds) { // not in its dying tail
			d.describe(t, c, v)
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
	in.History = append(in.History, Change{in.Kind, d.secondNanos()})
	in.Kind, in.Level = v.kind, v.kind.Level()
	d.describe(t, c, v)
	t.tries -= c.tries()
	c.trial = d.retry(in, c.trial)
	t.tries += c.tries()
	d.Found(in, Changes)
}

// A verdict takes the place of another one if it is surer by betterBy for
// betterFor seconds.
const (
	betterBy  = 0.05
	betterFor = 3
)

// close ends an incident at the last second that qualified.
func (b *book) close(t *target, c *course) {
	in := c.in
	in.End = c.lastAt
	b.settle(t, c)
	b.finish(in, c.family)
	c.in, c.streak, c.weak, c.calm = nil, 0, 0, 0
}

// settle writes the advice of an incident that is told of for the last time.
func (b *book) settle(t *target, c *course) {
	t.tries -= c.tries()
	c.total()
	if in := c.in; in.Answered >= 0 && in.Requests > 0 {
		in.Answered = min(1, float64(in.Replies)/float64(in.Requests))
	}
	b.d.conclude(c.in, c.trial, t.feat.oneWay)
	c.trial = nil
}

// finish tells that an incident is over. Clocks that were set back do not make it end
// before it was there; scans are over before answers have failed to come.
func (b *book) finish(in *Incident, family int) {
	in.End = max(in.End, in.Start)
	if family != ofScans {
		in.End = max(in.End, in.Detected)
	}
	if len(b.past) == keptIncidents {
		b.past = slices.Delete(b.past, 0, 1)
	}
	b.past = append(b.past, past{in.Target, family, in.Campaign, in.End})
	b.open--
	b.d.Found(in, Ends)
}

// end tells of incidents that the capture leaves open.
func (b *book) end() {
	d := b.d
	for _, t := range d.heavy {
		for i := range t.busy {
			c := &t.busy[i]
			if c.in == nil {
				continue
			}
			if !c.active { // its last second lies inside the capture
				b.close(t, c)
				continue
			}
			b.settle(t, c)
			d.Found(c.in, Ends)
			c.in = nil
		}
	}
	d.victims.end(d)
	d.scans.end(d)
	d.consoles.end(d)
}
