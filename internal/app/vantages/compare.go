package vantages

import (
	"net/netip"
	"slices"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/hostset"
	"qsniff/internal/track"
)

// Server is a server that at least two captures asked.
type Server struct {
	Addr   netip.AddrPort
	Points []Point // one for each of these captures
	Judgement
}

// Point is what one capture shows of a server.
type Point struct {
	Capture         int // its index
	Asked, Answered uint64
	Answers         []Series // by kind
	Path            *Series  // that the judgement rests on; nil if it rests on none, or this capture has none
}

// Finding returns what is to be reported of the server; ok is false if that is nothing.
func (s *Server) Finding() (e finding.Expert, ok bool) {
	if s.Verdict != Flat {
		return finding.Expert{}, false
	}
	e = finding.Expert{Code: &FlatTimes, Severity: FlatTimes.Severity, Field: -1, A: uint64(s.AnswersDiffer), B: uint64(s.PathsDiffer)}
	if s.IsSooner {
		e.B |= isSooner
	}
	return e, true
}

// Compare judges the servers that at least two captures asked, of those in ours; nil: of all. The ones with
// a finding come first, then they are ordered by address.
func Compare(captures []*Capture, ours *hostset.Set) []Server {
	points := map[track.End][]Point{}
	for i, c := range captures {
		for end, n := range c.loads {
			if a := end.AddrPort(); ours.Has(a) {
				points[end] = append(points[end], Point{Capture: i, Asked: n.asked, Answered: n.answered, Answers: c.answersOf(a)})
			}
		}
	}
	hosts := map[track.Host][]Server{}
	for end, at := range points {
		if len(at) > 1 {
			hosts[end.Host] = append(hosts[end.Host], Server{end.AddrPort(), at, Judgement{}})
		}
	}
	var all []Server
	for host, servers := range hosts {
		judgeHost(captures, host, servers)
		all = append(all, servers...)
	}
	slices.SortFunc(all, func(a, b Server) int {
		if isFlat := a.Verdict == Flat; isFlat != (b.Verdict == Flat) {
			if isFlat {
				return -1
			}
			return 1
		}
		return a.Addr.Compare(b.Addr)
	})
	return all
}

// answersOf returns the series of answers of the server at a.
func (c *Capture) answersOf(a netip.AddrPort) (all []Series) {
	for _, s := range c.byHost[track.HostOf(a)] {
		if s.Origin == Answers && !s.IsTCP && s.End == a {
			all = append(all, s)
		}
	}
	return all
}

// judgeHost judges the servers of a host, by each two captures.
func judgeHost(captures []*Capture, host track.Host, servers []Server) {
	for j, d := range captures {
		for i, c := range captures[:j] {
			paths := sharedPaths(c.byHost[host], d.byHost[host])
			for k := range servers {
				servers[k].judge(i, j, paths)
			}
		}
	}
	for k := range servers {
		if s := &servers[k]; s.Verdict > NoPath {
			for i := range s.Points {
				s.Points[i].Path = find(captures[s.Points[i].Capture].byHost[host], &s.Path[0])
			}
		}
	}
}

// judge judges the server by its answers of each kind in captures i and j.
func (s *Server) judge(i, j int, paths []path) {
	p, q := s.pointOf(i), s.pointOf(j)
	if p == nil || q == nil {
		return
	}
	for k := range p.Answers {
		a := &p.Answers[k]
		b := find(q.Answers, a)
		if b == nil || !a.Type.Asks.Has(dissect.Public) {
			continue
		}
		if x := judgeAnswers(p, q, [2]*Series{a, b}, paths); x.compare(&s.Judgement) > 0 {
			s.Judgement = x
		}
	}
}

// pointOf returns what capture i shows of the server; nil if that is nothing.
func (s *Server) pointOf(i int) *Point {
	at := slices.IndexFunc(s.Points, func(p Point) bool { return p.Capture == i })
	if at < 0 {
		return nil
	}
	return &s.Points[at]
}

// judgeAnswers compares the answers of a server at p and q by the most trusted path: one to its host, or its own
// messages. Where several are trusted alike, the one that shows most counts.
func judgeAnswers(p, q *Point, answer [2]*Series, paths []path) (best Judgement) {
	best = Judgement{Verdict: TooFew, Near: p.Capture, Far: q.Capture, Answer: [2]Series{*answer[0], *answer[1]}}
	if !answer[0].isEnough() || !answer[1].isEnough() {
		return best
	}
	best.Verdict = NoPath
	try := func(at [2]*Series, t trust) {
		if t < best.trust {
			return
		}
		if x := judge(p.Capture, q.Capture, answer, at, t); t > best.trust || x.compare(&best) > 0 {
			best = x
		}
	}
	for i := range paths {
		if x := &paths[i]; x.trust != otherPort || x.at[0].End != answer[0].End {
			try(x.at, x.trust)
		}
	}
	for i := range p.Answers {
		s := &p.Answers[i]
		if r := find(q.Answers, s); isOwnWork(s.Type) && !isOwnWork(answer[0].Type) && s.isEnough() && r != nil && r.isEnough() {
			try([2]*Series{s, r}, ofServer)
		}
	}
	return best
}

// find returns the series of the same kind and end as s; nil if there is none. Captures are decoded by one
// registry, so that types are the same.
func find(all []Series, s *Series) *Series {
	i, ok := slices.BinarySearchFunc(all, *s, compareSeries)
	if !ok {
		return nil
	}
	return &all[i]
}
