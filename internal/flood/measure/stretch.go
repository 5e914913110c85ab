package measure

import (
	"bytes"
	"cmp"
	"slices"

	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// Stretch adds up panes, so that what the sketches show of ten seconds can be told of the
// whole of an incident. Only panes that lie in the incident are added.
type Stretch struct {
	From, To int32 // seconds: the first one, and the first one after the last
	Seconds  int32 // of the panes; fewer than To - From where some between were not added
	Queries  uint64
	Hosts    []StretchHost // at most stretchHosts, busiest first

	low, alien, local uint64
	ttls              [256]uint64
	ports, prints     sketch.Dominant
	// missed is the most that a host which is not listed can have sent.
	missed uint64
}

// stretchHosts is how many hosts a Stretch lists. Chosen: eight times what an incident
// names, so that a host that was not among the busiest at first is counted from early on.
const stretchHosts = 64

// StretchHost is one of the busiest hosts. The true number of its packets lies between Low
// and High.
type StretchHost struct {
	Addr      track.Host
	Low, High uint64
	Activity  Activity
}

// AddPane adds the current pane of t, up to second now. It uses *memory for a list.
func (x *Stretch) AddPane(t *Server, sort Sort, now int32, memory *[]BusyHost) {
	p := t.currentPane()
	if x.Seconds == 0 {
		x.From = p.start
	}
	x.To = now + 1
	x.Seconds += now + 1 - p.start
	*memory = listBusiest(*memory, p.top[sort])
	x.addHosts(*memory, uint64(p.top[sort].MaxAbsent()))
	if sort != Queries {
		return
	}
	x.Queries += uint64(p.queries)
	x.low += uint64(p.lowPorts)
	x.alien += uint64(p.impossible)
	x.local += uint64(p.local)
	for i, n := range p.ttls {
		x.ttls[i] += uint64(n)
	}
	x.ports.Merge(&p.ports)
	x.prints.Merge(&p.prints)
}

// addHosts adds the hosts of a pane, busiest first. absent is the most that any other host
// sent in it.
func (x *Stretch) addHosts(pane []BusyHost, absent uint64) {
	seen, unlisted := 0, absent
	for i := range x.Hosts {
		x.Hosts[i].High += absent
	}
	for i := range pane {
		b := &pane[i]
		k := slices.IndexFunc(x.Hosts, func(h StretchHost) bool { return h.Addr == b.Addr })
		switch {
		case k >= 0:
			h := &x.Hosts[k]
			h.Low += uint64(b.Low)
			h.High += uint64(b.High) - min(absent, uint64(b.High))
			h.Activity.Ports.Merge(&b.Activity.Ports)
			h.Activity.TTL = b.Activity.TTL
			h.Activity.Proven = h.Activity.Proven || b.Activity.Proven
			h.Activity.addEchoes(&b.Activity)
		case seen < stretchHosts:
			x.Hosts = append(x.Hosts, StretchHost{b.Addr, uint64(b.Low), x.missed + uint64(b.High), b.Activity})
		default:
			unlisted = max(unlisted, uint64(b.High))
		}
		seen++
	}
	slices.SortFunc(x.Hosts, func(a, b StretchHost) int {
		return cmp.Or(cmp.Compare(b.Low, a.Low), bytes.Compare(a.Addr[:], b.Addr[:]))
	})
	x.missed += unlisted
	for i := stretchHosts; i < len(x.Hosts); i++ {
		x.missed = max(x.missed, x.Hosts[i].High)
	}
	x.Hosts = x.Hosts[:min(len(x.Hosts), stretchHosts)]
}

// Fill sets the features of the window that are shares of its queries, those of sources
// without a listing aside: it makes f describe the stretch.
func (x *Stretch) Fill(f *Features, server *track.Host) {
	queries := float64(x.Queries)
	alien := x.alien
	if scopeOf(server) == public && alien > 0 {
		alien += x.local
	}
	f[Alien], f[Low] = Share(float64(alien), queries), Share(float64(x.low), queries)
	odd, most := uint64(0), uint64(0)
	for ttl, n := range x.ttls {
		if n > most {
			most, f[TTL] = n, float64(ttl)
		}
		if !isUsualTTL(ttl) {
			odd += n
		}
	}
	f[TTL1], f[TTLX] = Share(float64(most), queries), Share(float64(odd), queries)
	port, n, of := x.ports.Leader()
	f[Port], f[Port1], f[PortQueries] = float64(port), Share(float64(n), float64(of)), float64(of)
	_, n, of = x.prints.Leader()
	f[Print1], f[PrintQueries] = Share(float64(n), float64(of)), float64(of)
	f[Top1], f[Window], f[WindowQueries] = 0, float64(x.Seconds), queries
	if len(x.Hosts) > 0 {
		f[Top1] = Share(float64(x.Hosts[0].Low), queries)
	}
}
