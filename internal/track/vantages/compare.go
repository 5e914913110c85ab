package vantages

import (
	"cmp"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
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

// ownWork are the questions that only the server itself answers, as far as is known: caches answer what
// browsers ask of every server, and lists of players and rules are rarely among that; a challenge to join,
// and the console, are never.
const ownWork = dissect.AskPlayers | dissect.AskRules | dissect.AskStatus | dissect.AskConnect | dissect.AskRconChallenge | dissect.Remote

// isOwnWork reports whether messages of the type are the server's own.
func isOwnWork(t *dissect.Type) bool { return !t.Asks.Has(dissect.AskChallenge) && t.Asks.Has(ownWork) }

// Verdict is what comparing the captures of a server comes to.
type Verdict uint8

// The verdicts, from the one that needs the least to be known: a server has the last that fits any two captures.
const (
	Unanswered Verdict = iota // fewer than two captures have answers
	TooFew                    // fewer answers than leastAnswers
	NoPath                    // too little shows how long the paths are
	Close                     // the paths are about as long
	Unclear                   // times vary by as much as paths differ, or lie between equal and following
	Follows                   // answers take longer where the path is longer
	Flat                      // answers take the same time, and the paths differ
	NumVerdicts
)

var verdictNames = [NumVerdicts]string{"unanswered", "too_few", "no_path", "close", "unclear", "follows", "flat"}

// String is the name in output.
func (v Verdict) String() string { return verdictNames[v] }

// Judgement is how two captures of a server compare. Near is the one with the shorter path.
type Judgement struct {
	Verdict   Verdict
	Near, Far int // captures; of NoPath and above
	// Answer are the times that were judged, at Near and at Far, and Path those of the path.
	Answer, Path [2]Series
	// AnswersDiffer is the larger difference of the least and the median times, PathsDiffer that of the least
	// times of paths, and Needed what the latter must be at least.
	AnswersDiffer, PathsDiffer, Needed time.Duration
	IsSooner                           bool // answers at Far come sooner than the path allows

	trust trust
}

// trust is how sure a series shows how long the path is.
type trust uint8

const (
	noTrust   trust = iota
	otherPort       // answers of another server on the host, which may be as busy and as cached
	ofServer        // messages that the server makes itself, once a frame
	ofHost          // echoes, which some networks answer or delay
	ofSystem        // handshakes, by the system that the server runs on
)

// trustIn returns how sure a series shows the path to other servers of its host.
func trustIn(s *Series) trust {
	switch {
	case s.Origin == Handshakes:
		return ofSystem
	case s.Origin == Echoes:
		return ofHost
	case s.IsTCP:
		return ofServer
	}
	return otherPort
}

// path is what shows the path to a host in two captures.
type path struct {
	at    [2]*Series
	trust trust
}

// apart returns what the least times differ by.
func (p *path) apart() time.Duration { return (p.at[0].Least - p.at[1].Least).Abs() }

// sharedPaths returns what shows the path to a host in two captures, of which a and b are the series: of each
// trust what differs most, and of other ports those of two servers, one of which is not the one at hand.
func sharedPaths(a, b []Series) []path {
	var most [ofSystem + 1]path
	var second path // of otherPort, at another end
	for i := range a {
		s := &a[i]
		r := find(b, s)
		if r == nil || !s.isEnough() || !r.isEnough() {
			continue
		}
		x := path{[2]*Series{s, r}, trustIn(s)}
		m := &most[x.trust]
		isLonger := m.at[0] == nil || x.apart() > m.apart()
		switch {
		case isLonger && x.trust == otherPort && m.at[0] != nil && m.at[0].End != s.End:
			second, *m = *m, x
		case isLonger:
			*m = x
		case x.trust == otherPort && m.at[0].End != s.End && (second.at[0] == nil || x.apart() > second.apart()):
			second = x
		}
	}
	return slices.DeleteFunc(append(most[:], second), func(x path) bool { return x.at[0] == nil })
}

// pair is what is compared at two captures.
type pair struct {
	near, far                  int
	answer, path               [2]*Series
	apart, differ, noise, need time.Duration
}

// judge compares answers by the path at captures i and j.
func judge(i, j int, answer, path [2]*Series, t trust) Judgement {
	if cmp.Or(cmp.Compare(path[1].Least, path[0].Least), cmp.Compare(answer[1].Least, answer[0].Least), cmp.Compare(answer[1].Median, answer[0].Median)) < 0 {
		i, j, answer, path = j, i, [2]*Series{answer[1], answer[0]}, [2]*Series{path[1], path[0]}
	}
	p := pair{near: i, far: j, answer: answer, path: path, apart: path[1].Least - path[0].Least}
	near, far := p.answer[0], p.answer[1]
	p.differ = max((far.Least - near.Least).Abs(), (far.Median - near.Median).Abs())
	p.noise = max(near.spread(), far.spread(), p.path[0].spread(), p.path[1].spread())
	// Waiting for a frame makes no answer faster. Where the path rests on messages, it may be these that waited.
	sooner := t >= ofHost && far.Median < p.path[1].Least-p.apart/2
	p.need = leastApart + p.noise
	if !sooner {
		p.need += longestFrame
	}
	v := p.verdict()
	return Judgement{Verdict: v, Near: p.near, Far: p.far, Answer: [2]Series{*near, *far}, Path: [2]Series{*p.path[0], *p.path[1]},
		AnswersDiffer: p.differ, PathsDiffer: p.apart, Needed: p.need, IsSooner: sooner, trust: t}
}

func (p *pair) verdict() Verdict {
	switch longer := p.answer[1].Least - p.answer[0].Least; {
	case p.apart < leastApart:
		return Close
	case p.noise < p.apart && longer >= p.apart/2:
		return Follows
	case p.apart < p.need || p.differ > min(p.apart/sameShare, mostDiffer):
		return Unclear
	}
	return Flat
}

// compare orders judgements: the one that shows most is the greatest.
func (x *Judgement) compare(y *Judgement) int {
	return cmp.Or(cmp.Compare(x.Verdict, y.Verdict), cmp.Compare(x.trust, y.trust), cmp.Compare(x.PathsDiffer, y.PathsDiffer),
		cmp.Compare(y.AnswersDiffer, x.AnswersDiffer), cmp.Compare(y.Needed, x.Needed), cmp.Compare(bit(x.IsSooner), bit(y.IsSooner)), compareSeries(y.Answer[1], x.Answer[1]), compareSeries(y.Path[1], x.Path[1]))
}

// isSooner in B of FlatTimes: answers come sooner than the path allows.
const isSooner = 1 << 63

// FlatTimes is raised where answers at two clients differ by A nanoseconds, and the paths to the server by B.
var FlatTimes = finding.Code{ID: "LIE-02", Severity: finding.Note, Fault: finding.Middlebox,
	Seen: "answers that take the same time in captures of several clients (least and median, within 25 ms and a quarter of what the paths differ by), " +
		"while handshakes, echoes or other messages show paths to the server that differ: by 10 ms if answers come sooner than the path allows, else by 76 ms, and in both cases by more than the times vary",
	Means: "what answers is as near to one client as to the other, and the server is not: a cache at the edge of an anycast network, or a proxy that holds answers back to an equal time. " +
		"A list that is sorted by the time of answers is not sorted by the path to the game then, and the answers may be old",
	Owner:  "ask the provider what answers in the server's place, and for how long it keeps answers; capture once more, with the clients asking at irregular times, if the paths rest on few handshakes",
	Client: "take the time of the path for the ping, as qsniff vantages lists it, not that of the answer",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = digits.AppendElapsed(append(dst, "answers at two clients differ by "...), int64(e.A), " ")
		dst = digits.AppendElapsed(append(dst, ", and the paths to the server by "...), int64(e.B&^isSooner), " ")
		if e.B&isSooner != 0 {
			dst = append(dst, "; at the far one answers come sooner than the path allows"...)
		}
		return dst
	}}

// Codes lists the findings of this package.
var Codes = []*finding.Code{&FlatTimes}

const (
	// limit: leastApart is what paths must differ by. Chosen: what queues of home routers add when they are busy
	// at one client all the time.
	leastApart = 10 * time.Millisecond

	// limit: longestFrame is what paths must differ by on top, where the time until the server's next frame could
	// make up for it: an engine reads requests once a frame, 15 ms at 66 frames a second, and 66 ms at 15,
	// which servers go down to. Clients that ask at fixed times always hit the same part of a frame.
	longestFrame = 66 * time.Millisecond

	// limit: sameShare and mostDiffer bound what equal times differ by: one in sameShare of what the paths differ
	// by, and mostDiffer at most. Chosen: the edges of an anycast network are not equally near to all, and
	// two clients on one continent are further apart.
	sameShare  = 4
	mostDiffer = 25 * time.Millisecond
)

// ShortNames returns captures by their names without folders, if these differ.
func ShortNames(paths []string) []string {
	var names []string
	for _, path := range paths {
		name := filepath.Base(path)
		if slices.Contains(names, name) {
			return paths
		}
		names = append(names, name)
	}
	return names
}
