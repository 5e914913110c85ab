package sensor

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"net/netip"
	"slices"

	"qsniff/dissect/finding"
	"qsniff/internal/fleet"
	"qsniff/internal/flood"
	"qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// events are what happens to incidents. The detector bounds how many are open.
type events struct {
	open    map[uint64]bool            // incidents that began, by ID
	put     int                        // messages of beginnings and ends in the window
	updates map[uint64]*fleet.Incident // by ID: what changed in the window, as it was last
}

// AddIncident makes messages of an incident. It is an observer of the detector.
func (x *Sensor) AddIncident(in *flood.Incident, e flood.Event) {
	v := &x.events
	switch e {
	case flood.Begins:
		v.open[in.ID] = true
		x.putEvent(in, e, in.Detected)
	case flood.Changes:
		if v.updates[in.ID] == nil && len(v.updates) == updatesEach {
			x.unsent++
			return
		}
		v.updates[in.ID] = x.incidentOf(in, e)
	case flood.Ends:
		delete(v.open, in.ID)
		delete(v.updates, in.ID)
		x.putEvent(in, e, max(in.End, in.Detected))
	}
}

// putEvent gives out that an incident begins or ends, if there is room in the window.
func (x *Sensor) putEvent(in *flood.Incident, e flood.Event, nanos int64) {
	if x.events.put == incidentsEach {
		x.unsent++
		return
	}
	x.events.put++
	x.put(x.incidentOf(in, e), fleet.KindIncident, nanos)
}

// putUpdates gives out what changed in the window, and begins another one.
func (x *Sensor) putUpdates() {
	v := &x.events
	for _, id := range slices.Sorted(maps.Keys(v.updates)) {
		x.put(v.updates[id], fleet.KindIncident, x.end)
	}
	clear(v.updates)
	v.put = 0
}

// incidentOf returns a message without its head.
func (x *Sensor) incidentOf(in *flood.Incident, e flood.Event) *fleet.Incident {
	m := &fleet.Incident{ID: in.ID, Event: e.String(), Category: in.Kind.String(), Level: in.Level.String(), Protocol: in.Protocol(),
		Servers: in.Servers, Start: in.Start, Detected: in.Detected, End: in.End,
		Peak: finite(in.Peak), Mean: finite(in.Mean), Baseline: finite(in.Baseline), Requests: in.Requests, Replies: in.Replies,
		BytesIn: in.BytesIn, BytesOut: in.BytesOut, Confidence: finite(in.Confidence()), Distinct: finite(in.Sources)}
	for _, t := range []*int64{&m.Start, &m.Detected, &m.End} {
		if *t > x.ahead {
			*t -= x.ahead
		}
	}
	x.fillTarget(m, in)
	if in.SourceSketch != nil {
		m.Sources.Merge(in.SourceSketch)
	}
	for i := range in.Top[:min(len(in.Top), fleet.MaxTop)] {
		m.Top = append(m.Top, fleet.Network{Prefix: x.opt.Secret.SealHost(in.Top[i].Addr), Queries: narrow(in.Top[i].Low)})
	}
	for i := range in.Prefixes[:min(len(in.Prefixes), fleet.MaxTop)] {
		m.Networks = append(m.Networks, fleet.Network{Prefix: x.opt.Secret.SealNetwork(in.Prefixes[i].Prefix), Queries: narrow(in.Prefixes[i].Low)})
	}
	for i := range in.Shape[:min(len(in.Shape), fleet.MaxForms)] {
		m.Forms = append(m.Forms, x.formOf(&in.Shape[i]))
	}
	if x.opt.Line != nil {
		if line := x.opt.Line(in, e); len(line) <= maxLine {
			m.Line = json.RawMessage(line)
		} else {
			x.unsent++
		}
	}
	return m
}

// fillTarget fills in what the incident is about. The address of what is not at this host's side is
// sealed: it is a client, as the source of a scan, or may be one.
func (x *Sensor) fillTarget(m *fleet.Incident, in *flood.Incident) {
	for _, a := range in.Targets {
		if len(m.Targets) < fleet.MaxTargets && x.opt.Meter.IsOwn(a) {
			m.Targets = append(m.Targets, a)
		}
	}
	t := &in.Target
	switch {
	case in.Kind != flood.Scan && in.Kind != flood.Survey && x.isOwnTarget(t) || len(m.Targets) > 0 && t.IsNetwork():
		m.Target = t.String()
	case t.Prefix.IsValid():
		m.Source = x.opt.Secret.SealNetwork(measure.Network(track.HostOf(netip.AddrPortFrom(t.Prefix.Addr(), 0))))
	default:
		m.Source = x.opt.Secret.SealHost(t.End.Addr())
	}
}

// isOwnTarget reports whether a target is a server of this host, its address, or a network with
// servers of this host.
func (x *Sensor) isOwnTarget(t *flood.Target) bool {
	if !t.Prefix.IsValid() && x.opt.Meter.IsOwn(t.End) {
		return true
	}
	m := x.opt.Meter
	for i := 1; i <= m.NumServers(); i++ {
		if a := m.Place(i).Addr().Addr(); a == t.End.Addr() || t.IsNetwork() && t.Prefix.Contains(a) {
			return true
		}
	}
	return false
}

// finite returns a figure as JSON can have it.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return -1
	}
	return v
}

func narrow(n uint64) uint32 { return uint32(min(n, math.MaxUint32)) }

// findingKey is what findings that are counted together have in common.
type findingKey struct {
	code     string
	severity finding.Severity
	server   netip.AddrPort // invalid: none of this host
}

// Listen returns a listener that passes all on to another one, and counts findings for the sensor as well.
func (x *Sensor) Listen(next track.Listener) track.Listener { return listener{next, x} }

// listener is what Listen returns.
type listener struct {
	track.Listener
	sensor *Sensor
}

// AddFact implements track.Listener.
func (l listener) AddFact(f *track.Fact, found []track.Found, info *track.ServerInfo) {
	l.Listener.AddFact(f, found, info)
	for i := range found {
		l.sensor.AddFinding(f.Server, found[i])
	}
}

// AddFinding implements track.Listener.
func (l listener) AddFinding(frame uint64, nanos int64, server, client netip.AddrPort, found track.Found) {
	l.Listener.AddFinding(frame, nanos, server, client, found)
	l.sensor.AddFinding(server, found)
}

// AddFinding counts a finding at a server.
func (x *Sensor) AddFinding(server netip.AddrPort, found track.Found) {
	k := findingKey{found.Code.ID, found.Severity, server}
	if !x.opt.Meter.IsOwn(server) {
		k.server = netip.AddrPort{}
	}
	if x.findings[k] == 0 && len(x.findings) == findingsEach {
		x.unsent++
		return
	}
	x.findings[k]++
}

// putFindings gives out the findings of the window.
func (x *Sensor) putFindings() {
	keys := slices.SortedFunc(maps.Keys(x.findings), func(a, b findingKey) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.severity, b.severity), a.server.Compare(b.server))
	})
	for _, k := range keys {
		x.put(&fleet.Finding{Code: k.code, Severity: k.severity.String(), Addr: k.server, Count: x.findings[k]}, fleet.KindFinding, x.end)
	}
	clear(x.findings)
}

const (
	// limit: incidentsEach is how many Incidents that begin or end there are in a window, and updatesEach
	// how many that change: an incident changes once in each, and is sent as it is at the end.
	// What is beyond is dropped, and counted as unsent. Chosen: what one attack makes is one
	// incident or one for each kind, and the detector opens at most 50 of a kind in a minute.
	incidentsEach = 48
	updatesEach   = 16

	// limit: findingsEach is how many kinds of findings, each at one server, are counted in a window.
	findingsEach = fleet.MaxFindings

	// limit: maxLine is the longest Incident.Line. A longer one is dropped, and counted as unsent.
	maxLine = 16 << 10
)
