package diff

import (
	"cmp"
	"net/netip"
	"slices"
)

// endMap is how ends at EDGE are called at HOST: address translation between the two. An end becomes what
// it was seen to become, else what its address became where that keeps its ports, else it stays as it is.
type endMap struct {
	ends  map[end]*mapping
	hosts map[end]*mapping // ports are 0
	back  map[end]end      // of ends that were translated, and of addresses, with port 0
	// mapsUnseen is set where ends of clients are translated: then one that was not seen in both
	// captures may have any name.
	mapsUnseen bool
	full       uint64 // ends for which there was no room
}

// mapping is what an end became, and how many more datagrams agree than disagree.
type mapping struct {
	to    end
	votes int
}

func newEndMap() *endMap {
	return &endMap{ends: map[end]*mapping{}, hosts: map[end]*mapping{}, back: map[end]end{}}
}

// learn adds what the two ends of a datagram were at both points.
func (m *endMap) learn(at, to end) {
	if m.vote(m.ends, at, to) && at != to {
		m.back[to] = at
	}
	if at.port == to.port {
		at, to = at.host(), to.host()
		if m.vote(m.hosts, at, to) && at != to {
			m.back[to] = at
		}
	}
}

// vote reports whether at becomes to by the majority so far.
func (m *endMap) vote(all map[end]*mapping, at, to end) bool {
	x := all[at]
	switch {
	case x == nil && len(all) >= maxEnds:
		m.full++
		return false
	case x == nil:
		all[at] = &mapping{to, 1}
	case x.to == to:
		x.votes++
	case x.votes > 1:
		x.votes--
		return false
	default:
		*x = mapping{to, 1}
	}
	return true
}

// settle decides, after the survey, whether ends that it did not see may be translated.
func (m *endMap) settle(isServer func(end) bool) {
	same, others := 0, 0
	for at, x := range m.ends {
		switch {
		case isServer(at):
		case x.to == at:
			same++
		default:
			others++
		}
	}
	m.mapsUnseen = others > 0 && others*20 >= same // chosen: of 20 ends one could be mistaken
}

// lookup returns what an end of EDGE is called at HOST, and whether that is known.
func (m *endMap) lookup(at end) (to end, isKnown bool) {
	if x := m.ends[at]; x != nil {
		return x.to, true
	}
	if x := m.hosts[at.host()]; x != nil && (x.to.addr != at.addr || !m.mapsUnseen) {
		return end{x.to.addr, at.port, at.isTCP}, true
	}
	return at, false
}

// nameAt returns what an end of HOST is called at a side.
func (m *endMap) nameAt(s Side, e end) end {
	if s == Host {
		return e
	}
	if at, ok := m.back[e]; ok {
		return at
	}
	if at, ok := m.back[e.host()]; ok && m.hosts[e.host()] == nil {
		return end{at.addr, e.port, e.isTCP}
	}
	return e
}

// Translation is an end that has another name at HOST than at EDGE.
type Translation struct {
	Edge, Host netip.AddrPort
	Datagrams  int // that show it
	IsServer   bool
	IsTCP      bool
}

// list returns the translations, those of servers first.
func (m *endMap) list(isServer func(end) bool) []Translation {
	var all []Translation
	for at, x := range m.ends {
		if x.to != at {
			all = append(all, Translation{at.addrPort(), x.to.addrPort(), x.votes, isServer(at), at.isTCP})
		}
	}
	slices.SortFunc(all, func(a, b Translation) int {
		if a.IsServer != b.IsServer {
			if a.IsServer {
				return -1
			}
			return 1
		}
		return cmp.Or(a.Edge.Compare(b.Edge), a.Host.Compare(b.Host), cmp.Compare(bit(a.IsTCP), bit(b.IsTCP)))
	})
	return all
}
