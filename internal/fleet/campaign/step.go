package campaign

import "math"

// Step is to be called when the broker's clock was set, by so many nanoseconds (negative: back), before what came after
// that is consumed. What is known keeps its age: sensors are not silent and campaigns not over for it, and windows
// that are open go on. Without it, an engine notices a clock that was set back at the first time that it is told, and
// takes one that was set forward for a time in which nobody spoke.
func (e *Engine) Step(by int64) {
	st := &e.state
	shift := func(t *int64) {
		if *t > 0 {
			*t = addTime(*t, by)
		}
	}
	k := by / period
	index := func(i *int64) { *i = addTime(*i, k) }
	for _, t := range []*int64{&st.Spoken, &st.Resumed} {
		shift(t)
	}
	if st.HasBegun {
		index(&st.Closed)
	}
	for _, s := range st.Sensors {
		s.step(shift, by)
	}
	st.Windows, st.LateWindows = stepWindows(st.Windows, index, shift), stepWindows(st.LateWindows, index, shift)
	for i := range st.Totals {
		st.Totals[i].End = addTime(st.Totals[i].End, k*period)
	}
	incidents := map[*incident]bool{}
	for _, x := range st.Pending {
		incidents[x] = true
	}
	for _, x := range st.Incidents {
		incidents[x] = true
	}
	for x := range incidents {
		index(&x.Due)
		for _, t := range []*int64{&x.Start, &x.End, &x.Updated} {
			shift(t)
		}
	}
	courses := map[*course]bool{}
	for _, c := range st.Courses {
		courses[c] = true
	}
	for _, x := range st.Carpets {
		index(&x.Last)
		if x.Course != nil {
			courses[x.Course] = true
		}
	}
	for c := range courses {
		c.step(shift, index)
	}
	st.Counters.ClockSteps++
}

// step moves what is known of a sensor.
func (s *sensorState) step(shift func(*int64), by int64) {
	for _, t := range []*int64{&s.First, &s.Heard, &s.LastHost} {
		shift(t)
	}
	c := &s.Clock
	c.Turn = addTime(c.Turn, by/skewPeriod)
	if (by/skewPeriod)&1 != 0 { // the turns change places
		c.Has[0], c.Has[1] = c.Has[1], c.Has[0]
		c.Least[0], c.Least[1] = c.Least[1], c.Least[0]
	}
	for i := range c.Least {
		c.Least[i] = addTime(c.Least[i], by)
	}
	c.Offset = addTime(c.Offset, by)
	if max(c.Offset, -c.Offset) <= skewLeast {
		c.Offset = 0
	}
	for _, v := range s.Servers {
		for _, t := range []*int64{&v.Heard, &v.Asked, &v.Answered} {
			shift(t)
		}
	}
}

// step moves the times of a campaign that is not over.
func (c *course) step(shift, index func(*int64)) {
	index(&c.FirstIndex)
	index(&c.LastIndex)
	for _, t := range []*int64{&c.Start, &c.Detected, &c.End} {
		shift(t)
	}
	for _, m := range c.All {
		shift(&m.Start)
		shift(&m.End)
	}
}

// stepWindows returns windows by their new indexes.
func stepWindows(list map[int64]*window, index, shift func(*int64)) map[int64]*window {
	moved := make(map[int64]*window, len(list))
	for _, w := range list {
		index(&w.Index)
		shift(&w.Arrival)
		w.Totals.End = w.Index * period
		moved[w.Index] = w
	}
	return moved
}

// addTime returns the sum of a time and a span, at the end of what an int64 holds if it is beyond.
func addTime(t, by int64) int64 {
	sum := t + by
	switch {
	case by > 0 && sum < t:
		return math.MaxInt64 / 2
	case by < 0 && sum > t:
		return math.MinInt64 / 2
	}
	return sum
}

// noticeStep calls Step if a time of the broker is so long before the last one that its clock was set back.
func (e *Engine) noticeStep(broker int64) {
	if now := e.state.Closed*period + lateness; e.state.HasBegun && broker > 0 && broker < now-stepLeast {
		e.Step(broker - now)
	}
}
