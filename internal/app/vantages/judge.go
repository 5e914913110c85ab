package vantages

import (
	"cmp"
	"slices"
	"time"

	"qsniff/dissect"
)

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
