package sensor

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"qsniff/internal/fleet"
	"qsniff/internal/flood/measure"
	"qsniff/internal/monitor"
	"qsniff/internal/track"
)

// listing is what is kept of a server that had a Server message in the window before: its counters
// then.
type listing struct {
	window int32
	kinds  []monitor.KindCounts
	round  [len(monitor.RoundLimits) + 1]uint64
	nanos  uint64
	told   told
}

// kindDelta is what a window had of a kind of messages.
type kindDelta struct {
	protocol, message string
	count             uint64
	outcomes          [monitor.NumOutcomes]uint64
	had               *monitor.KindCounts // since the start
}

// busyNetwork is one of the busiest networks.
type busyNetwork struct {
	prefix  track.Host
	queries uint32
}

// isBusier reports whether n precedes o among the busiest.
func (n *busyNetwork) isBusier(o *busyNetwork) bool {
	return n.queries > o.queries || n.queries == o.queries && bytes.Compare(n.prefix[:], o.prefix[:]) < 0
}

// putServer makes the messages about the server at a place.
func (x *Sensor) putServer(at int, c counts) {
	p := x.opt.Meter.Place(at)
	m := &fleet.Server{Addr: p.Addr(), PacketsIn: c.in.Packets, BytesIn: c.in.Bytes, PacketsOut: c.out.Packets, BytesOut: c.out.Bytes,
		Junk: c.junk, Unasked: c.unasked, Unproven: c.unproven}
	l := x.listed[m.Addr]
	isNew := l == nil
	if isNew {
		l = &listing{kinds: make([]monitor.KindCounts, p.NumKinds())}
		x.listed[m.Addr] = l
	}
	// Of a server that was not listed before it is not known what it counted before this window,
	// unless all that it counted came in it.
	isWhole := !isNew || p.Counts().In.Packets == c.in.Packets && p.Counts().Out.Packets == c.out.Packets
	l.window = x.windows
	x.fillKinds(m, p, l, isWhole)
	x.fillTimes(m, p.Counts(), l, isWhole)
	x.measure(m)
	x.put(m, fleet.KindServer, x.end)
	x.putInventory(m.Addr, p, l)
}

// fillKinds fills in what the messages of each kind came to: of all kinds that the server was ever
// asked or sent, so that the list is as long when nothing comes. Those beyond kindsEach are one.
func (x *Sensor) fillKinds(m *fleet.Server, p monitor.Place, l *listing, isWhole bool) {
	x.kinds = x.kinds[:0]
	for i := range p.NumKinds() {
		protocol, message, now := p.Kind(i)
		if now.Messages == 0 {
			continue
		}
		d := kindDelta{protocol: protocol, message: message, had: now}
		if before := &l.kinds[i]; isWhole && now.Messages >= before.Messages {
			d.count = now.Messages - before.Messages
			for o := range d.outcomes {
				d.outcomes[o] = now.Outcomes[o] - min(before.Outcomes[o], now.Outcomes[o])
			}
		}
		l.kinds[i] = *now
		x.kinds = append(x.kinds, d)
	}
	slices.SortStableFunc(x.kinds, func(a, b kindDelta) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(b.had.Messages, a.had.Messages))
	})
	m.Asked = make([]fleet.Asked, 0, kindsEach+1)
	for i := range x.kinds[:min(len(x.kinds), kindsEach)] {
		m.Asked = append(m.Asked, x.kinds[i].asked())
	}
	if len(x.kinds) > kindsEach {
		rest := fleet.Asked{Protocol: "other", Message: "further kinds"}
		for i := range x.kinds[kindsEach:] {
			rest.Count += x.kinds[kindsEach+i].count
		}
		m.Asked = append(m.Asked, rest)
	}
}

// asked returns what a message has of the kind, with all outcomes that there ever were.
func (d *kindDelta) asked() fleet.Asked {
	a := fleet.Asked{Protocol: d.protocol, Message: d.message, Count: d.count}
	for o, n := range d.outcomes {
		if d.had.Outcomes[o] > 0 {
			if a.Outcomes == nil {
				a.Outcomes = map[string]uint64{}
			}
			a.Outcomes[monitor.Outcome(o).String()] = n
		}
	}
	return a
}

// fillTimes fills in the response times.
func (x *Sensor) fillTimes(m *fleet.Server, c *monitor.Counts, l *listing, isWhole bool) {
	m.Times = make([]uint64, len(c.Times.Round))
	if isWhole && c.Times.Nanos >= l.nanos {
		for i, n := range c.Times.Round {
			m.Times[i] = n - min(l.round[i], n)
		}
		m.TimesNanos = c.Times.Nanos - l.nanos
	}
	l.round, l.nanos = c.Times.Round, c.Times.Nanos
}

// measure fills in how the queries look to the detector. Lists are filled up with empty entries.
func (x *Sensor) measure(m *fleet.Server) {
	m.Top, m.Forms = make([]fleet.Network, topEach), make([]fleet.Form, formsEach)
	t := x.opt.Detector.Watched(m.Addr)
	if t == nil {
		return
	}
	m.IsMeasured = true
	x.opt.Detector.Measure(&x.features, t)
	m.Features = fleet.Features(x.features)
	t.MergeSources(&m.Sources.Distinct, measure.Queries)
	t.MergeSites(&m.Sites.Distinct)
	for i, n := range x.busiestNetworks(t) {
		m.Top[i] = fleet.Network{Prefix: x.opt.Secret.SealNetwork(measure.Network(n.prefix)), Queries: n.queries}
	}
	x.shape.Reset()
	x.opt.Detector.MergeShape(&x.shape, t)
	x.forms = x.shape.AppendForms(x.forms[:0])
	for i := range min(len(x.forms), formsEach) {
		m.Forms[i] = x.formOf(&x.forms[i])
	}
}

// busiestNetworks returns the topEach busiest networks of the window, busiest first.
func (x *Sensor) busiestNetworks(t *measure.Server) []busyNetwork {
	top := x.networks[:0]
	t.EachPrefix(func(prefix track.Host, low, _ uint32, _ int) {
		n := busyNetwork{prefix, low}
		switch {
		case len(top) < topEach:
			top = append(top, n)
		case n.isBusier(&top[topEach-1]):
			top[topEach-1] = n
		default:
			return
		}
		for i := len(top) - 1; i > 0 && top[i].isBusier(&top[i-1]); i-- {
			top[i], top[i-1] = top[i-1], top[i]
		}
	})
	x.networks = top
	return top
}

// formOf returns a form by names.
func (x *Sensor) formOf(f *measure.Form) fleet.Form {
	protocol, message := x.opt.Meter.NameOf(f.Type)
	return fleet.Form{Protocol: protocol, Message: message, HasKey: f.HasKey, Min: f.Min, Max: f.Max, Packets: f.Packets}
}

// told is the profile in the last Inventory of a server, and when that was made. The zero told is none.
type told struct {
	end     int64
	profile track.Profile
}

// putInventory makes an Inventory of what a server says of itself: when its texts or its size have
// changed, else every inventoryEvery.
func (x *Sensor) putInventory(a netip.AddrPort, p monitor.Place, l *listing) {
	now := p.Profile()
	if now == nil {
		return
	}
	was := &l.told.profile
	isSame := now.Name == was.Name && now.Map == was.Map && now.Version == was.Version && now.Max == was.Max
	if isSame && l.told.end != 0 && x.end-l.told.end < int64(inventoryEvery) {
		return
	}
	l.told = told{max(x.end, 1), *now}
	m := &fleet.Inventory{Addr: a, Name: textOf(&now.Name), Map: textOf(&now.Map), Build: textOf(&now.Version),
		Players: int(now.Players), MaxPlayers: int(now.Max), Bots: int(now.Bots)}
	if t := x.opt.Detector.Watched(a); t != nil && t.Proto != nil {
		m.Protocol = t.Proto.Name
	}
	x.put(m, fleet.KindInventory, x.end)
}

// textOf returns a text from the network as valid UTF-8.
func textOf(t *track.ShortText) string { return toValid(string(t.Whole())) }

func toValid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

const (
	// limit: topEach is how many of the busiest networks a Server lists, and formsEach how many forms of
	// packets: as many in each window, filled up with empty ones. Chosen: networks are compared
	// with those of other hosts, where a sixteenth adds nothing; a flood has one form or two.
	topEach   = fleet.MaxTop
	formsEach = 4

	// limit: kindsEach is how many kinds of messages a Server lists, those that came most; the others are
	// one entry. Chosen: requests and replies of one protocol; who sends all seventy kinds to a
	// server once must not make its messages ten times as long for ever.
	kindsEach = 12

	// limit: inventoryEvery is how often an Inventory of a server is sent, if only numbers have
	// changed, as that of the players.
	inventoryEvery = 5 * time.Minute
)
