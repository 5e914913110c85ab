package payload

import "qsniff/internal/splithdr"

// group puts lines that are one payload together. begin tells the first bytes of
// a line, and wraps whether lines of different length go on: see the package
// comment.
func group(lines []line, begin func(s string) []byte, wraps bool) [][]line {
	first := make([]bool, len(lines))
	marked := false
	for i := 1; i < len(lines); i++ {
		b := begin(lines[i].text)
		first[i] = splithdr.IsSingle(b) || splithdr.IsSplit(b)
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

// wrapped tells whether all lines are equally long, except that the last may be
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
