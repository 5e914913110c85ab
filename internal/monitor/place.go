package monitor

import (
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/track"
)

// Place is the counters of one server, or of all that have none of their own, as they are between two
// packets: whoever reads many of them often needs no copy of each, as a Snapshot has. It is for the
// goroutine that runs the pipeline, and valid until the next packet.
type Place struct {
	slot  *slot
	kinds *kinds
}

// Place returns the counters at a place: 0 is that of the others, then come NumServers servers. A
// server stays at its place until another one takes over its counters.
func (m *Meter) Place(i int) Place { return Place{m.slots.list[i], &m.kinds} }

// Has reports whether a server has counters of its own. It is for the same goroutine.
func (m *Meter) Has(a netip.AddrPort) bool { return m.slots.byEnd[track.EndOf(a)] != 0 }

// IsOwn reports whether a server has counters of its own, or may get them by Options.MayList. It is for
// the same goroutine.
func (m *Meter) IsOwn(a netip.AddrPort) bool {
	return a.IsValid() && (m.Has(a) || m.opt.MayList != nil && m.opt.MayList(a))
}

// Addr returns the server; it is invalid at place 0.
func (p Place) Addr() netip.AddrPort {
	if p.slot.end == (track.End{}) {
		return netip.AddrPort{}
	}
	return p.slot.end.AddrPort()
}

// Counts returns the counters that are not by kind of message.
func (p Place) Counts() *Counts { return &p.slot.Counts }

// Profile returns what the server reported of itself, nil if it did not.
func (p Place) Profile() *track.Profile {
	if !p.slot.hasProfile {
		return nil
	}
	return &p.slot.profile
}

// NumKinds returns how many kinds of messages there are.
func (p Place) NumKinds() int { return len(p.kinds.list) }

// Kind returns the counters of a kind of message, and its name. Kind 0 is of what no packet shows the
// kind of.
func (p Place) Kind(i int) (protocol, message string, c *KindCounts) {
	k := &p.kinds.list[i]
	return k.protocol, k.message, &p.slot.kinds[i]
}

// NameOf returns the protocol and the name of a type of messages; empty ones if it is nil.
func (m *Meter) NameOf(t *dissect.Type) (protocol, message string) {
	if t == nil {
		return "", ""
	}
	k := &m.kinds.list[m.kinds.byType[t]]
	return k.protocol, k.message
}
