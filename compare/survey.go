package compare

import (
	"context"
	"math"

	"qsniff/dissect"
	"qsniff/internal/hostset"
	"qsniff/internal/lru"
)

// survey is what the first reading of a capture finds.
type survey struct {
	counts  Capture
	samples map[uint64]sample
	bound   uint64 // contents whose hash is above it are not sampled
	early   []sample
	reg     *dissect.Registry
	servers *lru.Table[end, uint64] // how often an address served; ports are 0
	evicted uint64                  // of servers
}

// sample is a content that the survey keeps.
type sample struct {
	hash     uint64
	nanos    int64
	src, dst end
	ttl      uint8
	isCommon bool // it was there more than once
}

// takeSurvey reads a capture to its end.
func takeSurvey(ctx context.Context, r *reader, report func()) *survey {
	s := &survey{samples: map[uint64]sample{}, bound: math.MaxUint64, reg: r.id.reg, servers: lru.New[end, uint64](maxServers)}
	r.counts.cutTo = math.MaxInt
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
		x := sample{d.hash, d.nanos, d.src, d.dst, d.ttl, false}
		if len(s.early) < maxEarly {
			s.early = append(s.early, x)
		}
		if d.hash > s.bound {
			return
		}
		if _, ok := s.samples[d.hash]; ok {
			x.isCommon = true
		}
		s.samples[d.hash] = x
		if len(s.samples) > maxSamples {
			s.bound /= 2
			for hash := range s.samples {
				if hash > s.bound {
					delete(s.samples, hash)
				}
			}
		}
	}
}

func (s *survey) countServer(e end) {
	e.port = 0
	v, evicted := s.servers.Put(e)
	*v++
	if evicted != nil {
		s.evicted++
	}
}

// served returns how often the address of an end served.
func (s *survey) served(e end) uint64 {
	e.port = 0
	if v := s.servers.Peek(e); v != nil {
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
	if a == 0 && b == 0 { // perhaps the captures have headers only: ports are a hint
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

// pairs returns the contents that both surveys have once.
func pairSamples(edge, host *survey, ours *hostset.Set) []sighting {
	var all []sighting
	for hash, e := range edge.samples {
		if h, ok := host.samples[hash]; ok && !e.isCommon && !h.isCommon {
			all = append(all, sighting{e, h, edge.wayOf(e.src, e.dst, ours), float64(h.nanos - e.nanos)})
		}
	}
	return all
}

// pairEarly returns pairs of the first datagrams of both captures with equal contents, of which at
// most one in a few is right: where no content is there only once, as in requests without a
// challenge, only the pattern of their times shows the difference of the clocks. If any have the same
// ends, only these are returned.
func pairEarly(edge, host *survey, ours *hostset.Set) []sighting {
	byHash := map[uint64][]int{}
	for j := range host.early {
		byHash[host.early[j].hash] = append(byHash[host.early[j].hash], j)
	}
	for _, sameEnds := range [...]bool{true, false} {
		var all []sighting
		used := map[uint64]int{}
		for _, e := range edge.early {
			k := runKey(e.hash, &e.src, &e.dst)
			if used[k]++; used[k] > maxEqual {
				continue
			}
			for _, j := range byHash[e.hash][:min(len(byHash[e.hash]), maxEqual)] {
				h := host.early[j]
				if (h.src == e.src && h.dst == e.dst) == sameEnds && len(all) < maxVotes {
					all = append(all, sighting{e, h, edge.wayOf(e.src, e.dst, ours), float64(h.nanos - e.nanos)})
				}
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	return nil
}
