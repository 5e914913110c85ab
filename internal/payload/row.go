package payload

import (
	"strings"
	"unicode/utf8"
)

// row is a line of a dump, cut into the offset and the rest: bytes, and perhaps a text
// column.
type row struct {
	line
	offset   string
	rest     string
	hasColon bool // a colon follows the offset: this is a row, and no line of digits
}

// minOffset is the least number of digits in an offset, those of tcpdump.
const minOffset = 4

// readRow reads the start of a line; ok is false if it is no row.
func readRow(l line) (r row, ok bool) {
	s, prefixed := strings.CutPrefix(l.text, "0x")
	n := 0
	for n < len(s) && hexDigit(s[n]) >= 0 {
		n++
	}
	if n < minOffset || n > 16 {
		return r, false
	}
	r = row{line: l, offset: s[:n], rest: s[n:]}
	if rest, colon := strings.CutPrefix(r.rest, ":"); colon {
		r.rest, r.hasColon = rest, true
	}
	if r.rest != "" && r.rest[0] != ' ' && r.rest[0] != '\t' || prefixed && !r.hasColon {
		return r, false
	}
	return r, true
}

// cut is one way to cut a row into bytes and text.
type cut struct {
	n   int // bytes
	end int // offset in the row where they end
}

// listCuts returns the bytes that the groups of digits at the start of s stand for, and
// the places where the bytes may end: after each group.
func listCuts(s string) (b []byte, all []cut) {
	at := 0
	for {
		for at < len(s) && (s[at] == ' ' || s[at] == '\t') {
			at++
		}
		lo := at
		for at < len(s) && hexDigit(s[at]) >= 0 {
			at++
		}
		whole := at == len(s) || s[at] == ' ' || s[at] == '\t'
		if at == lo || (at-lo)%2 != 0 || !whole {
			return b, all
		}
		for i := lo; i < at; i += 2 {
			b = append(b, byte(hexDigit(s[i])<<4|hexDigit(s[i+1])))
		}
		all = append(all, cut{len(b), at})
	}
}

// decode returns the bytes of the row, want of them unless want is negative. ok is
// false if it has none, or if the text beside them shows other bytes.
func (r *row) decode(want int) (b []byte, ok bool) {
	b, all := listCuts(r.rest)
	fits := func(c cut) bool { return want < 0 || c.n == want }
	for i := len(all) - 1; i >= 0; i-- { // the longest first: text that agrees with many bytes is no accident
		if c := all[i]; c.n <= widestRow && fits(c) && strings.TrimSpace(r.rest[c.end:]) != "" && agrees(b[:c.n], r.rest[c.end:]) {
			return b[:c.n], true
		}
	}
	if len(all) == 0 {
		return nil, false
	}
	last := all[len(all)-1]
	return b, fits(last) && strings.TrimSpace(r.rest[last.end:]) == ""
}

// agrees reports whether s, which follows the bytes b in a row, is a text column that
// shows them: after white space, perhaps between bars.
func agrees(b []byte, s string) bool {
	if t := strings.TrimSpace(s); len(t) > 2 && (t[0] == '|' && t[len(t)-1] == '|' || t[0] == '>' && t[len(t)-1] == '<') {
		if shows(t[1:len(t)-1], b) {
			return true
		}
	}
	if !strings.HasPrefix(s, "  ") && s[0] != '\t' { // as between two bytes
		return false
	}
	for s != "" && (s[0] == ' ' || s[0] == '\t') { // the column may begin with spaces
		s = s[1:]
		if shows(s, b) {
			return true
		}
	}
	return false
}

// shows reports whether text shows b: a character each, a dot or another sign for
// what cannot be shown. Spaces at the end may be missing.
func shows(text string, b []byte) bool {
	for len(b) > 0 && text != "" {
		r, n := utf8.DecodeRuneInString(text)
		graphic := b[0] > ' ' && b[0] <= '~'
		switch {
		case graphic && r != rune(b[0]):
			return false
		case !graphic && r != ' ' && r != '.' && r <= '~':
			return false
		}
		text, b = text[n:], b[1:]
	}
	for _, c := range b {
		if c != ' ' {
			return false
		}
	}
	return text == ""
}
