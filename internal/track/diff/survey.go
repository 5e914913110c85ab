package diff

import (
	"cmp"
	"context"
	"math"
	"net/netip"
	"slices"

	"qsniff/dissect"
	"qsniff/internal/base/hostset"
	"qsniff/internal/base/lru"
)

// survey is what the first reading of a capture finds.
type survey struct {
	counts  Capture
	samples map[uint64]sample
	bound   uint64 // contents whose hash is above it are not sampled
	early   []sample
	reg     *dissect.Registry
	servers *lru.Table[end, uint64] // how often an address served; ports are 0
	// streams is how often an end, with its port, served over TCP.
	streams *lru.Table[end, uint64]
	evicted uint64 // of servers and streams
}

// sample is a content that the survey keeps.
type sample struct {
	hash     uint64
	nanos    int64
	src, dst end
	ttl      uint8
	isCommon bool // it was there more than once
	hasPlace bool // with the sequence number of its segment, or its IP ID, which makes it one of a kind
}

// takeSurvey reads a capture to its end.
func takeSurvey(ctx context.Context, r *reader, report func()) *survey {
	s := &survey{samples: map[uint64]sample{}, bound: math.MaxUint64, reg: r.id.reg, servers: lru.New[end, uint64](maxServers), streams: lru.New[end, uint64](maxServers)}
	r.streams = s
	r.counts.cutTo = uncut
	for r.read(ctx, s.add(r.id)) {
		report()
	}
	r.frags.Flush()
	n := r.frags.Counters()
	r.counts.Incomplete, r.counts.Dropped = n.Abandoned(), r.src.Stats().Dropped
	s.counts = r.counts
	return s
}

// add returns a function that adds a datagram.
func (s *survey) add(id *identifier) func(*datagram, []byte) {
	return func(d *datagram, _ []byte) {
		switch id.role(d.kind) {
		case 1:
			s.countServer(d.dst)
		case -1:
			s.countServer(d.src)
		}
		x := sample{hash: d.hash, nanos: d.nanos, src: d.src, dst: d.dst, ttl: d.ttl}
		switch {
		case d.src.isTCP:
			x.hash, x.hasPlace = lru.Mix(d.hash, uint64(d.seq)), true
			s.keep(x)
			x.hash, x.hasPlace = lru.Mix(d.hash, 1<<32), false // of a polynomial, now spread over all values
		case d.ipid != 0: // routers keep it
			x.hash, x.hasPlace = lru.Mix(d.hash, 1<<33|uint64(d.ipid)), true
			s.keep(x)
			x.hash, x.hasPlace = d.hash, false
		}
		if d.src.isTCP && !d.isData() {
			return // the flags of many connections are equal
		}
		if len(s.early) < maxEarly {
			s.early = append(s.early, x)
		}
		s.keep(x)
	}
}

// keep adds a sample, if its hash is among those that are sampled.
func (s *survey) keep(x sample) {
	if x.hash > s.bound {
		return
	}
	if _, ok := s.samples[x.hash]; ok {
		x.isCommon = true
	}
	s.samples[x.hash] = x
	if len(s.samples) > maxSamples {
		s.bound /= 2
		for hash := range s.samples {
			if hash > s.bound {
				delete(s.samples, hash)
			}
		}
	}
}

func (s *survey) countServer(e end) {
	table := s.streams
	if !e.isTCP {
		e, table = e.host(), s.servers
	}
	v, evicted := table.Put(e)
	*v++
	if evicted != nil {
		s.evicted++
	}
}

// served returns how often the address of an end served, or over TCP that end.
func (s *survey) served(e end) uint64 {
	table := s.streams
	if !e.isTCP {
		e, table = e.host(), s.servers
	}
	if v := table.Peek(e); v != nil {
		return *v
	}
	return 0
}

// hasServer reports whether the server of a message of type t is known to serve.
func (s *survey) hasServer(t *dissect.Type, d *datagram) bool {
	server := d.dst
	if t.FromServer() {
		server = d.src
	}
	return s != nil && !t.OnlyAsked && s.served(server) > 0
}

// wayOf returns where a datagram of this capture goes: to whom the caller calls a server, or else
// to whom served more.
func (s *survey) wayOf(src, dst end, ours *hostset.Set) Way {
	if ours != nil {
		switch a, b := ours.Has(src.addrPort()), ours.Has(dst.addrPort()); {
		case b && !a:
			return ToServer
		case a && !b:
			return ToClient
		}
	}
	a, b := s.served(src), s.served(dst)
	switch {
	case a == 0 && b == 0 && src.isTCP:
		a, b = bit(s.reg.OnStreamPort(src.port)), bit(s.reg.OnStreamPort(dst.port))
	case a == 0 && b == 0: // perhaps the captures have headers only: ports are a hint
		a, b = bit(s.reg.ToServer(dst.port, src.port)), bit(s.reg.ToServer(src.port, dst.port))
	}
	switch {
	case b > a:
		return ToServer
	case a > b:
		return ToClient
	}
	return UnknownWay
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// sighting is a content that both captures show once.
type sighting struct {
	edge, host sample
	way        Way
	ahead      float64 // nanoseconds by which the clock of HOST showed more
}

// pairSamples returns the contents that both surveys have once. Of segments it returns those with equal sequence
// numbers or, where something on the way changes all of these, contents alone.
func pairSamples(edge, host *survey, ours *hostset.Set) []sighting {
	var all []sighting
	hasPlaces := false
	for hash, e := range edge.samples {
		if h, ok := host.samples[hash]; ok && !e.isCommon && !h.isCommon {
			all = append(all, sighting{e, h, edge.wayOf(e.src, e.dst, ours), float64(h.nanos - e.nanos)})
			hasPlaces = hasPlaces || e.hasPlace && e.src.isTCP
		}
	}
	return slices.DeleteFunc(all, func(x sighting) bool { return hasPlaces && x.edge.src.isTCP && !x.edge.hasPlace })
}

// pairEarly returns pairs of the first datagrams of both captures with equal contents, of which most
// are wrong: where no content is there only once, as in requests without a challenge, only the pattern
// of their times shows the difference of the clocks. If any have the same ends, only these are
// returned, else those with the same client, else those with the same server: translation changes one of them.
func pairEarly(edge, host *survey, ours *hostset.Set) []sighting {
	for _, keeps := range [...][2]bool{{true, true}, {true, false}, {false, true}, {}} { // client, server
		run := func(x *sample) uint64 {
			client, server, hash := x.src, x.dst, x.hash
			if edge.wayOf(x.src, x.dst, ours) == ToClient || host.wayOf(x.src, x.dst, ours) == ToClient {
				client, server, hash = server, client, ^hash // a server may send what a client does
			}
			if !keeps[0] {
				client = end{}
			}
			if !keeps[1] {
				server = end{}
			}
			return runKey(hash, &client, &server)
		}
		byRun := map[uint64][]int{}
		for j := range host.early {
			k := run(&host.early[j])
			byRun[k] = append(byRun[k], j)
		}
		var all []sighting
		used := map[uint64]int{}
		for i := range edge.early {
			e := &edge.early[i]
			k := runKey(e.hash, &e.src, &e.dst)
			if used[k]++; used[k] > maxEqual {
				continue
			}
			others := byRun[run(e)]
			for _, j := range others[:min(len(others), maxEqual)] {
				if h := host.early[j]; len(all) < maxVotes {
					all = append(all, sighting{*e, h, edge.wayOf(e.src, e.dst, ours), float64(h.nanos - e.nanos)})
				}
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	return nil
}

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

const (
	// limit: maxSamples is how many contents of a capture the survey keeps. Chosen: the error of
	// the drift falls with the root of it, and is far below 1 ppm for an hour.
	maxSamples = 1 << 15

	// limit: maxEarly is how many of its first datagrams it keeps of each capture, for captures without
	// contents that are there once. Chosen: who has none has few datagrams.
	maxEarly = 1 << 11

	// limit: maxVotes bounds the pairs of equal contents among these that are compared. Chosen: 4 MiB.
	maxVotes = 1 << 15

	// limit: maxEqual is how many of these with one content, and the same ends at EDGE, are compared. Chosen: the
	// pattern of as many times is not there by chance.
	maxEqual = 96

	// limit: maxServers is how many ends that serve are remembered for each capture; the one that served
	// longest ago is evicted. Chosen: more than a provider's network has inside of one edge.
	maxServers = 1 << 12

	// limit: maxEnds is how many translated ends are remembered; further ones are not. Chosen: a
	// server full of clients, a hundred times.
	maxEnds = 1 << 15
)
