package docgen

import (
	"bytes"
	"fmt"

	"qsniff/render/counters"
)

func countersPage() []byte {
	var b bytes.Buffer
	b.WriteString("# Counters\n\n" + notice)
	b.WriteString("What is counted, by the names in `qsniff stats -o json`. `qsniff stats -v` prints those that are not zero, JSON has\nthe others of the first four groups too where a column says so. What concerns other commands stands on their pages and\non standard error, where it is not zero.\n")
	for g := range counters.NumGroups {
		fmt.Fprintf(&b, "\n## %s\n\n", g.Title())
		if g.Object() != "" {
			fmt.Fprintf(&b, "Members of %s.\n\n", code(g.Object()))
		}
		heading(&b, "counter", "in JSON", "meaning")
		for _, e := range counters.Of(g) {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", code(e.Name), whenIn(&e), cell(e.Doc))
		}
	}
	return b.Bytes()
}

// whenIn says when the JSON of stats has a counter.
func whenIn(e *counters.Entry) string {
	switch {
	case !e.Printed():
		return ""
	case e.Always:
		return "always"
	}
	return "unless 0"
}
