package payload

import (
	"bytes"
	"slices"
)

// Marks are byte strings that datagrams begin with and do not contain later: a line that
// begins with one begins a payload.
type Marks [][]byte

// matches reports whether b begins with one of the marks.
func (m Marks) matches(b []byte) bool {
	return slices.ContainsFunc(m, func(mark []byte) bool { return bytes.HasPrefix(b, mark) })
}

// longest returns the length of the longest mark.
func (m Marks) longest() (n int) {
	for _, mark := range m {
		n = max(n, len(mark))
	}
	return n
}

// groupLines groups the lines that are one payload each, see the package comment. begin
// returns at least the first n bytes of a line, decoded. With wraps, lines of different
// lengths can be one payload.
func groupLines(lines []line, marks Marks, begin func(s string, n int) []byte, wraps bool) [][]line {
	first := make([]bool, len(lines))
	marked, n := false, marks.longest()
	for i := 1; i < len(lines); i++ {
		first[i] = marks.matches(begin(lines[i].text, n))
		marked = marked || first[i]
	}
	if !marked && !wraps && !isWrapped(lines) {
		for i := range first {
			first[i] = true
		}
	}
	var out [][]line
	for i := range lines {
		if i == 0 || first[i] {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], lines[i])
	}
	return out
}

// isWrapped reports whether all lines are equally long, except that the last may be
// shorter.
func isWrapped(lines []line) bool {
	width := len(lines[0].text)
	for i, l := range lines {
		if last := i == len(lines)-1; len(l.text) > width || !last && len(l.text) < width {
			return false
		}
	}
	return true
}
