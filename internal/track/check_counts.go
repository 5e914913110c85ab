package track

import (
	"strconv"
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
)

// inTags in B of Counts: the other count is that of the tags.
const inTags = 1 << 63

// Counts is raised where a server counts A players, and lists B, or has B in its tags.
var Counts = finding.Code{ID: "LIE-03", Severity: finding.Warn, Fault: finding.Server,
	Seen:   "the count of players and the list of players, or the tags, differ by more than 2, three times in a row",
	Means:  "one of both is not what is played: players are made up or hidden, by a plugin, a setting or something in between",
	Owner:  "look which plugin or proxy writes the count",
	Client: "do not add such counts up, and show the length of the list beside the count",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		if e.B&inTags != 0 {
			return strconv.AppendUint(append(dst, " players by the count, and by the tags "...), e.B&^inTags, 10)
		}
		return strconv.AppendUint(append(dst, " players by the count, and in the list "...), e.B, 10)
	}}

// Unlisted is Counts where the list has one entry or none: A players are counted, B listed.
var Unlisted = finding.Code{ID: "LIE-09", Severity: finding.Note, Fault: finding.Server,
	Seen:   "players are counted, and the list of players is empty or has one entry, three times in a row",
	Means:  "the server does not tell who plays, as some games and settings have it, or nobody plays",
	Owner:  "nothing where the game or a setting hides players; otherwise look what writes the count",
	Client: "take neither the list for complete nor the count for proven",
	Format: "{a} players by the count, and in the list {b}"}

// Same is raised where a server counted A players for B nanoseconds, and never more or fewer.
var Same = finding.Code{ID: "LIE-07", Severity: finding.Note, Fault: finding.Server,
	Seen:   "the same count of 8 players or more for two hours, on a server that is not full",
	Means:  "nobody came or left: a cache repeats an old answer, the players are bots that are not counted as such, or made up; rarely they idle",
	Owner:  "look for a cache that repeats an old answer, and for bots that are not counted as such",
	Client: "compare with the list of players and its times before showing the count as people",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		return append(append(dst, " players, neither more nor fewer, for "...), digits.Span(time.Duration(e.B))...)
	}}

// counts finds servers whose counts of players their lists do not bear out, or that count the same for hours.
type counts struct {
	*Hosts
	servers *states[countingServer]
}

func newCounts(h *Hosts) check {
	c := &counts{Hosts: h, servers: newServerStates[countingServer](h)}
	return check{finds: []*finding.Code{&Counts, &Unlisted, &Same}, wants: []want{{answer, c.addAnswer}}}
}

// countingServer is what a server said of its players last.
type countingServer struct {
	info   playerCount
	list   playerList
	counts streak // of lists that differ from the count
	tags   streak // of tags that do
	same   streak // of equal counts
}

// playerCount is an answer that counts players.
type playerCount struct {
	age           int64
	frame         uint64 // 0: there was none
	players, bots int32
}

// playerList is an answer that lists them.
type playerList struct {
	age             int64
	frame           uint64 // 0: there was none
	listed, counted int32
	isCompared      bool // with a count
}

// addAnswer adds an answer that says something of its server.
func (c *counts) addAnswer(f *view) {
	said := f.contents()
	if said == nil {
		return
	}
	s := c.servers.at(f.server.slot)
	if said.Players >= 0 {
		c.checkTags(f, s)
		c.checkSame(f, s)
		s.info = playerCount{age: f.Age, frame: f.Frame, players: said.Players, bots: said.Bots}
		if s.list.frame != 0 && f.Age-s.list.age <= int64(countsWithin) && !s.list.isCompared {
			c.compare(f, s)
		}
	}
	if said.List.Counted >= 0 {
		s.list = playerList{age: f.Age, frame: f.Frame, listed: said.List.Listed, counted: said.List.Counted}
		if s.info.frame != 0 && f.Age-s.info.age <= int64(countsWithin) {
			c.compare(f, s)
		}
	}
}

// compare compares the last count of players with the last list, of which one just came.
func (c *counts) compare(f *view, s *countingServer) {
	s.list.isCompared = true
	info, list := &s.info, &s.list
	if info.players >= countLimit { // one byte, which wraps
		return
	}
	code := &Counts
	if list.listed <= 1 {
		code = &Unlisted
	}
	bots := max(info.bots, 0) // which some games count and do not list, and others the other way round
	differs := func(n int32) bool {
		return n < info.players-bots-countsSlack || n > info.players+bots+countsSlack
	}
	isFirst := s.counts.n == 0
	if s.counts.add(f.Fact, differs(list.listed) && differs(list.counted), countsTimes, int64(countsSpan)) {
		c.Report(f.Fact, s.counts.first, finding.Expert{Code: code, A: uint64(info.players), B: uint64(list.listed)}, false)
	}
	if isFirst && s.counts.n > 0 {
		s.counts.first = min(s.info.frame, s.list.frame)
	}
}

// checkTags compares the two counts in one answer.
func (c *counts) checkTags(f *view, s *countingServer) {
	said := f.Said
	if said.TagPlayers < 0 || said.TagPlayers >= countLimit || said.Players >= countLimit {
		return
	}
	d := said.TagPlayers - said.Players
	if s.tags.add(f.Fact, d > countsSlack || d < -countsSlack, countsTimes, int64(tagsSpan)) {
		c.Report(f.Fact, s.tags.first, finding.Expert{Code: &Counts, A: uint64(said.Players), B: inTags | uint64(said.TagPlayers)}, false)
	}
}

// checkSame counts answers with the same number of players, if those are many and no bots, and
// neither the map nor the slots explain it.
func (c *counts) checkSame(f *view, s *countingServer) {
	said, was := f.Said, &s.info
	humans := said.Players - said.Bots
	isSame := s.info.frame != 0 && said.Players == was.players && said.Bots == was.bots
	mayStay := said.Bots < 0 || humans < samePlayers || said.Players >= said.Max-1
	if s.same.add(f.Fact, isSame && !mayStay, sameAnswers, int64(sameFor)) {
		c.Report(f.Fact, s.same.first, finding.Expert{Code: &Same, A: uint64(said.Players), B: uint64(f.Age - s.same.since)}, false)
	}
}

const (
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
	// limit: sameAnswers answers in sameFor or more with the same count of samePlayers or more: nobody
	// joins or leaves. A server that is full or has bots only, and an empty one, may stay so. Chosen.
	sameAnswers = 100
	samePlayers = 8
	sameFor     = 2 * time.Hour
)
