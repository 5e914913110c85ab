package sensor

import (
	"cmp"
	"net/netip"
	"slices"

	"qsniff/internal/fleet"
	"qsniff/internal/monitor"
)

// place is what a place of the Meter counted up to the window before.
type place struct {
	addr   netip.AddrPort
	before counts
}

// counts are the counters of monitor.Counts that messages have.
type counts struct {
	in, out                 monitor.Traffic
	junk, unasked, unproven uint64
}

func countsOf(c *monitor.Counts) counts {
	return counts{c.In, c.Out, c.Junk.Packets, c.Unasked, c.Unproven}
}

// since returns what was counted after before. A server that lost its counters meanwhile, and got
// others, began anew.
func (c counts) since(before counts) counts {
	if c.in.Packets < before.in.Packets || c.out.Packets < before.out.Packets {
		return c
	}
	return counts{
		monitor.Traffic{Packets: c.in.Packets - before.in.Packets, Bytes: c.in.Bytes - before.in.Bytes},
		monitor.Traffic{Packets: c.out.Packets - before.out.Packets, Bytes: c.out.Bytes - before.out.Bytes},
		c.junk - before.junk, c.unasked - before.unasked, c.unproven - before.unproven,
	}
}

// closeWindow makes the messages of the window that ends at x.end.
func (x *Sensor) closeWindow() {
	x.windows++
	x.chooseServers()
	h := &fleet.Host{Program: cut(x.opt.Program), Input: cut(x.opt.Input), Started: max(x.started-x.ahead, 1), Servers: len(x.order),
		Unlisted: max(len(x.order)-fleet.MaxServers, 0), Dropped: x.dropped, Open: len(x.events.open)}
	if x.opt.Packets != nil {
		h.Packets = x.opt.Packets()
	}
	addCounts(&h.Others, x.takeCounts(0))
	for i, at := range x.order {
		c := x.takeCounts(at)
		if i >= fleet.MaxServers {
			addCounts(&h.Others, c)
			continue
		}
		x.putServer(at, c)
	}
	for a, l := range x.listed {
		if l.window != x.windows {
			delete(x.listed, a)
		}
	}
	x.putUpdates()
	x.putFindings()
	h.Unsent = x.unsent
	x.put(h, fleet.KindHost, x.end)
}

// chooseServers sets order to the places of all servers: those that were asked in the window first,
// by their addresses, then those that were asked last.
func (x *Sensor) chooseServers() {
	m := x.opt.Meter
	x.order = x.order[:0]
	for i := 1; i <= m.NumServers(); i++ {
		x.order = append(x.order, i)
	}
	for len(x.places) <= m.NumServers() {
		x.places = append(x.places, place{})
	}
	begin := x.end - int64(fleet.Period)
	slices.SortFunc(x.order, func(i, j int) int {
		a, b := m.Place(i), m.Place(j)
		return cmp.Or(cmp.Compare(min(b.Counts().LastSeen, begin), min(a.Counts().LastSeen, begin)), a.Addr().Compare(b.Addr()))
	})
}

// takeCounts returns what was counted at a place since it was called before.
func (x *Sensor) takeCounts(at int) counts {
	p := x.opt.Meter.Place(at)
	b := &x.places[at]
	if a := p.Addr(); b.addr != a {
		*b = place{addr: a}
	}
	now := countsOf(p.Counts())
	c := now.since(b.before)
	b.before = now
	return c
}

func addCounts(o *fleet.Others, c counts) {
	o.PacketsIn += c.in.Packets
	o.BytesIn += c.in.Bytes
	o.PacketsOut += c.out.Packets
	o.BytesOut += c.out.Bytes
	o.Junk += c.junk
}

// cut returns the first fleet.MaxText bytes of a text at most, as valid UTF-8.
func cut(s string) string { return toValid(s[:min(len(s), fleet.MaxText)]) }
