package monitor

import (
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/track"
)

// otherName is the label of what has no counters of its own.
const otherName = "other"

// slot is the counters of one server, or of all that have none of their own.
type slot struct {
	end     track.End // zero: of the others
	isNamed bool      // by Options.Servers
	Counts
	kinds      [maxKinds]KindCounts
	seen       int64 // age of the last packet
	profile    track.Profile
	hasProfile bool
	rates      rates
	row        row
}

// Counts are the counters of a server that are not by kind of message. Bytes are with the
// headers of IP and of UDP.
type Counts struct {
	In, Out Traffic // queries, and what answers them
	// Junk is what begins like a query and is nothing known.
	Junk Traffic
	// Unasked counts replies without a request in the capture, such as the answers to forged
	// requests that arrived by another path.
	Unasked uint64
	// Unproven counts the bytes of answers to requests that brought no token back: an attacker
	// who forges an address can have them sent there.
	Unproven uint64
	// LastSeen and LastAnswer are Unix nanoseconds of the last query to the server and of the last
	// packet of an answer; 0: never.
	LastSeen, LastAnswer int64
	Times                Times // from requests to their answers
}

// Traffic is packets and their bytes.
type Traffic struct{ Packets, Bytes uint64 }

func (t *Traffic) add(s *track.Sighting) {
	t.Packets += uint64(s.Count())
	t.Bytes += uint64(s.Count()) * uint64(s.Wire)
}

// KindCounts are the counters of a kind of message at a server.
type KindCounts struct {
	Messages uint64
	Outcomes [NumOutcomes]uint64 // of requests
	// Proven counts the requests that brought back a token and are decided, Served those of them that got
	// what they asked for.
	Proven, Served uint64
}

// Outcome is what became of a request.
type Outcome uint8

// The outcomes. A request that still waits has none.
const (
	Answered    Outcome = iota
	Challenged          // answered with a token to bring back
	Late                // answered after 3 s, when most clients have given up
	Unanswered          // for 5 s
	Refused             // a login with a wrong password
	Unreachable         // an ICMP error came back
	Undecided           // evicted from a full table before any of this
	NumOutcomes
)

// String returns the outcome's name in output.
func (o Outcome) String() string {
	return [...]string{"answered", "challenged", "late", "unanswered", "refused", "unreachable", "undecided"}[o]
}

// slots are the counters of all servers. The first one is that of the others.
type slots struct {
	list    []*slot
	byEnd   map[track.End]uint16
	most    int // so many at most
	evicted uint64
	// recent are the places of the servers that packets came to or from, by the hash of the
	// server: looking one up in byEnd takes four times as long.
	recent [recentServers]struct {
		hash uint64
		at   uint16
	}
}

// recentServers is how many servers are found without a search. Chosen: those of a large host, and
// 16 KiB.
const recentServers = 1024

func newSlots(named []netip.AddrPort, most int) *slots {
	x := &slots{byEnd: map[track.End]uint16{}, most: 1 + most}
	x.list = append(x.list, &slot{profile: track.NoProfile()})
	x.name(named)
	return x
}

// name gives servers counters of their own, as far as there is room, and takes from others that they
// were named: they are as those that were discovered.
func (x *slots) name(ends []netip.AddrPort) {
	for _, s := range x.list {
		s.isNamed = false
	}
	for _, a := range ends {
		e := track.EndOf(a)
		at := x.byEnd[e]
		if at == 0 && len(x.list) < MostServers {
			x.add(e)
			x.most++
			at = x.byEnd[e]
		}
		x.list[at].isNamed = at != 0
	}
}

// NumServers returns how many servers have counters of their own. It is for the goroutine that
// runs the pipeline.
func (m *Meter) NumServers() int { return len(m.slots.list) - 1 }

// Servers returns them, as NumServers does.
func (m *Meter) Servers() (all []netip.AddrPort) {
	for _, x := range m.slots.list[1:] {
		all = append(all, x.end.AddrPort())
	}
	return all
}

// find returns the counters of a server.
func (x *slots) find(h *track.Host, port uint16, hash uint64) uint16 {
	r := &x.recent[hash%recentServers]
	if r.hash == hash {
		return r.at
	}
	r.hash, r.at = hash, x.byEnd[track.End{Host: *h, Port: port}]
	return r.at
}

// add gives a server counters of its own.
func (x *slots) add(e track.End) *slot {
	s := &slot{end: e, profile: track.NoProfile()}
	x.byEnd[e] = uint16(len(x.list))
	x.list = append(x.list, s)
	clear(x.recent[:])
	return s
}

// discover gives a server that answers counters of its own, if there is room for them, or another
// one is silent for quietServer at age. It returns their place, 0 if there is none.
func (x *slots) discover(e track.End, age int64) uint16 {
	if len(x.list) < x.most {
		x.add(e).seen = age
		return uint16(len(x.list) - 1)
	}
	oldest := uint16(0)
	for i := range x.list[1:] {
		if s := x.list[1+i]; !s.isNamed && age-s.seen > quietServer && (oldest == 0 || s.seen < x.list[oldest].seen) {
			oldest = uint16(1 + i)
		}
	}
	if oldest == 0 {
		return 0
	}
	s := x.list[oldest]
	delete(x.byEnd, s.end)
	*s = slot{end: e, profile: track.NoProfile(), seen: age}
	x.byEnd[e] = oldest
	clear(x.recent[:])
	x.evicted++
	return oldest
}

// Place is the counters of one server, or of all that have none of their own, as they are between two
// packets: a caller that reads many of them often needs no copy of each, as a Snapshot has. It is for the
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
