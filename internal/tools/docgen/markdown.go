package docgen

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"qsniff/dissect/finding"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render/manual"
)

// notice follows the heading of every page.
const notice = "<!-- Written by make docs from the program itself: change the sources, not this file. -->\n\n"

// escapeCell escapes text for a cell of a table.
func escapeCell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`).Replace(text)
}

func code(text string) string { return "`" + text + "`" }

// writeHead writes the head of a table.
func writeHead(b *bytes.Buffer, columns ...string) {
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
}

func commandsPage(in *Input) []byte {
	var b bytes.Buffer
	b.WriteString("# Commands\n\n" + notice)
	for _, cmd := range documented(in.Root) {
		fmt.Fprintf(&b, "- [%s](#%s): %s\n", cmd.CommandPath(), dashed(cmd), cmd.Short)
	}
	for _, cmd := range documented(in.Root) {
		fmt.Fprintf(&b, "\n## %s\n\n", cmd.CommandPath())
		fmt.Fprintf(&b, "    %s\n", cmd.UseLine())
		for _, para := range strings.Split(strings.TrimSpace(cmd.Long), "\n\n") {
			fmt.Fprintf(&b, "\n%s\n", escapeProse(para))
		}
		for _, g := range in.Flags(cmd) {
			fmt.Fprintf(&b, "\n%s:\n\n", g.Title)
			writeHead(&b, "flag", "meaning")
			g.Flags.VisitAll(func(f *pflag.Flag) {
				value, doc := pflag.UnquoteUsage(f)
				name := strings.TrimSpace("--" + f.Name + " " + value)
				if f.Shorthand != "" {
					name = "-" + f.Shorthand + ", " + name
				}
				// A bar ends the cell of a table even between backquotes.
				fmt.Fprintf(&b, "| %s | %s |\n", code(strings.ReplaceAll(name, "|", `\|`)), escapeCell(doc+defaultOf(f)))
			})
		}
		if cmd.HasExample() {
			b.WriteString("\nExamples:\n\n")
			for line := range strings.Lines(cmd.Example) {
				b.WriteString("  " + line)
			}
			b.WriteString("\n")
		}
	}
	return b.Bytes()
}

// escapeProse escapes a paragraph of a help text. One that is indented becomes code.
func escapeProse(para string) string {
	if strings.HasPrefix(para, " ") {
		return "  " + strings.ReplaceAll(para, "\n", "\n  ")
	}
	return strings.NewReplacer("<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`).Replace(para)
}

func fieldsPage(in *Input) []byte {
	var b bytes.Buffer
	b.WriteString("# Fields that all messages have\n\n" + notice)
	b.WriteString("The fields of each protocol are on its own page. `qsniff fields` lists all of them.\n")
	for _, s := range slices.Delete(fields(in)[:filter.Own+2], filter.Own, filter.Own+1) {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n", capitalize(s.Name), capitalize(s.Doc))
		writeFieldTable(&b, s.Rows)
	}
	return b.Bytes()
}

func writeFieldTable(b *bytes.Buffer, fs []manual.Field) {
	writeHead(b, "field", "type", "in filters", "meaning")
	for _, f := range fs {
		inFilters := ""
		if f.Filter != nil {
			inFilters = f.Filter.Name
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", code(f.Name), f.Kind, inFilters, escapeCell(f.Meaning()))
	}
}

// fields returns all fields as filters see them.
func fields(in *Input) []manual.Section[manual.Field] {
	return filter.Fields(in.Registry, filter.Options{Codes: in.Codes})
}

func findingsPage(codes []*finding.Code) []byte {
	var b bytes.Buffer
	b.WriteString("# Findings\n\n" + notice)
	b.WriteString("What `qsniff explain ID` prints. Ids are stable: none is renamed or used again.\n")
	writeFindings(&b, manual.Findings(codes))
	b.WriteString("\n## Incidents\n\nThe kinds of incidents of `qsniff floods` have ids, too: `code` in JSON, `incident.code` in filters. " +
		"Kinds against which the same is done share one; where a finding reports the same as an incident, both have the same id.\n\n" +
		"| id | kind | level | what it is |\n|---|---|---|---|\n")
	kinds := manual.Kinds()
	slices.SortStableFunc(kinds, func(a, b manual.Kind) int { return strings.Compare(a.Code, b.Code) })
	for _, k := range kinds {
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", k.Code, k.ID, k.Level, escapeCell(k.What))
	}
	return b.Bytes()
}

func writeFindings(b *bytes.Buffer, fs []manual.Finding) {
	for _, f := range fs {
		fmt.Fprintf(b, "\n### %s\n\n%s, fault: %s. %s\n\n", f.ID, capitalize(f.Severity), f.Fault, escapeCell(f.Seen))
		fmt.Fprintf(b, "- Means: %s\n- Owner: %s\n- Client: %s\n", escapeCell(f.Means), escapeCell(f.Owner), escapeCell(f.Client))
		switch {
		case strings.HasPrefix(f.Reference, "https://"):
			fmt.Fprintf(b, "- See: <%s>\n", f.Reference)
		case f.Reference != "":
			fmt.Fprintf(b, "- See: %s\n", escapeCell(f.Reference))
		}
	}
}

func indexPage(in *Input) []byte {
	var b bytes.Buffer
	b.WriteString("# qsniff's manual\n\n" + notice)
	b.WriteString("- [Installing](install.md): packages, platforms, the right to capture\n")
	b.WriteString("- [Commands](commands.md): flags and examples; `man qsniff` once installed\n")
	b.WriteString("- [Fields that all messages have](fields.md): what a line of JSON holds\n")
	b.WriteString("- [Filters](filters.md): the language of -Y, with examples and all fields that it has besides\n")
	b.WriteString("- [Findings](findings.md): what each means and what to do\n")
	b.WriteString("- [JSON for programs](json.md): the schema, what stays as it is, SQL, Elastic Common Schema\n")
	b.WriteString("- [Captures in continuous integration](ci.md): an action for GitHub, SARIF, GitLab\n")
	b.WriteString("- [Counters](counters.md): what is counted, by the names in JSON\n")
	b.WriteString("- [Programs that ask](clients.md): by what they are recognised, and where that is known from\n")
	b.WriteString("- [Floods](floods.md): what is found, by which rules, and what no capture can show\n")
	b.WriteString("- [Watching live](live.md): rights, filters, files of packets, and what happens when something is slow\n")
	b.WriteString("- [The traffic of a host at a glance](top.md): the screens of qsniff top, its keys and columns\n")
	b.WriteString("- [Watching for weeks](monitor.md): figures for Prometheus, a dashboard, alerts, a unit for systemd, containers\n")
	b.WriteString("- [A fleet of hosts](fleet.md): one picture of many hosts, over NATS JetStream: set-up, what is sent, what it takes\n")
	b.WriteString("- [Assistants](mcp.md): qsniff for programs with a language model, over the Model Context Protocol\n")
	b.WriteString("- [How sure is sure](confidence.md): how often what is said with a confidence was true, and of which captures\n")
	b.WriteString("- [Hostile traffic, secrets, libraries](safety.md): what is bounded, what is hidden, where gopacket is used\n")
	b.WriteString("- [Limits](limits.md): what bounds memory and work, and why\n")
	b.WriteString("- [Stories](stories.md): reported cases, what to look at, and what to do\n\n")
	b.WriteString("The protocols, with the drawing of every message, all fields and all findings:\n\n")
	for _, p := range in.Registry.Protos() {
		fmt.Fprintf(&b, "- [%s](%s.md): %s\n", p.Name, p.Name, escapeCell(p.Doc))
	}
	return b.Bytes()
}

func capitalize(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
