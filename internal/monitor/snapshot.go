package monitor

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"qsniff/internal/flood"
	"qsniff/internal/render/counters"
	"qsniff/internal/track"
)

// Snapshot is what a Meter has counted until a moment. It does not change, so that any number of
// goroutines may read it.
type Snapshot struct {
	Nanos      int64    // Unix time of the last packet, or of the last moment that passed without one; 0: there was none
	LastPacket int64    // Unix time of the last packet; 0: there was none
	Servers    []Server // those with counters of their own
	Other      Server   // all others together
	// Point is how long the points of Lately.Points are, and Points how many there are.
	Point  time.Duration
	Points int
	// LatelySpan is the length of Server.Lately.
	LatelySpan time.Duration
	Incidents  Incidents
	// Counters are those of all stages of the run; what a stage does not take part in is zero.
	Counters counters.Result
	Tables   []Table
	// ServersEvicted counts servers that had to give their counters to others.
	ServersEvicted uint64

	made int64 // by Options.Clock
}

// Server is what was counted of one server, or of all that have no counters of their own.
type Server struct {
	Addr    netip.AddrPort // invalid: of the others
	IsNamed bool           // by Options.Servers
	Counts
	Rates
	Lately   Lately
	Messages []Message // of the kinds that there were
	// Profile is what the server reported of itself, from the network; HasProfile reports whether
	// it did.
	Profile    track.Profile
	HasProfile bool
}

// Label returns the server as metrics name it.
func (s *Server) Label() string {
	if !s.Addr.IsValid() {
		return otherName
	}
	return s.Addr.String()
}

// Message is what was counted of a kind of message at a server.
type Message struct {
	Protocol, Name string
	IsReply        bool
	Proven, Served uint64 // of requests: see KindCounts
	HasOutcomes    bool   // it asks for something
	Count          uint64
	Outcomes       [NumOutcomes]uint64
}

// Table is how full a table is.
type Table struct {
	Name      string
	Used, Cap int
}

// making is a snapshot of which servers are still to be copied.
type making struct {
	*Snapshot
	next  int   // the first of them, in slots.list
	begun int64 // by Options.Clock
	moves int   // of the window
}

// Publish goes on with a snapshot if somebody waits for one. It is called after each batch, empty
// ones included, by the goroutine that runs the pipeline; fill fills in what other stages counted.
// Packets wait meanwhile, so it copies snapshotStep servers each time: of more servers, a snapshot
// has the first ones as they were at an earlier batch than the last ones.
func (m *Meter) Publish(fill func(*counters.Result)) {
	if m.making == nil {
		if !m.isAsked.Load() {
			return
		}
		m.beginSnapshot()
	}
	if !m.copyServers() {
		return
	}
	all := new(counters.Result)
	fill(all)
	s := m.finishSnapshot(all)
	m.isAsked.Store(false) // those who asked meanwhile get this one
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = s
	close(m.made)
	m.made = make(chan struct{})
}

// Snapshot returns what was counted until now. If the pipeline stands still it returns, after
// Patience or when ctx ends, what was counted when it was last asked for; isNew reports
// whether it does not stand still.
func (m *Meter) Snapshot(ctx context.Context) (s *Snapshot, isNew bool) {
	m.mu.Lock()
	s, made := m.last, m.made
	m.mu.Unlock()
	if s.made > 0 && m.opt.Clock()-s.made < int64(snapshotEvery) {
		return s, true
	}
	m.isAsked.Store(true)
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	select {
	case <-made:
		isNew = true
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last, isNew
}

// take makes a snapshot at once.
func (m *Meter) take(all *counters.Result) *Snapshot {
	m.beginSnapshot()
	for !m.copyServers() {
	}
	return m.finishSnapshot(all)
}

// beginSnapshot begins a snapshot.
func (m *Meter) beginSnapshot() {
	m.making = &making{Snapshot: &Snapshot{Servers: make([]Server, 0, len(m.slots.list)-1)}, next: 1, begun: m.opt.Clock(), moves: m.window.moves}
}

// copyServers copies the next servers, and reports whether these were the last. It begins anew if
// the points of time have moved: they are the same for all servers of a snapshot.
func (m *Meter) copyServers() (isDone bool) {
	x := m.making
	if x.moves != m.window.moves {
		x.Servers, x.next, x.moves = x.Servers[:0], 1, m.window.moves
	}
	end := min(x.next+snapshotStep, len(m.slots.list))
	if m.opt.Clock()-x.begun > int64(snapshotWait) {
		end = len(m.slots.list)
	}
	for ; x.next < end; x.next++ {
		x.Servers = append(x.Servers, m.takeServer(m.slots.list[x.next]))
	}
	return end == len(m.slots.list)
}

// finishSnapshot adds what is not of single servers.
func (m *Meter) finishSnapshot(all *counters.Result) *Snapshot {
	s := m.making.Snapshot
	m.making = nil
	s.Nanos, s.LastPacket, s.Incidents, s.Counters = m.clock.nanos, m.lastPacket, m.incidents.Incidents, *all
	s.ServersEvicted, s.made = m.slots.evicted, m.opt.Clock()
	s.Counters.Seen.Gaps = m.lost
	s.Point, s.Points, s.LatelySpan = pointLengths[m.window.step], m.window.at+1, m.window.latelySpan()
	s.Other = m.takeServer(m.slots.list[0])
	s.Tables = []Table{
		{"servers", len(m.slots.list) - 1, m.slots.most - 1},
		{"requests", m.pairs.used, len(m.pairs.rows) * pairWays},
		{"incidents", len(m.incidents.open), openIncidents},
	}
	return s
}

// takeServer copies what was counted of one server.
func (m *Meter) takeServer(x *slot) Server {
	s := Server{IsNamed: x.isNamed, Counts: x.Counts, Rates: x.rates.since(m.clock.seconds), Lately: m.window.follow(&x.row).lately(m.window.latelyFrom()), Profile: x.profile, HasProfile: x.hasProfile}
	if x.end != (track.End{}) {
		s.Addr = x.end.AddrPort()
	}
	for i := range m.kinds.list {
		if k, n := &m.kinds.list[i], &x.kinds[i]; n.Messages > 0 {
			s.Messages = append(s.Messages, Message{Protocol: k.protocol, Name: k.message, IsReply: k.reply,
				HasOutcomes: !k.reply && k.asks != 0, Count: n.Messages, Outcomes: n.Outcomes, Proven: n.Proven, Served: n.Served})
		}
	}
	return s
}

// Incidents counts incidents by kind and level: those that are open, and those that ended.
type Incidents [flood.NumKinds][flood.Alert + 1]struct{ Open, Ended uint64 }

// incidentBook counts incidents as they go on. One that changes its kind is counted as what it
// is at last.
type incidentBook struct {
	Incidents
	open []openIncident
}

type openIncident struct {
	id    uint64
	kind  flood.Kind
	level flood.Level
}

// AddIncident notes an event of an incident. It is an observer of a flood.Detector.
func (m *Meter) AddIncident(in *flood.Incident, e flood.Event) {
	b := &m.incidents
	i := slices.IndexFunc(b.open, func(x openIncident) bool { return x.id == in.ID })
	if i >= 0 {
		b.Incidents[b.open[i].kind][b.open[i].level].Open--
		b.open = slices.Delete(b.open, i, i+1)
	}
	x := &b.Incidents[in.Kind][in.Level]
	switch {
	case e == flood.Ends:
		x.Ended++
	case len(b.open) < openIncidents:
		x.Open++
		b.open = append(b.open, openIncident{in.ID, in.Kind, in.Level})
	}
}
