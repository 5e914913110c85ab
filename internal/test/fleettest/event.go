package fleettest

import (
	"time"

	"qsniff/internal/flood"
)

// Event is something that happens to a fleet.
type Event struct {
	Name   string
	Length time.Duration
	// Kinds are the kinds of campaign that it may be told as; none: it is no attack.
	Kinds []flood.Kind
	// IsSilent: each host alone must stay below its thresholds. Else each host tells of it.
	IsSilent bool
	// Play has it happen between two times, and returns which hosts are concerned.
	Play func(w *World, from, to time.Duration) []*Host
}

// Label is an event that was played.
type Label struct {
	*Event
	From, To time.Duration
	Hosts    []*Host
}

// Labelled plays an event from a time on.
func (w *World) Labelled(e *Event, from time.Duration) *Label {
	l := &Label{Event: e, From: from, To: from + e.Length}
	l.Hosts = e.Play(w, l.From, l.To)
	return l
}

// IsAttack reports whether it is one.
func (e *Event) IsAttack() bool { return len(e.Kinds) > 0 }

// chooseHosts returns n of the hosts, each of them different.
func (w *World) chooseHosts(n int) []*Host {
	var all []*Host
	for _, i := range Sample(w.Rand, min(n, len(w.Hosts)), len(w.Hosts)) {
		all = append(all, w.Hosts[i])
	}
	return all
}

func serversOf(hosts []*Host) (all []*Server) {
	for _, h := range hosts {
		all = append(all, h.Servers...)
	}
	return all
}

// inTurn asks servers in turn, each of them rate times a second.
func (w *World) inTurn(all []*Server, rate float64, from, to time.Duration, ask func(s *Server)) {
	order := w.Rand.Perm(len(all))
	w.Every(rate*float64(len(all)), from, to, func(i int) { ask(all[order[i%len(order)]]) })
}
