package contradict

import (
	"qsniff/dissect/finding"
	"qsniff/internal/track"
)

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
