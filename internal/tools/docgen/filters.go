package docgen

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render/manual"
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
	all := fields(in)
	writeHead(&b, "field", "type", "known", "meaning")
	for _, f := range all[filter.Own].Rows {
		known := "at once"
		if slices.Contains(f.Flags, manual.Later) {
			known, f.Flags = manual.Later, nil
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", code(f.Name), f.Filter.Name, known, escapeCell(f.Meaning()))
	}
	b.WriteString("\n## Types\n\nWhat values of these fields, and of those of messages, are compared with. Any field alone holds where a message has it, but a boolean if it is true.\n\n")
	writeHead(&b, "type", "operators", "values")
	for _, t := range manual.FilterTypes(all) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", t.Name, strings.TrimSuffix(code(strings.Join(t.Operators, " ")), "``"), escapeCell(t.Example))
	}
	return b.Bytes()
}
