package manual

import (
	"path"
	"slices"
	"strings"
)

// Match reports whether name matches pattern. A pattern with one of *?[ has to match all
// of name, as in path.Match; any other matches where it is a part of name. Case does not
// matter.
func Match(pattern, name string) bool {
	pattern, name = strings.ToLower(pattern), strings.ToLower(name)
	if !strings.ContainsAny(pattern, "*?[") {
		return strings.Contains(name, pattern)
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// CheckPattern returns an error if pattern is malformed.
func CheckPattern(pattern string) error {
	_, err := path.Match(pattern, "")
	return err
}

// Filter returns the rows whose name matches, in the sections that have such rows.
func Filter[T any](sections []Section[T], pattern string, name func(T) string) []Section[T] {
	var kept []Section[T]
	for _, s := range sections {
		var rows []T
		for _, r := range s.Rows {
			if Match(pattern, name(r)) {
				rows = append(rows, r)
			}
		}
		if len(rows) > 0 {
			kept = append(kept, Section[T]{s.Name, s.Doc, rows})
		}
	}
	return kept
}

// maxNearest is how many names Nearest returns. Chosen: they fit into a line.
const maxNearest = 3

// Nearest returns the names that are most like word, best first. What follows any dot of a
// name counts as the name, too: players.scor is near a2s.player.players.score.
func Nearest(word string, names []string) []string {
	type candidate struct {
		name string
		away int
	}
	var found []candidate
	word = strings.ToLower(strings.Trim(word, "*?"))
	for _, name := range names {
		low := strings.ToLower(name)
		away := editDistance(word, low)
		for rest, ok := low, true; ok; {
			if _, rest, ok = strings.Cut(rest, "."); ok {
				away = min(away, editDistance(word, rest))
			}
		}
		if away <= max(2, len(word)/3) {
			found = append(found, candidate{name, away})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.away - b.away })
	var near []string
	for _, c := range found[:min(len(found), maxNearest)] {
		near = append(near, c.name)
	}
	return near
}

// editDistance returns how many bytes have to be changed, added or removed to turn a
// into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost = 1 + min(corner, row[j], row[j+1])
			}
			corner, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
