package sensor

import (
	"testing"
	"time"

	"qsniff/internal/fleet"
)

// TestHostClockSet: the clock of the host is set an hour back, after which packets keep the times that they would have had,
// and forward again, and once more forward. Messages have the time of the clock, to half a period, and windows are
// of whole periods.
func TestHostClockSet(t *testing.T) {
	servers := serversOf(1)
	wall := int64(0)
	h := newHost(t, servers, func(o *Options) { o.Wall = func() int64 { return wall } })
	ahead, seen := int64(0), 0
	for i, x := range []struct{ ahead, jump time.Duration }{{0, 0}, {time.Hour - 3*time.Second, 0}, {7 * time.Second, 0}, {0, 0}, {0, time.Hour}} {
		h.now += int64(x.jump)
		for range 120 * 4 { // two minutes
			ahead = int64(x.ahead)
			wall = h.now - ahead
			h.visit(address(0xcb007101), servers[0])
			h.pass(250 * time.Millisecond)
		}
		all := messagesOf[*fleet.Host](h)
		if len(all) < seen+10 {
			t.Fatalf("%d: %d windows", i, len(all)-seen)
		}
		for _, m := range all[len(all)-6:] {
			if late := time.Duration(wall - m.Time); late < -5*time.Second || late > 66*time.Second || m.Time%int64(fleet.Period) != 0 {
				t.Errorf("%d: a window that ended %v ago, at %d", i, late, m.Time)
			}
		}
		if last := all[len(all)-1]; wall-last.Time > 16e9 {
			t.Errorf("%d: the last window ended %v ago", i, time.Duration(wall-last.Time))
		}
		if h := all[len(all)-1]; h.Started > wall || h.Started < wall-int64(2*time.Hour) {
			t.Errorf("%d: began at %d", i, h.Started)
		}
		seen = len(all)
	}
}
