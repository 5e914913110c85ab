package pipeline

import (
	"math"
	"time"

	"qsniff/capture"
)

// clock makes a time that never goes back, the age, out of the time stamps of packets, and corrects
// stamps where the clock of the capturing host was set back, so that what is counted by time has no
// stretch twice. Everything that waits and expires goes by the age.
//
// A packet arrives. If its stamp is a little older than one before, packets came out of order: it stays
// as it is, and the age does not move. If it and those that follow are older by minStep and more, the
// clock was set back: from then on stamps are taken to be later by as much. If it is far from both, the
// one before and those that follow, its stamp is wrong, and it gets that of the one before. A stamp in
// the future advances the age by maxStep at most.
type clock struct {
	age       int64 // what tables age by
	high      int64 // the corrected stamp that age stands for
	ahead     int64 // what is added to stamps
	isStarted bool
	older     int   // packets in a row that are older than high by minStep and more
	leapFrom  int64 // high before it last advanced by minStep and more
	sinceLeap int   // packets since then that are not older
	steps     clockSteps
	maxAge    int64 // the age that time stamps may advance it to; 0: any
}

// clockSteps are the times at which the clock of the capturing host was set back.
type clockSteps struct {
	count       int
	firstFrame  uint64
	firstNanos  int64 // stamp before the first step
	firstBy, by int64 // by how much it was set back first, and in all
	early       int64 // by how much stamps begin before 1970
}

const (
	// maxReorder is more than packets of a file are reordered by (chosen).
	maxReorder = 10 * time.Second
	// minStep is by how much a clock must be set back to be seen (chosen): packets of several
	// processors come out of order by less.
	minStep = 500 * time.Millisecond
	// maxStep is the most that one packet advances the clock. Chosen: longer than
	// anything waits, and so short that one absurd stamp does not make the age overflow.
	maxStep = time.Hour
	// believeAfter is how many packets in a row must be older before the clock goes on with their
	// stamps. Chosen: more than one or two, because two captures that were merged badly alternate.
	believeAfter = 16
)

// stampLag is how much more time may lie between the stamps of packets than between the
// times at which they were read: the first ones may have been read late (chosen).
const stampLag = time.Second

// observe advances the clock to a packet's time stamp, and returns the stamp as corrected. next are the
// packets that follow, as far as they are known. back is set if the stamp is to be counted as one that
// goes back.
func (c *clock) observe(p *capture.Packet, next []capture.Packet) (nanos int64, back bool) {
	if !c.isStarted {
		c.start(p.Nanos, next)
	}
	nanos = addStamp(p.Nanos, c.ahead)
	if nanos >= c.high {
		switch {
		case nanos-c.high <= int64(minStep) && nanos-c.high >= 0:
		case c.ahead > 0 && p.Nanos >= c.high && c.steps.early == 0: // set forward again
			nanos, c.ahead = p.Nanos, 0
		case c.areOlder(next, nanos):
			return c.high, true
		}
		if spanOf(c.high, nanos) >= int64(minStep) {
			c.leapFrom, c.sinceLeap = c.high, 0
		}
		c.sinceLeap++
		c.advanceBy(min(spanOf(c.high, nanos), int64(maxStep)))
		c.high, c.older = nanos, 0
		return nanos, false
	}
	by := spanOf(nanos, c.high)
	if by < int64(minStep) {
		c.older = 0
		return nanos, c.maxAge == 0 // live, processors take turns
	}
	if c.older++; c.older >= believeAfter || c.areOlder(next, c.high) {
		if c.sinceLeap < believeAfter && nanos >= c.leapFrom-min(int64(minStep), c.leapFrom) {
			c.high, c.older, c.sinceLeap = nanos, 0, believeAfter // the few stamps after the leap were wrong
			return nanos, true
		}
		c.setBack(p, by)
		return c.high, false
	}
	if by < c.maxDisorder() {
		return nanos, true
	}
	return c.high, true
}

// start begins with the first stamp, or where that is wrong with the next one. Stamps from before 1970
// are taken to be later, so that the age is positive.
func (c *clock) start(nanos int64, next []capture.Packet) {
	c.isStarted = true
	if c.areOlder(next, nanos) {
		nanos = next[0].Nanos
	}
	if nanos < 0 && len(next) > 0 && next[0].Nanos >= 0 {
		nanos = next[0].Nanos
	}
	if nanos < 0 {
		c.ahead = -max(nanos, -math.MaxInt64)
		c.steps.early = c.ahead
	}
	c.high = addStamp(nanos, c.ahead)
	c.age = min(c.high, lastAge)
}

// areOlder reports whether the next believeAfter packets are all older than a corrected stamp by
// minStep and more. If so many are not known, they are not.
func (c *clock) areOlder(next []capture.Packet, nanos int64) bool {
	if len(next) < believeAfter {
		return false
	}
	for i := range next[:believeAfter] {
		if x := addStamp(next[i].Nanos, c.ahead); x >= nanos || spanOf(x, nanos) < int64(minStep) {
			return false
		}
	}
	return true
}

// setBack takes the stamps from p on to be later than they are.
func (c *clock) setBack(p *capture.Packet, by int64) {
	if c.steps.count == 0 {
		c.steps.firstFrame, c.steps.firstNanos, c.steps.firstBy = p.No, c.high, by
	}
	c.steps.count++
	c.steps.by += min(by, math.MaxInt64-c.steps.by)
	c.ahead += min(by, math.MaxInt64-c.ahead)
	c.older = 0
}

// addStamp returns the sum of a stamp and what it is corrected by, or the most that an int64 holds.
func addStamp(nanos, ahead int64) int64 {
	if sum := nanos + ahead; sum >= nanos {
		return sum
	}
	return math.MaxInt64
}

// lastAge is where the age stops, a year before it would overflow: who adds a time to it needs
// no care. Stamps that jump to the future and back, an hour each time, get there.
const lastAge = math.MaxInt64 - int64(365*24*time.Hour)

// spanOf returns the time from one stamp to a later one, or the most that an int64 holds.
func spanOf(from, to int64) int64 {
	if d := to - from; d >= 0 {
		return d
	}
	return math.MaxInt64
}

// advanceBy advances the age by a span of time stamps, but not beyond maxAge or lastAge.
func (c *clock) advanceBy(span int64) {
	limit := int64(lastAge)
	if c.maxAge != 0 {
		limit = min(c.maxAge, lastAge)
	}
	c.age += min(span, max(limit-c.age, 0))
}

// maxDisorder returns how much older than another a stamp may be without being a sign that
// a clock was set back. On live traffic, whose packets come in order, that is little:
// until the clock goes on with older stamps, time stands still, and seconds of traffic
// look like one.
func (c *clock) maxDisorder() int64 {
	if c.maxAge != 0 {
		return int64(stampLag)
	}
	return int64(maxReorder)
}

// pass advances time by span without a packet.
func (c *clock) pass(span int64) {
	c.age += min(span, max(lastAge-c.age, 0))
	c.high += min(span, max(lastAge-c.high, 0))
}
