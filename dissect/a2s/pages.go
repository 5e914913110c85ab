package a2s

import (
	"bytes"

	"qsniff/dissect"
)

// Applications whose rules hold binary pages.
const (
	appArma3 = 107410
	appDayZ  = 221100
)

// The versions of what the pages hold.
const (
	versionDayZ  = 2
	versionArma3 = 3
)

// escape keeps 00, which ends a rule's value, and FF out of the pages.
var escape = dissect.Escape{Lead: 0x01, Pairs: []dissect.Pair{
	{After: 0x01, Means: 0x01}, {After: 0x02, Means: 0x00}, {After: 0x03, Means: 0xff}}}

// pages are the rules whose names are a page and the count of pages.
type pages struct {
	at         [maxPages]dissect.Extent // values, by page minus 1; Off is 0 for a missing one
	total      uint8                    // pages that the names count
	hasOther   bool                     // a name of two bytes is none of these
	contradict bool                     // a page is there twice, or the counts differ
	cut        uint8                    // the page whose value has no end
}

// add takes note of a rule with its value at at, if it is a page, and reports
// whether it is: also where the page contradicts others. whole reports whether the
// value ends with a NUL.
//
// A page and its count may look like two letters: only where others count as many
// pages are they believed.
func (s *pages) add(name []byte, at dissect.Extent, whole bool) bool {
	if len(name) != 2 {
		return false
	}
	page, total := name[0], name[1]
	text := page >= ' '
	switch {
	case page > total, text && s.total != total:
		s.hasOther = true
		return false
	case s.total == 0:
		s.total = total
	case s.total != total:
		s.contradict = true
		return true
	}
	if s.at[page-1].Off != 0 {
		s.contradict = true
		return true
	}
	s.at[page-1] = at
	if !whole {
		s.cut = page
	}
	return true
}

// leading returns the values of the pages from the first on, up to one that is
// missing or cut.
func (s *pages) leading() []dissect.Extent {
	n := 0
	for n < int(s.total) && s.at[n].Off != 0 {
		n++
		if n == int(s.cut) {
			break
		}
	}
	return s.at[:n]
}

// isComplete reports whether every page is there.
func (s *pages) isComplete() bool {
	return s.cut == 0 && s.total > 0 && len(s.leading()) == int(s.total)
}

// areBinaryRules reports whether the pages are binary rules: the game is one that sends
// them, or they are complete, nothing contradicts that they are pages, and what
// they hold begins as binary rules do.
func (s *pages) areBinaryRules(c *dissect.Context, cur *dissect.Cursor) bool {
	if s.total == 0 {
		return false
	}
	if hasBinaryRules(c) {
		return true
	}
	if s.hasOther || s.contradict || !s.isComplete() {
		return false
	}
	in := cur.Inner(s.leading(), &escape)
	return bytes.IndexByte([]byte{versionDayZ, versionArma3}, in.Peek()) >= 0
}

// hasBinaryRules reports whether the server runs a game that sends binary rules. Only then
// are they called damaged: in another game two bytes of a name may be anything.
func hasBinaryRules(c *dissect.Context) bool {
	flow := &c.FromServer
	return flow.HasApp && (flow.AppID == appArma3 || flow.AppID == appDayZ)
}
