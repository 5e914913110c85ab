package ring

import "time"

// clock turns packet time, which steps forward and back, into elapsed time, which
// never goes back: it stands still while packets arrive out of order, and continues
// after the system's clock was set back. A clock that was set forward cannot be
// distinguished from silence, and counts as that.
type clock struct {
	elapsed int64 // nanoseconds since the first packet
	newest  int64 // packet time at that moment
	started bool
}

// advance moves the clock to a packet time.
func (c *clock) advance(nanos int64) {
	switch {
	case !c.started:
		c.newest, c.started = nanos, true
	case nanos > c.newest:
		c.elapsed = addSpan(c.elapsed, nanos-c.newest)
		c.newest = nanos
	case c.newest-nanos > int64(maxDisorder):
		c.newest = nanos
	}
}

// elapsedAt returns the elapsed time that belongs to a packet time, before or after
// the present one.
func (c *clock) elapsedAt(nanos int64) int64 {
	switch ahead := nanos - c.newest; {
	case nanos > c.newest && ahead < 0: // it overflowed
		return addSpan(c.elapsed, 1<<63-1)
	case nanos < c.newest && ahead > 0:
		return -1 << 63
	case ahead > 0:
		return addSpan(c.elapsed, ahead)
	default:
		return c.elapsed + ahead
	}
}

// addSpan returns a plus a span that is not negative, or the largest int64 if the sum
// is beyond it.
func addSpan(a, span int64) int64 {
	if sum := a + span; sum >= a {
		return sum
	}
	return 1<<63 - 1
}

// span returns a duration in nanoseconds, 0 for a negative one.
func span(d time.Duration) int64 { return max(0, int64(d)) }
