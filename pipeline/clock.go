package pipeline

import "time"

// clock makes of time stamps a time that never goes back, for everything that
// waits and expires. Packets a little out of order do not move it; one stamp in
// the far future moves it once, and when the stamps stay older than that it goes on with
// them, as after a clock was set back or with captures put one after the other.
type clock struct {
	age       int64 // what tables age by
	high      int64 // the time stamp that age stands for
	isStarted bool
	older     int   // packets in a row that are far older
	maxAge    int64 // the age that time stamps may move it to; 0: any
}

const (
	// maxReorder is more than packets are ever reordered by.
	maxReorder = 10 * time.Second
	// maxStep is the most that one packet moves the clock: longer than anything
	// waits, and short enough that no number of absurd stamps makes it overflow.
	maxStep = time.Hour
	// believeAfter is how many packets in a row must be far older before the
	// clock believes them: two captures that were merged badly alternate.
	believeAfter = 16
)

// stampLag is how much more time may lie between the stamps of packets than between
// reading them: those at the beginning may have been read late.
const stampLag = time.Second

// observe takes a packet's time stamp. It reports a step back.
func (c *clock) observe(nanos int64) (back bool) {
	if !c.isStarted {
		*c = clock{age: nanos, high: nanos, isStarted: true}
		return false
	}
	if nanos >= c.high {
		c.advanceBy(min(nanos-c.high, int64(maxStep)))
		c.high, c.older = nanos, 0
		return false
	}
	if c.high-nanos < c.maxDisorder() {
		c.older = 0
		return c.maxAge == 0 // live, processors take turns
	}
	if c.older++; c.older >= believeAfter {
		c.high, c.older = nanos, 0
	}
	return true
}

// advanceBy moves the clock by a span of time stamps, as far as that can be true.
func (c *clock) advanceBy(span int64) {
	if c.maxAge != 0 {
		span = min(span, max(c.maxAge-c.age, 0))
	}
	c.age += span
}

// maxDisorder is how much older a stamp is that belongs to a clock which was set back. On
// live traffic, whose packets come in order, that is little: until it is believed, time
// stands still, and seconds of traffic look like one.
func (c *clock) maxDisorder() int64 {
	if c.maxAge != 0 {
		return int64(stampLag)
	}
	return int64(maxReorder)
}

// pass lets time go on without a packet.
func (c *clock) pass(span int64) {
	c.age += span
	c.high += span
}
