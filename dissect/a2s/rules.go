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
	at := cur.Fields() - 1
	var found pages
	isText := utf8.Valid(cur.Peek(cur.Left())) // and so is each rule, which a NUL ends
	cur.Push(&defRuleList, count)
	n, binary := 0, 0
	for ; cur.OK() && cur.Left() > 0; n++ {
		if n >= count && !cur.Cut() && !isWholeRule(cur.Peek(cur.Left())) {
			break
		}
		cur.Push(&defRule, n)
		name := cur.CString(&defRuleName)
		start := cur.Offset()
		value := cur.CString(valueDef(c, cur, name))
		if found.add(name, extentFrom(cur, start), cur.OK()) || !isText && isBinary(name, value) {
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
		cur.ExpertAt(&codeBinary, codeBinary.Severity, at, uint64(binary), 0)
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
