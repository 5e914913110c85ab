package docgen

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"

	"qsniff/filter"
)

// FilterExample is a filter, what it chooses, and a capture in pcapfiles of which it
// chooses something.
type FilterExample struct{ Text, What, Capture string }

// The text of the page, and its examples: a filter, what it chooses and a capture, with tabs
// between them.
var (
	//go:embed filters_intro.md
	filtersIntro string
	//go:embed filters_grammar.md
	filtersGrammar string
	//go:embed filters_examples.tsv
	filtersExamples string
)

// FilterExamples returns the examples of the page about filters. A test runs them.
func FilterExamples() (list []FilterExample) {
	for line := range strings.Lines(filtersExamples) {
		x := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		list = append(list, FilterExample{x[0], x[1], x[2]})
	}
	return list
}

// filtersPage returns the page about the language of filters.
func filtersPage(in *Input) []byte {
	var b bytes.Buffer
	b.WriteString("# Filters\n\n" + notice + filtersIntro + "\n## Examples\n\n")
	writeHead(&b, "filter", "chooses")
	for _, x := range FilterExamples() {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.ReplaceAll(code(x.Text), "|", `\|`), escapeCell(x.What))
	}
	b.WriteString(filtersGrammar)
	b.WriteString("\n## Fields\n\nThe fields of messages are listed by `qsniff fields`, and on the pages of the protocols. These come beside them:\n\n")
	writeHead(&b, "field", "type", "known", "meaning")
	for _, f := range filter.Fields(in.Registry, filter.Options{Codes: in.Codes}) {
		known := "at once"
		if f.Late {
			known = "later"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", code(f.Name), f.Type, known, escapeCell(f.Doc))
	}
	return b.Bytes()
}
