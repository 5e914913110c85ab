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
	"strconv"
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// Finder compares the answers of servers. Set Raise before the first call. The tables take 1.5 MiB in all. In
// a full one the entry that was not used for longest is evicted; Evicted counts that. It is not safe for
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

// sameKey is what several servers say: an id, or the hash of a list.
type sameKey uint64

// Hash mixes the key.
func (k sameKey) Hash(seed uint64) uint64 { return lru.Mix(seed, uint64(k)) }

// places are the addresses whose servers said the same.
type places struct {
	at         [samePlaces]place // the latest first
	n          uint8
	isReported bool
}

// place is where it was said last.
type place struct {
	end   track.End
	age   int64
	frame uint64
}

// add adds the server of f and reports whether as many addresses as places has room for said the
// same within the time span, which was not reported yet. Several ports of one address count once.
func (p *places) add(f *track.Fact, span int64) bool {
	now := place{track.EndOf(f.Server), f.Age, f.Frame}
	i := 0
	for i < int(p.n) && p.at[i].end.Host != now.end.Host {
		i++
	}
	p.n = max(p.n, uint8(min(i+1, samePlaces)))
	copy(p.at[1:min(i+1, samePlaces)], p.at[:])
	p.at[0] = now
	if p.isReported || p.n < samePlaces || f.Age-p.at[samePlaces-1].age > span {
		return false
	}
	p.isReported = true
	return true
}

// report raises that the servers at p say the same as that of f.
func (x *Finder) report(f *track.Fact, p *places, code *finding.Code, a uint64) {
	x.Report(f, p.at[samePlaces-1].frame, finding.Expert{Code: code, A: a, B: samePlaces, Addr: p.at[1].end.AddrPort()}, false)
}

// checkID raises that servers at several addresses have one id.
func (x *Finder) checkID(f *track.Fact) {
	if f.Said.ID == 0 {
		return
	}
	p, evicted := x.ids.Put(sameKey(f.Said.ID))
	if evicted != nil {
		x.evicted++
	}
	if p.add(f, int64(idFor)) {
		x.report(f, p, &OneID, 0)
	}
}

// checkList raises that servers at several addresses list the same players at the same time, who
// are no bots as far as these say.
func (x *Finder) checkList(f *track.Fact, s *server) {
	l := &f.Said.List
	if humans, ok := s.humans(f.Age); !ok || humans < listedPlayers || l.Named < listedPlayers {
		return
	}
	p, evicted := x.lists.Put(sameKey(l.Names))
	if evicted != nil {
		x.evicted++
	}
	if p.add(f, int64(listFor)) {
		x.report(f, p, &OneList, uint64(l.Named))
	}
}

// inTags in B of Counts: the other count is that of the tags.
const inTags = 1 << 63

// Counts is raised where a server counts A players, and lists B, or has B in its tags.
var Counts = finding.Code{ID: "LIE-03", Severity: finding.Warn, Fault: finding.Server,
	Seen:  "the count of players and the list of players, or the tags, differ by more than 2, three times in a row",
	Means: "one of both is not what is played: players are made up or hidden, by a plugin, a setting or something in between",
	Do:    "do not add such counts up; who runs the server looks which plugin or proxy writes the count",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		if e.B&inTags != 0 {
			return strconv.AppendUint(append(dst, " players by the count, and by the tags "...), e.B&^inTags, 10)
		}
		return strconv.AppendUint(append(dst, " players by the count, and in the list "...), e.B, 10)
	}}

// Unlisted is Counts where the list has one entry or none: A players are counted, B listed.
var Unlisted = finding.Code{ID: "LIE-09", Severity: finding.Note, Fault: finding.Server,
	Seen:  "players are counted, and the list of players is empty or has one entry, three times in a row",
	Means: "the server does not tell who plays, as some games and settings have it, or nobody plays",
	Do:    "do not take the list for complete, nor the count for proven",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		return strconv.AppendUint(append(dst, " players by the count, and in the list "...), e.B, 10)
	}}

// Still is raised where the times of A players have not moved for B nanoseconds.
var Still = finding.Code{ID: "LIE-04", Severity: finding.Note, Fault: finding.Server,
	Seen:  "lists of players with the same times for minutes",
	Means: "the list is not made anew: a cache repeats an old one, or the players in it are not there",
	Do:    "compare with the game's own list of players; look whether something answers in the server's place",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "the times of all "...), e.A, 10)
		return digits.AppendElapsed(append(dst, " players stand still for "...), int64(e.B), " ")
	}}

// Joint is raised where A players have all been there for B nanoseconds.
var Joint = finding.Code{ID: "LIE-05", Severity: finding.Note, Fault: finding.Server,
	Seen:  "a list of 8 players or more who all came within 2 seconds, 10 minutes ago or longer, on a server that counts them as no bots",
	Means: "people do not come like that: they are bots that the server does not count as such, or its times begin with the map or a restart",
	Do:    "compare with another time of day; do not count them as people for certain",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "all "...), e.A, 10)
		return digits.AppendElapsed(append(dst, " players came at the same moment, before "...), int64(e.B), " ")
	}}

// Ghosts is raised where A entries of a list have no name, and all of them B nanoseconds or more.
var Ghosts = finding.Code{ID: "LIE-11", Severity: finding.Note, Fault: finding.Server,
	Seen:  "entries without a name in lists of players, three times in a row, that are older than everybody with a name and never leave",
	Means: "players who are gone, whose entries the server did not remove, as Squad's does after a lost connection: the list, and often the count, are too high until the server restarts",
	Do:    "owner: restart the server while it is empty; client: leave out entries without a name whose time is longer than that of all others, and show the count of the others",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		dst = append(dst, digits.Noun(e.A, " entry has no name, for ", " entries have no name, for ")...)
		return append(digits.AppendElapsed(dst, int64(e.B), " "), " or more, longer than anybody with a name"...)
	}}

// OneID is raised where servers at B addresses have one id; Addr is another one of them.
var OneID = finding.Code{ID: "LIE-06", Severity: finding.Note, Fault: finding.Server,
	Seen:  "servers at several addresses with one SteamID, or another id that each server has for itself",
	Means: "one server is reached at many addresses, as over a provider's network, or a list of servers has it several times",
	Do:    "count them as one server in lists and statistics",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "one id at "...), e.B, 10)
		return e.Addr.AppendTo(append(dst, " addresses or more, also at "...))
	}}

// Same is raised where a server counted A players for B nanoseconds, and never more or fewer.
var Same = finding.Code{ID: "LIE-07", Severity: finding.Note, Fault: finding.Server,
	Seen:  "the same count of 8 players or more for two hours, on a server that is not full",
	Means: "nobody came or left: a cache repeats an old answer, the players are bots that are not counted as such, or made up; rarely they idle",
	Do:    "compare with the list of players and its times",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		return append(append(dst, " players, neither more nor fewer, for "...), digits.Span(time.Duration(e.B))...)
	}}

// OneList is raised where servers at B addresses list the same A players; Addr is another one of them.
var OneList = finding.Code{ID: "LIE-08", Severity: finding.Note, Fault: finding.Server,
	Seen:  "servers at several addresses list the same players within a minute, 4 or more, and count them as no bots",
	Means: "nobody plays at several places: one server is reached at many addresses, or the list is copied",
	Do:    "count them as one server in lists and statistics",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "the same "...), e.A, 10)
		dst = strconv.AppendUint(append(dst, " players at "...), e.B, 10)
		return e.Addr.AppendTo(append(dst, " addresses or more, also at "...))
	}}

// Codes lists the findings of this package.
var Codes = []*finding.Code{&Counts, &Still, &Joint, &OneID, &Same, &OneList, &Unlisted, &Ghosts}

const (
	// limit: maxServers is how many servers are kept with what they said last: hosts have hundreds, and a
	// server browser's capture shows thousands once each.
	maxServers = 2048
	// limit: maxSame is how many ids of servers, and as many lists of players, are kept with the addresses
	// that said them: one of each for a server.
	maxSame = 2048
	// limit: countsTimes lists in a row must differ from the count of players by more than countsSlack,
	// each at most countsWithin from it, and countsSpan or more from first to last: players who join are
	// in one of both only, and more of them when the map changes. Tags are written now and then only: they
	// must differ for tagsSpan. Counts of countLimit and above do not fit one byte.
	countsTimes  = 3
	countsSlack  = 2
	countsWithin = 2 * time.Second
	countsSpan   = 10 * time.Second
	tagsSpan     = time.Minute
	countLimit   = 255
	// limit: infoFor is how old a server's information may be that says which players are bots.
	infoFor = 2 * time.Minute
	// limit: stillLists lists in a row with the same times of stillPlayers or more, in stillFor or more:
	// caches for lists of players keep them for a minute at most. Chosen.
	stillLists   = 3
	stillPlayers = 3
	stillFor     = 2 * time.Minute
	// limit: stillAge is the least of the longest time among them: proxies write one second for all.
	stillAge = time.Minute
	// limit: jointPlayers or more came within jointWithin of each other, jointAge ago or longer, in
	// jointLists lists: after a restart players come within half a minute. Chosen.
	jointPlayers = 8
	jointWithin  = 2 * time.Second
	jointAge     = 10 * time.Minute
	jointLists   = 2
	// limit: ghostLists lists in a row in ghostFor or more with entries without a name that have been
	// there for ghostAge or more: somebody who joins has no name for a minute at most. Chosen.
	ghostLists = 3
	ghostFor   = time.Minute
	ghostAge   = time.Hour
	// limit: sameAnswers answers in sameFor or more with the same count of samePlayers or more: nobody
	// joins or leaves. A server that is full or has bots only, and an empty one, may stay so. Chosen.
	sameAnswers = 100
	samePlayers = 8
	sameFor     = 2 * time.Hour
	// limit: samePlaces addresses have one id within idFor, or list the same listedPlayers or more within
	// listFor: fewer are one server with an address for each network, and its translation. Chosen.
	samePlaces    = 4
	idFor         = 10 * time.Minute
	listedPlayers = 4
	listFor       = time.Minute
)
