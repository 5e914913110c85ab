package track

import (
	"time"

	"qsniff/dissect/finding"
)

// Still is raised where the times of A players have not moved for B nanoseconds.
var Still = finding.Code{ID: "LIE-04", Severity: finding.Note, Fault: finding.Server,
	Seen:   "lists of players with the same times for minutes",
	Means:  "the list is not made anew: a cache repeats an old one, or the players in it are not there",
	Owner:  "compare with the game's own list of players; look whether something answers in the server's place",
	Client: "mark the list as old while its times stand still",
	Format: "the times of all {a} players stand still for {b.elapsed}"}

// Ghosts is raised where A entries of a list have no name, and all of them B nanoseconds or more.
var Ghosts = finding.Code{ID: "LIE-11", Severity: finding.Note, Fault: finding.Server,
	Seen:   "entries without a name in lists of players, three times in a row, that are older than everybody with a name and never leave",
	Means:  "players who are gone, whose entries the server did not remove, as Squad's does after a lost connection: the list, and often the count, are too high until the server restarts",
	Owner:  "restart the server while it is empty",
	Client: "leave out entries without a name whose time is longer than that of all others, and show the count of the others",
	Format: "{a} {a:entry has no name|entries have no name}, for {b.elapsed} or more, longer than anybody with a name"}

// stale finds servers whose lists of players stand still, or have entries that never leave.
type stale struct {
	*Hosts
	servers *states[listingServer]
}

func newStale(h *Hosts) check {
	c := &stale{Hosts: h, servers: newServerStates[listingServer](h)}
	return check{finds: []*finding.Code{&Still, &Ghosts}, wants: []want{{answer, c.addAnswer}}}
}

// listingServer is a server that lists its players.
type listingServer struct {
	isKnown bool       // it sent a list before
	list    PlayerList // the last one
	still   streak     // of lists with the same names and times
	ghosts  streak     // of lists whose players without a name are the oldest, and none of them left
}

// streak is answers in a row that have something in common.
type streak struct {
	n          uint32
	since      int64  // age of the first
	first      uint64 // frame of it
	isReported bool
}

// add adds an answer that has it or not, and reports whether there are n in a row now, in a time
// of span or more, which was not reported yet.
func (s *streak) add(f *Fact, has bool, n uint32, span int64) bool {
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

// addAnswer adds an answer with a list.
func (c *stale) addAnswer(f *view) {
	said := f.contents()
	if said == nil || said.List.Counted < 0 {
		return
	}
	s := c.servers.at(f.server.slot)
	c.checkStill(f, s)
	c.checkGhosts(f, s)
	s.isKnown, s.list = true, said.List
}

// checkStill raises that the times of all players in lists stand still.
func (c *stale) checkStill(f *view, s *listingServer) {
	l, was := &f.Said.List, &s.list
	isStill := s.isKnown && l.Timed >= stillPlayers && l.Longest >= int64(stillAge) && l.Times == was.Times && l.Listed == was.Listed
	if s.still.add(f.Fact, isStill, stillLists, int64(stillFor)) {
		c.Report(f.Fact, s.still.first, finding.Expert{Code: &Still, A: uint64(l.Timed), B: uint64(f.Age - s.still.since)}, false)
	}
}

// checkGhosts raises that entries of lists without a name stay, and are older than everybody with one.
func (c *stale) checkGhosts(f *view, s *listingServer) {
	l, was := &f.Said.List, &s.list
	isGhostly := l.Nameless > 0 && l.Youngest >= int64(ghostAge) && l.Youngest > l.Oldest
	stays := s.ghosts.n == 0 || l.Nameless >= was.Nameless && l.Youngest >= was.Youngest
	if s.ghosts.add(f.Fact, isGhostly && stays, ghostLists, int64(ghostFor)) {
		c.Report(f.Fact, s.ghosts.first, finding.Expert{Code: &Ghosts, A: uint64(l.Nameless), B: uint64(l.Youngest)}, false)
	}
}

const (
	// limit: stillLists lists in a row with the same times of stillPlayers or more, in stillFor or more:
	// caches for lists of players keep them for a minute at most. Chosen.
	stillLists   = 3
	stillPlayers = 3
	stillFor     = 2 * time.Minute
	// limit: stillAge is the least of the longest time among them: proxies write one second for all.
	stillAge = time.Minute
	// limit: ghostLists lists in a row in ghostFor or more with entries without a name that have been
	// there for ghostAge or more: somebody who joins has no name for a minute at most. Chosen.
	ghostLists = 3
	ghostFor   = time.Minute
	ghostAge   = time.Hour
)
