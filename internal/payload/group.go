package payload

import (
	"bytes"
	"slices"
)

// Marks are what datagrams begin with that is never in the middle of one: the first
// bytes of a line that is a payload of its own.
type Marks [][]byte

// begins reports whether b begins with a mark.
func (m Marks) begins(b []byte) bool {
	return slices.ContainsFunc(m, func(mark []byte) bool { return bytes.HasPrefix(b, mark) })
}

// longest is how many bytes of a line tell whether it begins with a mark.
func (m Marks) longest() (n int) {
	for _, mark := range m {
		n = max(n, len(mark))
	}
	return n
}

// group puts lines that are one payload together. begin returns at least the first n
// bytes of a line, and wraps says whether lines of different length go on: see the
// package comment.
func group(lines []line, marks Marks, begin func(s string, n int) []byte, wraps bool) [][]line {
	first := make([]bool, len(lines))
	marked, n := false, marks.longest()
	for i := 1; i < len(lines); i++ {
		first[i] = marks.begins(begin(lines[i].text, n))
		marked = marked || first[i]
	}
	if !marked && !wraps && !wrapped(lines) {
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

// wrapped reports whether all lines are equally long, except that the last may be
// shorter.
func wrapped(lines []line) bool {
	width := len(lines[0].text)
	for i, l := range lines {
		if last := i == len(lines)-1; len(l.text) > width || !last && len(l.text) < width {
			return false
		}
	}
	return true
}
