package pipeline

import "time"

// idleLag is how far idle time lags: a packet that was captured before its
// source said that there is nothing may come yet. Kernels hold packets back for
// 20 ms, and the program may be late itself.
const idleLag = 250 * time.Millisecond

// idle is the time that passes while a live source brings nothing, and the most that
// can have passed where it brings packets. It is measured in spans, not as a time of
// day: a system clock that is set moves the stamps of packets, and nothing expires
// because of that.
type idle struct {
	now    func() int64 // nil: only packets make time pass
	since  int64        // when the last packets came
	passed int64        // what the clock went on with since then

	begun, base int64 // when the first packets came, and the age after them
}

// maxAge is the most that age can be now.
func (i *idle) maxAge(age, now int64) int64 {
	if i.base == 0 {
		i.begun, i.base = i.since, age-i.passed
	}
	return i.base + now - i.begun + int64(stampLag)
}

// takeSpan is how much of the silence the clock has yet to go on with.
func (i *idle) takeSpan() int64 {
	span := max(i.now()-i.since-int64(idleLag)-i.passed, 0)
	i.passed += span
	return span
}
