package fleettest

import (
	"fmt"
	"net/netip"
	"time"

	"qsniff/internal/fleet"
)

// Window is all that the sensors of a fleet said of one window.
type Window struct {
	End      int64
	Messages []fleet.Message
}

// Record returns what the sensors of so many hosts say of windows: on a usual day, and after calm time
// of it during a carpet over all of them.
func Record(hosts int, calm, carpet time.Duration, start time.Time) (all []Window) {
	f := NewFleet(FleetOptions{World: Options{Hosts: hosts, Seed: 5, Start: start}, Secret: Secret(), Put: func(_ *Sensor, m fleet.Message) {
		end := (fleet.HeadOf(m).Time + int64(fleet.Period) - 1) / int64(fleet.Period) * int64(fleet.Period)
		if len(all) == 0 || all[len(all)-1].End < end {
			all = append(all, Window{End: end})
		}
		w := &all[len(all)-1]
		w.Messages = append(w.Messages, m)
	}})
	f.PlayDay(calm + carpet)
	f.carpet(f.Hosts, 4, 117, calm, calm+carpet)
	f.Pass(calm+carpet, nil)
	return all
}

// Clone returns a window as so many further fleets of the same size would have it: with names, addresses and
// numbers of their own.
func (w *Window) Clone(times int) (all []fleet.Message) {
	for i := range times {
		for _, m := range w.Messages {
			all = append(all, cloned(m, i))
		}
	}
	return all
}

func cloned(m fleet.Message, i int) fleet.Message {
	switch x := m.(type) {
	case *fleet.Server:
		y := *x
		y.Addr = movedAddr(x.Addr, i)
		y.Sensor = movedName(x.Sensor, i)
		return &y
	case *fleet.Host:
		y := *x
		y.Sensor = movedName(x.Sensor, i)
		return &y
	case *fleet.Incident:
		y := *x
		y.Sensor = movedName(x.Sensor, i)
		return &y
	case *fleet.Finding:
		y := *x
		y.Sensor = movedName(x.Sensor, i)
		return &y
	case *fleet.Inventory:
		y := *x
		y.Addr = movedAddr(x.Addr, i)
		y.Sensor = movedName(x.Sensor, i)
		return &y
	}
	panic(fmt.Sprintf("%T", m))
}

func movedName(name string, i int) string { return fmt.Sprintf("%s-%d", name, i) }

// movedAddr moves 10.20.0.0/16 to the i-th network after it.
func movedAddr(a netip.AddrPort, i int) netip.AddrPort {
	b := a.Addr().As4()
	n := int(b[1]) + i
	b[0], b[1] = b[0]+byte(n>>8), byte(n)
	return netip.AddrPortFrom(netip.AddrFrom4(b), a.Port())
}
