package a2s

import (
	"bytes"
	"unicode/utf8"

	"qsniff/dissect"
	"qsniff/internal/base/console"
)

// readRules reads the body of S2A_RULES. Engines write into a fixed buffer and send
// what fits: fewer pairs than the count, or a last string without its NUL, is how
// long lists end.
func readRules(c *dissect.Context, cur *dissect.Cursor) {
	wrong := isMisnamed(cur.Peek(cur.Left()), cur.LeftOnWire(), c.FromServer.Asked)
	count := int(cur.U16(&defRuleCount))
	if !cur.OK() {
		return
	}
	at := cur.Fields() - 1
	var found pages
	isText := utf8.Valid(cur.Peek(cur.Left())) // and so is each rule, which a NUL ends
	cur.Push(&defRuleList, count)
	n, binary, first := 0, 0, 0
	for ; cur.OK() && cur.Left() > 0; n++ {
		if n >= count && !cur.Cut() && !isWholeRule(cur.Peek(cur.Left())) {
			break
		}
		cur.Push(&defRule, n)
		rule := cur.Offset()
		name := cur.CString(&defRuleName)
		start := cur.Offset()
		value := cur.CString(valueDef(c, cur, name))
		if found.add(name, extentFrom(cur, start), cur.OK()) || !isText && isBinary(name, value) {
			if binary == 0 {
				first = rule
			}
			binary++
		}
		cur.Pop()
	}
	whole := n
	if !cur.OK() {
		whole--
	}
	cur.Pop()
	switch {
	case wrong:
		cur.ExpertAt(&codeWrongLetter, codeWrongLetter.Severity, at, 0, 0)
	case whole != count && !cur.Cut() && !cur.Limited():
		cur.ExpertAt(&codeCount, codeCount.Severity, at, uint64(count), uint64(whole))
	}
	if binary > 0 {
		cur.ExpertAt(&codeBinary, codeBinary.Severity, at, uint64(binary), uint64(first))
	}
	readBohemia(c, cur, &found, at)
}

// extentFrom is that of a text from offset start to what was read, without its NUL.
func extentFrom(cur *dissect.Cursor, start int) dissect.Extent {
	n := cur.Offset() - start
	if cur.OK() {
		n-- // the NUL
	}
	return dissect.Extent{Off: uint32(start), Len: uint32(n)}
}

// valueDef is the definition for the value that follows. Engines say of a
// password only whether there is one; plugins and proxies forward what they like. A name
// that was corrupted may have been that of a password.
func valueDef(c *dissect.Context, cur *dissect.Cursor, name []byte) *dissect.Def {
	switch {
	case !cur.SeeksSecrets():
		return &defRuleValue
	case c.IsCorrupt:
		return &defRuleSecret
	case !console.HoldsSecret(name):
		return &defRuleValue
	}
	if value, _, ended := bytes.Cut(cur.Peek(cur.Left()), []byte{0}); ended && !console.HidesPair(name, value) {
		return &defRuleValue
	}
	return &defRuleSecret
}

// isWholeRule reports whether b is one more whole pair.
func isWholeRule(b []byte) bool {
	i := bytes.IndexByte(b, 0)
	return i > 0 && bytes.IndexByte(b[i+1:], 0) >= 0
}

// isBinary reports whether a rule is not text.
func isBinary(name, value []byte) bool { return !utf8.Valid(name) || !utf8.Valid(value) }

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

// limit: maxPages bounds the pages of binary rules: their number is one byte.
const maxPages = 255
