package pipeline

import (
	"math"
	"testing"
	"time"
)

func TestClock(t *testing.T) {
	const (
		sec  = int64(time.Second)
		hour = int64(time.Hour)
	)
	many := func(n int, v int64) (s []int64) {
		for range n {
			s = append(s, v)
		}
		return s
	}
	for _, tc := range []struct {
		name   string
		stamps []int64
		age    int64
		backs  int
	}{
		{"set back a little", append(append([]int64{100 * sec}, many(believeAfter, 91*sec)...), 92*sec), 100 * sec, believeAfter + 1},
		{"forward", []int64{100 * sec, 101 * sec, 105 * sec}, 105 * sec, 0},
		{"a little out of order", []int64{100 * sec, 99 * sec, 101 * sec}, 101 * sec, 1},
		{"one stamp from the future, then as before", append(append([]int64{100 * sec, 9000 * sec}, many(believeAfter, 101*sec)...), 103*sec),
			100*sec + hour + 2*sec, believeAfter},
		{"set back for good", append(append([]int64{9000 * sec}, many(believeAfter, 100*sec)...), 107*sec), 9007 * sec, believeAfter},
		{"two captures that alternate", []int64{100 * sec, 9000 * sec, 101 * sec, 9001 * sec, 102 * sec, 9002 * sec}, 100*sec + hour + 2*sec, 2},
		{"absurd stamps, again and again", absurd(many), 0, -1},
	} {
		var c clock
		backs, last := 0, int64(0)
		for _, s := range tc.stamps {
			if c.observe(s) {
				backs++
			}
			if c.age < last {
				t.Errorf("%s: went back from %d to %d", tc.name, last, c.age)
			}
			last = c.age
		}
		if tc.backs < 0 {
			continue // it is enough that it never went back
		}
		if c.age != tc.age || backs != tc.backs {
			t.Errorf("%s\ngot  %d, %d steps back\nwant %d, %d", tc.name, c.age, backs, tc.age, tc.backs)
		}
	}
}

// TestClockLive: where the time that passed is known, stamps cannot go further, and one
// that was set back a little is believed as one that was set back by much.
func TestClockLive(t *testing.T) {
	const sec = int64(time.Second)
	var c clock
	c.observe(100 * sec)
	c.maxAge = 110 * sec
	if c.observe(3700 * sec); c.age != 110*sec {
		t.Errorf("set forward\ngot  %d\nwant the ceiling", c.age)
	}
	c.maxAge = 120 * sec
	for range believeAfter {
		c.observe(3691 * sec)
	}
	if c.observe(3692 * sec); c.age != 111*sec {
		t.Errorf("set back: a second later\ngot  %d\nwant %d", c.age, 111*sec)
	}
	if c.observe(3691*sec + sec/2); c.age != 111*sec {
		t.Errorf("out of order\ngot  %d\nwant %d", c.age, 111*sec)
	}
}

// TestClockStops: whatever stamps come, the age stops before it would overflow.
func TestClockStops(t *testing.T) {
	const year = 365 * 24 * int64(time.Hour)
	var c clock
	c.observe(lastAge - 2*int64(time.Hour))
	last := c.age
	for range 10 { // an hour each time
		c.observe(math.MaxInt64)
		for range believeAfter {
			c.observe(0)
		}
		if c.age < last {
			t.Fatalf("the age went back from %d to %d", last, c.age)
		}
		last = c.age
	}
	c.pass(year)
	if c.age != lastAge || c.age+year < c.age {
		t.Errorf("age\ngot  %d\nwant %d", c.age, int64(lastAge))
	}
	for _, stamps := range [][]int64{{math.MinInt64, math.MaxInt64, math.MinInt64}, {math.MaxInt64, math.MinInt64, math.MaxInt64}} {
		var c clock
		for i, s := range stamps {
			before := c.age
			if c.observe(s); i > 0 && c.age < before {
				t.Errorf("stamps %d\ngot  an age that went back from %d to %d", stamps, before, c.age)
			}
		}
	}
}

// absurd jumps between the ends of time until a sum of the steps would overflow.
func absurd(many func(int, int64) []int64) (s []int64) {
	for range 4 {
		s = append(append(s, 1<<62), many(believeAfter, 0)...)
	}
	return s
}
