package pipeline

import (
	"math"
	"time"
)

// clock makes a time that never goes back, the age, out of the time stamps of packets.
// Everything that waits and expires goes by it. A stamp that is a little older than one
// before does not move it. A stamp in the far future advances it by maxStep at most; if
// believeAfter packets in a row are far older than that, their stamps advance it from
// then on, as after a clock was set back or in captures put one after the other.
type clock struct {
	age       int64 // what tables age by
	high      int64 // the time stamp that age stands for
	isStarted bool
	older     int   // packets in a row that are far older than high
	maxAge    int64 // the age that time stamps may advance it to; 0: any
}

const (
	// maxReorder is more than packets of a file are reordered by (chosen).
	maxReorder = 10 * time.Second
	// maxStep is the most that one packet advances the clock. Chosen: longer than
	// anything waits, and so short that one absurd stamp does not make the age overflow.
	maxStep = time.Hour
	// believeAfter is how many packets in a row must be far older before the clock
	// goes on with their stamps. Chosen: more than one or two, because two captures
	// that were merged badly alternate.
	believeAfter = 16
)

// stampLag is how much more time may lie between the stamps of packets than between the
// times at which they were read: the first ones may have been read late (chosen).
const stampLag = time.Second

// observe advances the clock to a packet's time stamp. It reports whether the stamp is to
// be counted as a step back.
func (c *clock) observe(nanos int64) (back bool) {
	if !c.isStarted {
		*c = clock{age: min(nanos, lastAge), high: nanos, isStarted: true}
		return false
	}
	if nanos >= c.high {
		c.advanceBy(min(spanOf(c.high, nanos), int64(maxStep)))
		c.high, c.older = nanos, 0
		return false
	}
	if spanOf(nanos, c.high) < c.maxDisorder() {
		c.older = 0
		return c.maxAge == 0 // live, processors take turns
	}
	if c.older++; c.older >= believeAfter {
		c.high, c.older = nanos, 0
	}
	return true
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
