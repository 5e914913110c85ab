// Package contradict finds where the answers of game servers contradict each other, or time: counts
// of players that lists do not bear out, players whose time stands still, one list on several servers.
// It reads no payload and names no protocol: it compares what track.Said has of each answer. It does
// not judge why: a setting, a cache or a joke explains most of it, and its findings are evidence.
//
// An answer comes as a fact, in packet order. It is compared with the last other answers of its
// server, and what it says is looked up among what other servers said. Answers that nobody
// requested are no evidence, as anybody can forge them.
package contradict

import (
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// Finder compares what servers say. Set Raise before the first call. It is not safe for
// concurrent use.
type Finder struct {
	track.Reporter
	servers *lru.Table[track.End, server]
	ids     *lru.Table[sameKey, places]
	lists   *lru.Table[sameKey, places]
	evicted uint64
}

// server is what a server said last.
type server struct {
	info   heard
	list   heard
	counts streak // of lists that differ from the count
	tags   streak // of tags that do
	still  streak // of lists with the same names and times
	joint  streak // of lists whose players all came at once
	same   streak // of equal counts
	ghosts streak // of lists whose players without a name are the oldest, and none of them left
}

// heard is an answer of a server.
type heard struct {
	age        int64
	frame      uint64 // 0: there was none
	isCompared bool   // with an answer of the other kind
	said       track.Said
}

// isFresh reports whether there is an answer, not older than for at age.
func (h *heard) isFresh(age, span int64) bool { return h.frame != 0 && age-h.age <= span }

// streak is answers in a row that have something in common.
type streak struct {
	n          uint32
	since      int64  // age of the first
	first      uint64 // frame of it
	isReported bool
}

// add adds an answer that has it or not, and reports whether there are n in a row now, in a time
// of span or more, which was not reported yet.
func (s *streak) add(f *track.Fact, has bool, n uint32, span int64) bool {
	if !has {
		*s = streak{isReported: s.isReported}
		return false
	}
	if s.n == 0 {
		s.since, s.first = f.Age, f.Frame
	}
	s.n++
	if s.isReported || s.n < n || f.Age-s.since < span {
		return false
	}
	s.isReported = true
	return true
}

// New returns a finder with tables of size times the usual size.
func New(size float64) *Finder {
	n := func(n int) int { return int(float64(n) * size) }
	return &Finder{
		servers: lru.New[track.End, server](n(maxServers)),
		ids:     lru.New[sameKey, places](n(maxSame)),
		lists:   lru.New[sameKey, places](n(maxSame)),
	}
}

// Evicted returns how many servers, ids and lists were evicted.
func (x *Finder) Evicted() uint64 { return x.evicted }

// AddFact adds a message. Only answers that say something of their server count.
func (x *Finder) AddFact(f *track.Fact) {
	if f.Said == nil || f.Step != track.Answer {
		return
	}
	s, evicted := x.servers.Put(track.EndOf(f.Server))
	if evicted != nil {
		x.evicted++
	}
	if f.Said.Players >= 0 {
		x.checkTags(f, s)
		x.checkSame(f, s)
		s.info = heard{age: f.Age, frame: f.Frame, said: *f.Said}
		if s.list.isFresh(f.Age, int64(countsWithin)) && !s.list.isCompared {
			x.compare(f, s)
		}
		x.checkID(f)
	}
	if f.Said.List.Counted >= 0 {
		x.checkStill(f, s)
		x.checkGhosts(f, s)
		s.list = heard{age: f.Age, frame: f.Frame, said: *f.Said}
		if s.info.isFresh(f.Age, int64(countsWithin)) {
			x.compare(f, s)
		}
		x.checkJoint(f, s)
		x.checkList(f, s)
	}
}

// humans returns how many players of the last information are no bots, and whether that is known.
func (s *server) humans(age int64) (n int32, ok bool) {
	i := &s.info
	if !i.isFresh(age, int64(infoFor)) || i.said.Bots < 0 {
		return 0, false
	}
	return i.said.Players - i.said.Bots, true
}

// compare compares the last count of players with the last list, of which one just came.
func (x *Finder) compare(f *track.Fact, s *server) {
	s.list.isCompared = true
	info, list := &s.info.said, &s.list.said.List
	if info.Players >= countLimit { // one byte, which wraps
		return
	}
	code := &Counts
	if list.Listed <= 1 {
		code = &Unlisted
	}
	bots := max(info.Bots, 0) // which some games count and do not list, and others the other way round
	differs := func(n int32) bool {
		return n < info.Players-bots-countsSlack || n > info.Players+bots+countsSlack
	}
	isFirst := s.counts.n == 0
	if s.counts.add(f, differs(list.Listed) && differs(list.Counted), countsTimes, int64(countsSpan)) {
		x.Report(f, s.counts.first, finding.Expert{Code: code, A: uint64(info.Players), B: uint64(list.Listed)}, false)
	}
	if isFirst && s.counts.n > 0 {
		s.counts.first = min(s.info.frame, s.list.frame)
	}
}

// checkTags compares the two counts in one answer.
func (x *Finder) checkTags(f *track.Fact, s *server) {
	said := f.Said
	if said.TagPlayers < 0 || said.TagPlayers >= countLimit || said.Players >= countLimit {
		return
	}
	d := said.TagPlayers - said.Players
	if s.tags.add(f, d > countsSlack || d < -countsSlack, countsTimes, int64(tagsSpan)) {
		x.Report(f, s.tags.first, finding.Expert{Code: &Counts, A: uint64(said.Players), B: inTags | uint64(said.TagPlayers)}, false)
	}
}

// checkSame counts answers with the same number of players, if those are many and no bots, and
// neither the map nor the slots explain it.
func (x *Finder) checkSame(f *track.Fact, s *server) {
	said, was := f.Said, &s.info.said
	humans := said.Players - said.Bots
	isSame := s.info.frame != 0 && said.Players == was.Players && said.Bots == was.Bots
	mayStay := said.Bots < 0 || humans < samePlayers || said.Players >= said.Max-1
	if s.same.add(f, isSame && !mayStay, sameAnswers, int64(sameFor)) {
		x.Report(f, s.same.first, finding.Expert{Code: &Same, A: uint64(said.Players), B: uint64(f.Age - s.same.since)}, false)
	}
}

// checkStill raises that the times of all players in lists stand still.
func (x *Finder) checkStill(f *track.Fact, s *server) {
	l, was := &f.Said.List, &s.list.said.List
	isStill := s.list.frame != 0 && l.Timed >= stillPlayers && l.Longest >= int64(stillAge) && l.Times == was.Times && l.Listed == was.Listed
	if s.still.add(f, isStill, stillLists, int64(stillFor)) {
		x.Report(f, s.still.first, finding.Expert{Code: &Still, A: uint64(l.Timed), B: uint64(f.Age - s.still.since)}, false)
	}
}

// checkGhosts raises that entries of lists without a name stay, and are older than everybody with one.
func (x *Finder) checkGhosts(f *track.Fact, s *server) {
	l, was := &f.Said.List, &s.list.said.List
	isGhostly := l.Nameless > 0 && l.Youngest >= int64(ghostAge) && l.Youngest > l.Oldest
	stays := s.ghosts.n == 0 || l.Nameless >= was.Nameless && l.Youngest >= was.Youngest
	if s.ghosts.add(f, isGhostly && stays, ghostLists, int64(ghostFor)) {
		x.Report(f, s.ghosts.first, finding.Expert{Code: &Ghosts, A: uint64(l.Nameless), B: uint64(l.Youngest)}, false)
	}
}

// checkJoint raises that all players of a list came at the same moment, long ago, and are no bots
// as far as the server says.
func (x *Finder) checkJoint(f *track.Fact, s *server) {
	l := &f.Said.List
	humans, ok := s.humans(f.Age)
	isJoint := ok && l.Timed >= jointPlayers && humans >= jointPlayers && l.Timed == l.Listed &&
		l.Longest-l.Shortest <= int64(jointWithin) && l.Shortest >= int64(jointAge)
	if s.joint.add(f, isJoint, jointLists, 0) {
		x.Report(f, s.joint.first, finding.Expert{Code: &Joint, A: uint64(l.Timed), B: uint64(l.Shortest)}, false)
	}
}
