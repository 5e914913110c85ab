package pipeline

import (
	"math"
	"testing"
	"time"

	"qsniff/capture"
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
		{"set back a little", append(append([]int64{100 * sec}, many(believeAfter, 91*sec)...), 92*sec), 101 * sec, believeAfter},
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
			if _, back := c.observe(&capture.Packet{Nanos: s}, nil); back {
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
	c.observe(&capture.Packet{Nanos: 100 * sec}, nil)
	c.maxAge = 110 * sec
	if c.observe(&capture.Packet{Nanos: 3700 * sec}, nil); c.age != 110*sec {
		t.Errorf("set forward\ngot  %d\nwant the ceiling", c.age)
	}
	c.maxAge = 120 * sec
	for range believeAfter {
		c.observe(&capture.Packet{Nanos: 3691 * sec}, nil)
	}
	if c.observe(&capture.Packet{Nanos: 3692 * sec}, nil); c.age != 111*sec {
		t.Errorf("set back: a second later\ngot  %d\nwant %d", c.age, 111*sec)
	}
	if c.observe(&capture.Packet{Nanos: 3691*sec + sec/2}, nil); c.age != 111*sec {
		t.Errorf("out of order\ngot  %d\nwant %d", c.age, 111*sec)
	}
}

// TestClockStops: whatever stamps come, the age stops before it would overflow.
func TestClockStops(t *testing.T) {
	const year = 365 * 24 * int64(time.Hour)
	var c clock
	c.observe(&capture.Packet{Nanos: lastAge - 2*int64(time.Hour)}, nil)
	last := c.age
	for range 10 { // an hour each time
		c.observe(&capture.Packet{Nanos: math.MaxInt64}, nil)
		for range believeAfter {
			c.observe(&capture.Packet{Nanos: 0}, nil)
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
			if c.observe(&capture.Packet{Nanos: s}, nil); i > 0 && c.age < before {
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

// TestClockSteps: the times of packets go on where the clock was set back, and one wrong stamp changes
// nothing but its own packet. A packet comes each millisecond.
func TestClockSteps(t *testing.T) {
	const ms, sec, n = int64(time.Millisecond), int64(time.Second), 1000
	for _, tt := range []struct {
		name  string
		first int64
		by    func(i int) int64 // what the stamp is wrong by
		steps int
		backs int // packets whose stamps are counted as going back
	}{
		{"right", 1e18, func(int) int64 { return 0 }, 0, 0},
		{"set back 2 s", 1e18, func(i int) int64 { return -2 * sec * int64(i/500) }, 1, 0},
		{"set back an hour", 1e18, func(i int) int64 { return -3600 * sec * int64(i/500) }, 1, 0},
		{"set back twice", 1e18, func(i int) int64 { return -30 * sec * int64(i/300) }, 3, 0},
		{"set back and forward again", 1e18, func(i int) int64 { return -3600 * sec * int64(i/300%2) }, 2, 0},
		{"the first packet 5 s late", 1e18, func(i int) int64 { return 5 * sec * int64((n-i)/n) }, 0, 1},
		{"the first packet a minute late", 1e18, func(i int) int64 { return 60 * sec * int64((n-i)/n) }, 0, 1},
		{"a packet in the midst a minute late", 1e18, func(i int) int64 { return 60 * sec * int64(i/500*(500/max(i, 1))) }, 0, 1},
		{"before 1970", -5 * sec, func(int) int64 { return 0 }, 0, 0},
	} {
		packets := make([]capture.Packet, n)
		for i := range packets {
			packets[i].Nanos = tt.first + int64(i)*ms + tt.by(i)
		}
		var c clock
		backs := 0
		for i := range packets {
			nanos, back := c.observe(&packets[i], packets[i+1:])
			if back {
				backs++
			}
			if want := max(tt.first, 0) + int64(i)*ms; nanos < want-4*ms || nanos > want+4*ms {
				t.Errorf("%s: packet %d\ngot  %d\nwant %d", tt.name, i, nanos, want)
				break
			}
		}
		if c.steps.count != tt.steps || backs != tt.backs {
			t.Errorf("%s\ngot  %d steps, %d packets that go back\nwant %d, %d", tt.name, c.steps.count, backs, tt.steps, tt.backs)
		}
		if age := c.age - max(tt.first, 0); age < (n-10)*ms || age > (n+10)*ms {
			t.Errorf("%s: the age is %d after %d", tt.name, age, n*ms)
		}
	}
}
