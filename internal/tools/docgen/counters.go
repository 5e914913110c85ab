package docgen

import (
	"bytes"
	"fmt"

	"qsniff/internal/render/counters"
)

func countersPage() []byte {
	var b bytes.Buffer
	b.WriteString("# Counters\n\n" + notice)
	b.WriteString("What is counted, and the names of it. `qsniff stats -v` and `qsniff stats -o json` print the groups that have a column\n\"in JSON\"; -v leaves out what is zero. The counters of the other groups belong to `floods`, `proven` and `live`, which tell of\nthem on their pages and on standard error.\n")
	for g := range counters.NumGroups {
		fmt.Fprintf(&b, "\n## %s\n\n", g.Title())
		if g.Object() != "" {
			fmt.Fprintf(&b, "Members of %s.\n\n", code(g.Object()))
		}
		if !g.IsPrinted() {
			writeHead(&b, "counter", "meaning")
		} else {
			writeHead(&b, "counter", "in JSON", "meaning")
		}
		for _, e := range counters.Of(g) {
			fmt.Fprintf(&b, "| %s | %s%s |\n", code(e.Name), presenceCell(&e), escapeCell(e.Doc))
		}
	}
	return b.Bytes()
}

// presenceCell returns the cell for when the JSON of stats has a counter; "" where it
// never has it, and the table no such column.
func presenceCell(e *counters.Entry) string {
	switch {
	case !e.IsPrinted():
		return ""
	case e.IsAlwaysInJSON:
		return "always | "
	}
	return "unless 0 | "
}
