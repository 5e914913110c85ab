package campaign

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"strings"

	"qsniff/internal/fleet"
	"qsniff/internal/flood"
)

// family groups the kinds of incidents that can be of one campaign.
type family uint8

const (
	ofNone family = iota
	ofFloods
	ofReflections
	ofReplies
	ofGuesses
	ofJunk
	ofLogins
	ofScans
	ofOthers
)

// familyOf returns the family of a kind; ofNone: notes are of no campaign, and no tools of one's own.
func familyOf(k flood.Kind) family {
	switch k {
	case flood.FloodFew, flood.FloodDistributed, flood.FloodSpoofed, flood.FloodSuspect, flood.FloodCompleting:
		return ofFloods
	case flood.Reflection:
		return ofReflections
	case flood.ReplyFloodVictim:
		return ofReplies
	case flood.ChallengeBypass:
		return ofGuesses
	case flood.JunkFlood:
		return ofJunk
	case flood.RconBruteforce:
		return ofLogins
	case flood.Scan:
		return ofScans
	case flood.OtherFlood:
		return ofOthers
	}
	return ofNone
}

// incidentKey names an incident.
type incidentKey struct {
	Sensor string `json:"sensor"`
	Run    string `json:"run"`
	ID     uint64 `json:"incident"`
}

func compareIncidents(a, b incidentKey) int {
	return cmp.Or(compareText(a.Sensor, b.Sensor), compareText(a.Run, b.Run), cmp.Compare(a.ID, b.ID))
}

// incident is an incident as its last event reported it, by the clock of the broker.
type incident struct {
	Key      incidentKey     `json:"key"`
	Seq      uint64          `json:"seq"` // of the message
	Due      int64           `json:"due"` // index of the window with which it is looked at
	Category string          `json:"category"`
	Family   family          `json:"family"`
	Protocol string          `json:"protocol"`
	Target   string          `json:"target"`
	Server   netip.AddrPort  `json:"server,omitzero"`
	Servers  int             `json:"servers"`
	Source   fleet.Sealed    `json:"source,omitzero"`
	Start    int64           `json:"start"`
	End      int64           `json:"end"`
	Updated  int64           `json:"updated"`
	Peak     float64         `json:"peak"`
	Baseline float64         `json:"baseline"`
	Requests uint64          `json:"requests"`
	Sure     float64         `json:"confidence"`
	Distinct float64         `json:"distinct"` // by Sources
	Sources  []byte          `json:"sources"`  // packed
	Top      []fleet.Network `json:"top"`
	Networks []fleet.Network `json:"networks"`
	TopOf    uint64          `json:"top_of"`
	Form     form            `json:"form"`
	Course   string          `json:"course"` // ID of its campaign
}

// OpenIncident is an attack or a warning that goes on at one host, whether it is part of a campaign or not.
type OpenIncident struct {
	Sensor, Target string
	Kind           flood.Kind
	Start          int64
	Peak           float64
}

// Incidents returns the attacks and warnings that go on, the worst first: attacks, and of these the fastest; at most
// shownIncidents.
func (e *Engine) Incidents() (all []OpenIncident) {
	for _, x := range e.state.Incidents {
		if k := x.kind(); x.End == 0 && k.Level() >= flood.Warn {
			all = append(all, OpenIncident{x.Key.Sensor, cmp.Or(x.Target, x.Server.String()), k, x.Start, x.Peak})
		}
	}
	slices.SortFunc(all, func(a, b OpenIncident) int {
		return cmp.Or(cmp.Compare(b.Kind.Level(), a.Kind.Level()), cmp.Compare(b.Peak, a.Peak), compareText(a.Sensor, b.Sensor), compareText(a.Target, b.Target))
	})
	return all[:min(len(all), shownIncidents)]
}

// limit: shownIncidents is how many incidents of hosts are shown. Chosen: the first line names the worst, and a table
// of more is read by few.
const shownIncidents = 50

func (x *incident) kind() flood.Kind { return flood.KindNamed(x.Category) }

// place returns a name of the target that no other target has.
func (x *incident) place() string { return placeOf(x.Key.Sensor, x.Server, x.Target) }

func placeOf(sensor string, server netip.AddrPort, target string) string {
	if server.IsValid() {
		return sensor + " " + server.String()
	}
	return sensor + " " + target
}

// maxIncidentText bounds texts of an incident: a network in IPv6 with its port is shorter.
const maxIncidentText = 128

// addIncident takes an event of an incident, which is looked at when the window it is in is closed.
func (e *Engine) addIncident(s *sensorState, m *fleet.Incident, broker int64) {
	st := &e.state
	at, start := moved(m.Time, s.Clock.Offset), moved(m.Start, s.Clock.Offset)
	switch {
	case at > broker+maxEarly || start > at+maxEarly:
		st.Counters.TooEarly++
		return
	case start <= 0 || broker-at > maxLate:
		st.Counters.TooLate++
		return
	case len(st.Pending) >= maxIncidents || s.pending >= sensorIncidents:
		st.Counters.IncidentsRefused++
		return
	}
	x := &incident{Key: incidentKey{s.Name, cleanText(m.Run, fleet.MaxName), m.ID}, Seq: m.Seq,
		Category: cleanText(m.Category, fleet.MaxName), Protocol: cleanText(m.Protocol, fleet.MaxName), Target: cleanText(m.Target, maxIncidentText),
		Source: m.Source, Servers: min(max(m.Servers, 1), fleet.MaxTargets), Start: start, Updated: at, Peak: cleanRate(m.Peak), Baseline: cleanRate(m.Baseline), Requests: min(m.Requests, mostCount),
		Top: cleanNetworks(m.Top), Networks: cleanNetworks(m.Networks), Form: formOf(m.Forms), Distinct: m.Sources.Count()}
	x.Family, x.Sure = familyOf(x.kind()), min(cleanRate(m.Confidence), 1)
	x.Requests = max(x.Requests, min(m.Replies, mostCount)*oneIf(x.Family == ofReplies))
	x.TopOf = x.Requests
	if x.Distinct > 0 {
		x.Sources = m.Sources.AppendPacked(nil)
	}
	if len(m.Targets) == 1 {
		x.Server = cleanServer(m.Targets[0])
	} else if _, text, ok := strings.Cut(x.Target, "/"); ok {
		x.Server, _ = netip.ParseAddrPort(text)
		x.Server = cleanServer(x.Server)
	}
	if end := moved(m.End, s.Clock.Offset); m.End != 0 || m.Event == flood.Ends.String() || x.Family == ofNone {
		x.End = min(max(end, start), at+maxEarly)
		if m.End == 0 {
			x.End = max(at, start)
		}
	}
	if !st.HasBegun {
		st.HasBegun, st.Closed = true, (broker-lateness)/period-1
	}
	x.Due = max((at+period-1)/period, st.Closed+1)
	s.pending++
	st.Pending = append(st.Pending, x)
}

func oneIf(yes bool) uint64 {
	if yes {
		return 1
	}
	return 0
}

// takeIncidents looks at the events of incidents that are due at a time of the broker.
func (e *Engine) takeIncidents(now int64) {
	st := &e.state
	var due []*incident
	st.Pending = slices.DeleteFunc(st.Pending, func(x *incident) bool {
		if x.Due > st.Closed {
			return false
		}
		due = append(due, x)
		return true
	})
	// Window by window, as if they had come in time.
	slices.SortFunc(due, func(a, b *incident) int {
		return cmp.Or(cmp.Compare(a.Updated/period, b.Updated/period), compareIncidents(a.Key, b.Key), cmp.Compare(a.Seq, b.Seq))
	})
	for len(due) > 0 {
		n := slices.IndexFunc(due, func(x *incident) bool { return x.Updated/period != due[0].Updated/period })
		if n < 0 {
			n = len(due)
		}
		e.takeEvents(due[:n])
		due = due[n:]
	}
	if ended := e.endLostIncidents(now); len(ended) > 0 {
		e.linkIncidents(ended)
	}
	for k, x := range st.Incidents {
		if x.Course == "" && x.End != 0 && now-max(x.End, x.Updated) > holdSilent {
			e.dropIncident(k)
		}
	}
}

// takeEvents looks at the events of one window.
func (e *Engine) takeEvents(events []*incident) {
	var changed []*incident
	for _, x := range events {
		if s := e.state.Sensors[x.Key.Sensor]; s != nil {
			s.pending--
		}
		if y := e.keepIncident(x); y != nil && (len(changed) == 0 || changed[len(changed)-1] != y) {
			changed = append(changed, y)
		}
	}
	if len(changed) > 0 {
		e.linkIncidents(changed)
	}
}

func (e *Engine) dropIncident(k incidentKey) {
	delete(e.state.Incidents, k)
	if s := e.state.Sensors[k.Sensor]; s != nil {
		s.incidents--
	}
}

// keepIncident keeps what an event reports, and returns the incident; nil: that is nothing new, or there is
// no room.
func (e *Engine) keepIncident(x *incident) *incident {
	st := &e.state
	y := st.Incidents[x.Key]
	if y != nil {
		if x.Seq <= y.Seq {
			return nil
		}
		x.Course, x.Start, x.Peak, x.Requests = y.Course, min(x.Start, y.Start), max(x.Peak, y.Peak), max(x.Requests, y.Requests)
		if x.Family == ofNone { // it turned out to be a note
			x.Family, x.Category = y.Family, y.Category
		}
		if x.Sources == nil {
			x.Sources, x.Distinct = y.Sources, y.Distinct
		}
		*y = *x
		return y
	}
	s := st.Sensors[x.Key.Sensor]
	switch {
	case x.Family == ofNone:
		return nil
	case s == nil || len(st.Incidents) >= maxIncidents || s.incidents >= sensorIncidents:
		st.Counters.IncidentsRefused++
		return nil
	}
	s.incidents++
	st.Incidents[x.Key] = x
	return x
}

// endLostIncidents ends the incidents that no sensor will end: their sensor started again, or is silent for long.
func (e *Engine) endLostIncidents(now int64) (ended []*incident) {
	for _, x := range e.state.Incidents {
		if x.End != 0 {
			continue
		}
		s := e.state.Sensors[x.Key.Sensor]
		isOtherRun := s != nil && s.Run != "" && s.Run != x.Key.Run && now-x.Updated > linkQuiet
		if s == nil || now-s.Heard > holdSilent || isOtherRun {
			x.End = max(x.Updated, x.Start)
			ended = append(ended, x)
		}
	}
	slices.SortFunc(ended, func(a, b *incident) int { return compareIncidents(a.Key, b.Key) })
	return ended
}

// sortedIncidents returns all incidents by their start.
func (e *Engine) sortedIncidents() []*incident {
	all := make([]*incident, 0, len(e.state.Incidents))
	for _, x := range e.state.Incidents {
		all = append(all, x)
	}
	slices.SortFunc(all, byStart)
	return all
}

func byStart(a, b *incident) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), compareIncidents(a.Key, b.Key))
}

// endOr returns the end of an incident, far in the future if it goes on.
func (x *incident) endOr() int64 {
	if x.End == 0 {
		return math.MaxInt64 / 2
	}
	return x.End
}
