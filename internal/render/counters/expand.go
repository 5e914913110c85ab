package counters

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"qsniff/internal/base/digits"
)

// placeholder matches a place in a label or a hint where Expand puts a number.
var placeholder = regexp.MustCompile(`\{([a-z_]*)(: ([^}]+))?\}`)

// Expand returns a label or a hint of e with numbers for its placeholders, formatted by
// write. {} is e's number, {name} that of another counter of its group, {: gap} the number
// with its noun, {: query|queries} the same with the plural where that is not made by an
// s, and {: B} a number of bytes.
func (r *Result) Expand(e *Entry, text string, write func(uint64) string) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		m := placeholder.FindStringSubmatch(found)
		n := find(e, m[1]).Get(r)
		switch m[3] {
		case "":
			return write(n)
		case "B":
			return digits.Bytes(float64(n))
		}
		return write(n) + " " + digits.Noun(n, strings.Split(m[3], "|")...)
	})
}

// formatGrouped formats a number for a page, formatPlain for standard error.
func formatGrouped(n uint64) string { return digits.Grouped(int64(min(n, 1<<63-1))) }
func formatPlain(n uint64) string   { return strconv.FormatUint(n, 10) }

// find returns the counter of that name in e's group, or e itself if name is empty.
func find(e *Entry, name string) *Entry {
	if name == "" {
		return e
	}
	return &All[slices.IndexFunc(All, func(x Entry) bool { return x.Group == e.Group && x.Name == name })]
}
