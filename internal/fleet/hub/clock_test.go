package hub

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"qsniff/internal/fleet"
)

// TestStepper: what passes by both clocks is no step, and what only one of them has is.
func TestStepper(t *testing.T) {
	const sec = int64(time.Second)
	var s stepper
	now, at := dawn, int64(0)
	for i, tc := range []struct{ clock, passed, want int64 }{
		{0, 0, 0}, {10 * sec, 10 * sec, 0}, {3610 * sec, 10 * sec, 3600 * sec}, {1 * sec, 1 * sec, 0}, {-3590 * sec, 10 * sec, -3600 * sec},
		{7200 * sec, 7200 * sec, 0}, {30 * sec, 0, 0}, {0, 30 * sec, 0},
	} {
		now, at = now+tc.clock, at+tc.passed
		if got := s.step(now, at); got != tc.want {
			t.Errorf("%d: %v, not %v", i, time.Duration(got), time.Duration(tc.want))
		}
	}
}

// TestClockSet: the broker's clock is set an hour forward, and back, while a campaign goes on. The hub leads as before,
// the campaign is one and is over when it is, no sensor is said to be silent, and nothing is refused.
func TestClockSet(t *testing.T) {
	w := newWorld(t)
	told := &sink{}
	o := w.options(w.dial(nil), told)
	var ahead atomic.Int64 // by which the broker's clock was set
	o.Monotonic = func() int64 { return w.now.Load() - dawn }
	o.Now = func(int64) int64 { return w.now.Load() + ahead.Load() }
	o.Times = func(m fleet.Message, _, _ int64) (int64, int64) { // the clocks of the hosts are right
		t := fleet.HeadOf(m).Time
		return t + 200e6 + ahead.Load(), t + 100e6
	}
	h, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	h.pace = testPace
	sensors := []string{"ams-1", "fra-1", "lon-1"}
	var a *running
	live := func(d time.Duration) {
		for ; d > 0; d -= fleet.Period {
			for _, s := range sensors {
				w.publish(&fleet.Host{Program: "1.0", Input: "eth0", Servers: 1}, s, fleet.KindHost)
			}
			w.passAfter(a, fleet.Period)
		}
	}
	a = w.run(h)
	w.until("the hub leads", func() bool { return a.View().Leads })
	w.attackAll("open", sensors...)
	live(2 * time.Minute)
	for i, to := range []time.Duration{time.Hour, 0} {
		ahead.Store(int64(to))
		live(2 * time.Minute)
		w.until("the step is noticed", func() bool { return a.View().Counters.ClockSteps == uint64(i+1) })
		if v := a.View(); len(v.Open) != 1 || v.Counters.Silent != 0 || !v.Leads {
			t.Fatalf("set to %v: %d campaigns, %d silent, leads %v", to, len(v.Open), v.Counters.Silent, v.Leads)
		}
	}
	for _, s := range sensors {
		w.attack(s, "close")
	}
	live(15 * time.Minute)
	w.until("the campaign is over", func() bool { return strings.Contains(w.numbers(), "close") })
	if c := a.View().Counters; c.TooEarly+c.TooLate+c.SensorsEvicted != 0 || c.Silent != 0 {
		t.Errorf("%+v", c)
	}
}
