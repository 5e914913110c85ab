package contradict

import (
	"qsniff/dissect/finding"
	"qsniff/internal/track"
)

// checkStill raises that the times of all players in lists stand still.
func (x *Finder) checkStill(f *track.Fact, s *server) {
	l, was := &f.Said.List, &s.list.said.List
	isStill := s.list.frame != 0 && l.Timed >= stillPlayers && l.Longest >= int64(stillAge) && l.Times == was.Times && l.Listed == was.Listed
	if s.still.add(f, isStill, stillLists, int64(stillFor)) {
		x.Report(f, s.still.first, finding.Expert{Code: &Still, A: uint64(l.Timed), B: uint64(f.Age - s.still.since)}, false)
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
