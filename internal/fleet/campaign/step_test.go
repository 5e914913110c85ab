package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"qsniff/internal/fleet"
)

// kinds returns what was told of campaigns, without times.
func (x *told) kinds() (all []string) {
	for _, c := range x.campaigns {
		all = append(all, fmt.Sprintf("%d %s %s %s %s %d/%d peak %.0f", c.Number, c.Event, c.How, c.Category, c.Level, c.Servers, c.Sensors, c.Peak))
	}
	return all
}

// TestBrokerClockSet: the clock of the broker is set an hour forward or back, in the middle of what happens. The same
// campaigns are told, no sensor is silent for it, and no message is refused.
func TestBrokerClockSet(t *testing.T) {
	eachDelivered(t, func(t *testing.T, sc *scenario, log []delivery) {
		slices.SortStableFunc(log, func(a, b delivery) int { return cmp.Compare(a.broker, b.broker) })
		want := deliver(log)
		for _, by := range []time.Duration{time.Hour, -time.Hour} {
			for part := 1; part < 4; part++ {
				x := newTold()
				middle := part * len(log) / 4
				x.consume(log[:middle])
				x.engine.Step(int64(by))
				after := slices.Clone(log[middle:])
				for i := range after {
					after[i].broker += int64(by)
				}
				x.consume(after)
				x.restart(t)
				x.finish(after)
				if d := gocmp.Diff(want.kinds(), x.kinds()); d != "" {
					t.Errorf("%v, after %d of %d messages:\n%s", by, middle, len(log), d)
				}
				if c := x.engine.Counters(); len(x.sensors) != len(want.sensors) || c.TooEarly+c.TooLate != 0 || c.ClockSteps != 1 {
					t.Errorf("%v: %d changes of sensors, not %d; too early %d, too late %d, %d steps", by, len(x.sensors), len(want.sensors), c.TooEarly, c.TooLate, c.ClockSteps)
				}
			}
		}
	})
}

// TestBrokerClockBackUnseen: a hub that was not there when the clock was set back goes on as well.
func TestBrokerClockBackUnseen(t *testing.T) {
	eachDelivered(t, func(t *testing.T, sc *scenario, log []delivery) {
		slices.SortStableFunc(log, func(a, b delivery) int { return cmp.Compare(a.broker, b.broker) })
		want := deliver(log)
		x := newTold()
		middle := len(log) / 4
		x.consume(log[:middle])
		after := slices.Clone(log[middle:])
		for i := range after {
			after[i].broker -= int64(time.Hour)
		}
		x.consume(after)
		x.finish(after)
		if len(x.campaigns) == 0 != (len(want.campaigns) == 0) || x.engine.Counters().ClockSteps != 1 {
			t.Errorf("told %v, steps %d", x.kinds(), x.engine.Counters().ClockSteps)
		}
	})
}

// TestSensorClockSet: the clock of a host is set an hour forward, and later back: its windows stay those of the others.
func TestSensorClockSet(t *testing.T) {
	w := newWorld(t, 3)
	w.run(12*time.Minute, nil)
	log := w.log
	for i := range log {
		d := &log[i]
		if at := d.broker - dawn; strings.HasSuffix(headOf(d).Sensor, "02") && at > 4*60e9 && at < 8*60e9 {
			d.sent += int64(time.Hour)
			headOf(d).Time += int64(time.Hour)
		}
	}
	x := deliver(log)
	c := x.engine.Counters()
	if len(x.campaigns) > 0 || len(x.sensors) != 3 || c.TooEarly+c.TooLate > 0 || c.Late > 4 {
		t.Errorf("%d campaigns, %d changes of sensors, too early %d, too late %d, late %d", len(x.campaigns), len(x.sensors), c.TooEarly, c.TooLate, c.Late)
	}
	whole := 0
	for _, v := range x.engine.Windows() {
		if v.Sensors == 3 {
			whole++
		}
	}
	if whole < 68 {
		t.Errorf("%d of 72 windows have all three sensors", whole)
	}
}

func headOf(d *delivery) *fleet.Head { return fleet.HeadOf(d.m) }
