package counters

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"qsniff/internal/digits"
)

// placeholder is a place of a label or a hint that a number fills.
var placeholder = regexp.MustCompile(`\{([a-z_]*)(: ([^}]+))?\}`)

// Expand fills the holes of a label or a hint of e: {} is its number, as write writes it,
// {name} that of another counter of its group, {: gap} and {: query|queries} the number
// with its noun, the plural where an s does not make it, and {: B} a number of bytes.
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

// formatGrouped and plain write numbers on pages and on standard error.
func formatGrouped(n uint64) string { return digits.Grouped(int64(min(n, 1<<63-1))) }
func formatPlain(n uint64) string   { return strconv.FormatUint(n, 10) }

// find is the counter of that name beside e; e itself if name is empty.
func find(e *Entry, name string) *Entry {
	if name == "" {
		return e
	}
	return &All[slices.IndexFunc(All, func(x Entry) bool { return x.Group == e.Group && x.Name == name })]
}
