package ring

import "time"

// clock turns packet time, which steps forth and back, into time that passes: it
// never goes back, stands still while packets arrive out of order, and goes on
// from there after the system's clock was set back. A clock that was set forward
// cannot be told from silence, and counts as that.
type clock struct {
	passed int64 // nanoseconds since the first packet
	newest int64 // packet time that this stands for
	begun  bool
}

// to moves the clock to a packet time.
func (c *clock) to(nanos int64) {
	switch {
	case !c.begun:
		c.newest, c.begun = nanos, true
	case nanos > c.newest:
		c.passed = later(c.passed, nanos-c.newest)
		c.newest = nanos
	case c.newest-nanos > int64(maxDisorder):
		c.newest = nanos
	}
}

// of is the passed time at which a packet time is reached.
func (c *clock) of(nanos int64) int64 {
	switch ahead := nanos - c.newest; {
	case nanos > c.newest && ahead < 0: // it overflowed
		return later(c.passed, 1<<63-1)
	case nanos < c.newest && ahead > 0:
		return -1 << 63
	case ahead > 0:
		return later(c.passed, ahead)
	default:
		return c.passed + ahead
	}
}

// later adds a span that is not negative, which may be longer than all time left.
func later(a, span int64) int64 {
	if sum := a + span; sum >= a {
		return sum
	}
	return 1<<63 - 1
}

// span is a duration as nanoseconds that are not negative.
func span(d time.Duration) int64 { return max(0, int64(d)) }
