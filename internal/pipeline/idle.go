package pipeline

import "time"

// idleLag is how far time lags while a source brings nothing: a packet that was captured
// before may still come. Kernels hold packets back for 20 ms; the rest is chosen for a
// program that is late itself.
const idleLag = 250 * time.Millisecond

// idle measures the time that passes while a live source brings nothing, and the most that
// can have passed when it brings packets. It measures spans, not the time of day: when
// the system clock is set, the stamps of packets jump, but nothing expires because of
// that.
type idle struct {
	now    func() int64 // nil: only packets make time pass
	since  int64        // when the last packets came
	passed int64        // by how much the clock was advanced since then

	begun, base int64 // when the first packets came, and the age after them
}

// maxAge returns the most that the clock's age can be at now, with stampLag to spare.
func (i *idle) maxAge(age, now int64) int64 {
	if i.base == 0 {
		i.begun, i.base = i.since, age-i.passed
	}
	return i.base + now - i.begun + int64(stampLag)
}

// takeSpan returns by how much the clock is to be advanced now, and counts it as passed.
func (i *idle) takeSpan() int64 {
	span := max(i.now()-i.since-int64(idleLag)-i.passed, 0)
	i.passed += span
	return span
}
