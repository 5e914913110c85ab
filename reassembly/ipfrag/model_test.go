package ipfrag

import (
	"cmp"
	"net/netip"
	"slices"

	"qsniff/netlayer"
	"qsniff/reassembly"
)

// model applies the rules in the plainest way: no limits on memory, every
// check against every fragment, lists sorted when needed.
type model struct {
	sets []*modelSet // by age
	n    Counters
	out  []*Datagram
}

type modelSet struct {
	key   key
	first int64
	last  int64
	parts []modelPart
	dead  bool
}

type modelPart struct {
	off, end   int
	more       bool
	data       []byte
	frame      uint64
	proto, ttl uint8
}

func (m *model) add(p *netlayer.Packet, frame uint64, nanos int64) {
	m.expire(nanos)
	m.n.Fragments++
	part := modelPart{
		off: int(p.Frag.Off), end: int(p.Frag.Off) + p.Wire, more: p.Frag.More,
		data: slices.Clone(p.Payload), frame: frame, proto: p.Proto, ttl: p.TTL,
	}
	k := key{src: p.Src.Addr().As16(), dst: p.Dst.Addr().As16(), id: p.Frag.ID, version: 6}
	if p.Src.Addr().Is4() {
		k.version, k.proto = 4, p.Proto
	}
	switch {
	case p.Wire == 0, part.more && p.Wire%8 != 0:
		m.n.Bad++
		return
	case part.end > 65535:
		m.n.TooLong++
		return
	case part.off == 0 && !part.more:
		m.n.Joined++
		m.emit(&modelSet{key: k, first: nanos, last: nanos, parts: []modelPart{part}}, Joined)
		return
	}
	i := slices.IndexFunc(m.sets, func(s *modelSet) bool { return s.key == k })
	if i < 0 {
		i = len(m.sets)
		m.sets = append(m.sets, &modelSet{key: k, first: nanos, last: nanos})
	}
	s := m.sets[i]
	m.place(s, part, nanos)
	if !s.dead && s.complete() {
		m.n.Joined++
		m.emit(s, Joined)
		m.sets = slices.Delete(m.sets, i, i+1)
	}
}

func (m *model) place(s *modelSet, part modelPart, nanos int64) {
	if s.dead || slices.ContainsFunc(s.parts, part.contradicts) {
		m.n.Bad++
		return
	}
	for _, other := range s.parts {
		if other.off >= part.end || part.off >= other.end {
			continue
		}
		n := min(len(other.data), len(part.data))
		if other.off == part.off && other.end == part.end && string(other.data[:n]) == string(part.data[:n]) {
			m.n.Duplicates++
		} else {
			m.kill(s, Overlap, &m.n.Overlaps)
		}
		return
	}
	if len(s.parts) == 128 {
		m.kill(s, TooMany, &m.n.TooMany)
		return
	}
	s.parts = append(s.parts, part)
	s.last = max(s.last, nanos)
}

// contradicts reports whether the two disagree about where the datagram ends.
func (p modelPart) contradicts(o modelPart) bool {
	switch {
	case p.more && o.more:
		return false
	case !p.more && !o.more:
		return p.end != o.end
	case p.more:
		return p.end >= o.end
	}
	return o.end >= p.end
}

func (m *model) kill(s *modelSet, outcome Outcome, n *uint64) {
	*n++
	m.abandon(s, outcome)
	s.dead, s.parts = true, nil
}

func (m *model) abandon(s *modelSet, outcome Outcome) {
	if slices.ContainsFunc(s.parts, func(p modelPart) bool { return p.off == 0 && len(p.data) > 0 }) {
		m.emit(s, outcome)
	}
}

func (s *modelSet) complete() bool {
	sum, end := 0, -1
	for _, p := range s.parts {
		sum += p.end - p.off
		if !p.more {
			end = p.end
		}
	}
	return sum == end
}

func (m *model) emit(s *modelSet, outcome Outcome) {
	src, dst := netip.AddrFrom16(s.key.src), netip.AddrFrom16(s.key.dst)
	if s.key.version == 4 {
		src, dst = src.Unmap(), dst.Unmap()
	}
	d := &Datagram{
		Src: netip.AddrPortFrom(src, 0), Dst: netip.AddrPortFrom(dst, 0), ID: s.key.id,
		Proto: s.parts[0].proto, TTL: s.parts[0].ttl, Outcome: outcome, Complete: outcome == Joined,
		Wire: 65535, First: s.first, Last: s.last,
	}
	parts := slices.SortedFunc(slices.Values(s.parts), func(a, b modelPart) int { return cmp.Compare(a.off, b.off) })
	gap := false
	for _, p := range parts {
		d.Pieces = append(d.Pieces, reassembly.Piece{Frame: p.frame, Off: uint32(p.off), Len: uint32(p.end - p.off)})
		if p.off == 0 {
			d.Proto, d.TTL = p.proto, p.ttl
		}
		if !p.more {
			d.Wire = p.end
		}
		if gap = gap || p.off != len(d.Data); !gap {
			d.Data = append(d.Data, p.data...)
		}
	}
	m.out = append(m.out, d)
}

func (m *model) expire(nanos int64) {
	for len(m.sets) > 0 && nanos-m.sets[0].first >= 30*second {
		m.end(Expired, &m.n.Expired)
	}
}

func (m *model) flush() {
	for len(m.sets) > 0 {
		m.end(Ended, &m.n.Ended)
	}
}

// end removes the oldest set.
func (m *model) end(outcome Outcome, n *uint64) {
	if s := m.sets[0]; !s.dead {
		*n++
		m.abandon(s, outcome)
	}
	m.sets = m.sets[1:]
}
