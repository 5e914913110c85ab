package ipfrag

import (
	"cmp"
	"net/netip"
	"slices"

	"qsniff/capture/packet"
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
	parts []modelPart // in the order in which they came
	runs  []modelRun
	reach int // the furthest end of any fragment
	total int // 0 unless the last fragment came
}

// modelRun is a stretch of bytes whose fragments came in order.
type modelRun struct{ off, end int }

type modelPart struct {
	off, end   int
	more       bool
	data       []byte
	frame      uint64
	proto, ttl uint8
}

func (m *model) add(p *packet.Packet, frame uint64, nanos int64) {
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
	if part.more && p.Src.Addr().Is4() {
		part.end -= p.Wire % 8
		part.data = part.data[:min(len(part.data), part.end-part.off)]
	}
	switch {
	case part.more && (part.end-part.off)%8 != 0, part.end == 0 && !part.more:
		m.n.Bad++
		return
	case int(p.Frag.Off)+p.Wire > 65535:
		m.n.TooLong++
		return
	case part.off == 0 && !part.more:
		m.n.Joined++
		m.emit(&modelSet{key: k, first: nanos, last: nanos, parts: []modelPart{part}, total: part.end}, Joined)
		return
	}
	i := slices.IndexFunc(m.sets, func(s *modelSet) bool { return s.key == k })
	if i < 0 {
		i = len(m.sets)
		m.sets = append(m.sets, &modelSet{key: k, first: nanos, last: nanos})
	}
	s := m.sets[i]
	count := len(s.parts)
	switch isGone := m.place(s, part, nanos); {
	case isGone:
		m.sets = slices.Delete(m.sets, i, i+1)
	case len(s.parts) > count && s.complete():
		m.n.Joined++
		m.emit(s, Joined)
		m.sets = slices.Delete(m.sets, i, i+1)
	}
}

// place adds part to s, and reports whether that ends s.
func (m *model) place(s *modelSet, part modelPart, nanos int64) (isGone bool) {
	contradicts := part.end == part.off ||
		part.more && s.total != 0 && part.end > s.total ||
		!part.more && (part.end < s.reach || s.total != 0 && part.end != s.total)
	if contradicts {
		m.n.Bad++
		m.abandon(s, Overlap, &m.n.Overlaps)
		return true
	}
	if s.reach = max(s.reach, part.end); !part.more {
		s.total = part.end
	}
	highest := 0
	for _, r := range s.runs {
		highest = max(highest, r.end)
		if r.off < part.end && part.off < r.end {
			if r.off <= part.off && part.end <= r.end {
				m.n.Duplicates++
				return false
			}
			m.abandon(s, Overlap, &m.n.Overlaps)
			return true
		}
	}
	if len(s.parts) == 128 {
		m.abandon(s, TooMany, &m.n.TooMany)
		return true
	}
	last := slices.IndexFunc(s.runs, func(r modelRun) bool { return r.end == highest })
	if last >= 0 && part.off == highest {
		s.runs[last].end = part.end
	} else {
		s.runs = append(s.runs, modelRun{part.off, part.end})
	}
	s.parts = append(s.parts, part)
	s.last = max(s.last, nanos)
	return false
}

func (m *model) abandon(s *modelSet, outcome Outcome, n *uint64) {
	if len(s.parts) > 0 {
		*n++
	}
	if slices.ContainsFunc(s.parts, func(p modelPart) bool { return p.off == 0 && len(p.data) > 0 }) {
		m.emit(s, outcome)
	}
}

func (s *modelSet) complete() bool {
	sum := 0
	for _, p := range s.parts {
		sum += p.end - p.off
	}
	return sum == s.total
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
	if s.total != 0 {
		d.Wire = s.total
	}
	parts := slices.SortedFunc(slices.Values(s.parts), func(a, b modelPart) int { return cmp.Compare(a.off, b.off) })
	gap := false
	for _, p := range parts {
		d.Pieces = append(d.Pieces, reassembly.Piece{Frame: p.frame, Off: uint32(p.off), Len: uint32(p.end - p.off)})
		if p.off == 0 {
			d.Proto, d.TTL = p.proto, p.ttl
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
	m.abandon(m.sets[0], outcome, n)
	m.sets = m.sets[1:]
}
