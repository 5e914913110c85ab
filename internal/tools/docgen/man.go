package docgen

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// dashed returns the name of a command's man page: qsniff-read.
func dashed(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// ManPages returns the man pages of a tree of commands, by their names.
func ManPages(root *cobra.Command, flags func(*cobra.Command) []FlagGroup) map[string][]byte {
	in, pages := &Input{Root: root, Flags: flags}, map[string][]byte{}
	for _, cmd := range documented(root) {
		pages[dashed(cmd)+".1"] = manPage(in, cmd)
	}
	return pages
}

// manPage returns a man page in man(7) macros. It has no date and no version, so that it
// changes when the command does.
func manPage(in *Input, cmd *cobra.Command) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".\\\" Written by make docs from the program itself.\n")
	fmt.Fprintf(&b, ".TH %s 1 \"\" qsniff \"qsniff manual\"\n", strings.ToUpper(dashed(cmd)))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escapeRoff(dashed(cmd)), escapeRoff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", escapeRoff(cmd.UseLine()))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, ".br\n.B %s\n", escapeRoff(cmd.CommandPath()+" COMMAND [flags] ..."))
	}
	b.WriteString(".SH DESCRIPTION\n")
	writeManProse(&b, cmd.Long)
	writeManCommands(&b, cmd)
	for _, g := range in.Flags(cmd) {
		fmt.Fprintf(&b, ".SH %s\n", strings.ToUpper(g.Title))
		g.Flags.VisitAll(func(f *pflag.Flag) { writeManFlag(&b, f) })
	}
	if cmd.HasExample() {
		b.WriteString(".SH EXAMPLES\n.nf\n")
		for line := range strings.Lines(cmd.Example) {
			b.WriteString(escapeRoffLine(strings.TrimRight(strings.TrimPrefix(line, "  "), "\n")))
		}
		b.WriteString(".fi\n")
	}
	writeManSeeAlso(&b, cmd)
	return b.Bytes()
}

func writeManCommands(b *bytes.Buffer, cmd *cobra.Command) {
	for _, g := range cmd.Groups() {
		fmt.Fprintf(b, ".SH %s\n", strings.ToUpper(g.Title))
		for _, sub := range cmd.Commands() {
			if sub.GroupID == g.ID && sub.IsAvailableCommand() {
				fmt.Fprintf(b, ".TP\n.B %s\n%s", escapeRoff(sub.Name()), escapeRoffLine(sub.Short))
			}
		}
	}
}

func writeManFlag(b *bytes.Buffer, f *pflag.Flag) {
	name := "\\fB" + escapeRoff("--"+f.Name) + "\\fR"
	if f.Shorthand != "" {
		name = "\\fB" + escapeRoff("-"+f.Shorthand) + "\\fR, " + name
	}
	value, doc := pflag.UnquoteUsage(f)
	if value != "" {
		name += " \\fI" + escapeRoff(value) + "\\fR"
	}
	fmt.Fprintf(b, ".TP\n%s\n%s", name, escapeRoffLine(doc+defaultOf(f)))
}

// defaultOf returns the default of a flag, in brackets, unless it is empty or zero.
func defaultOf(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "0s", "false", "[]":
		return ""
	}
	return " (default " + f.DefValue + ")"
}

func writeManSeeAlso(b *bytes.Buffer, cmd *cobra.Command) {
	var names []string
	for _, other := range documented(cmd.Root()) {
		if other != cmd {
			names = append(names, "\\fB"+escapeRoff(dashed(other))+"\\fR(1)")
		}
	}
	fmt.Fprintf(b, ".SH SEE ALSO\n%s\n", strings.Join(names, ", "))
}

// writeManProse writes paragraphs; those that are indented are not filled.
func writeManProse(b *bytes.Buffer, text string) {
	for i, para := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		asIs := strings.HasPrefix(para, " ")
		if asIs {
			b.WriteString(".nf\n")
		}
		for _, line := range strings.Split(para, "\n") {
			b.WriteString(escapeRoffLine(line))
		}
		if asIs {
			b.WriteString(".fi\n")
		}
	}
}

// roffEscapes escapes the characters that troff would not print as they are. It turns a
// plain minus into a hyphen and curls quotes, and neither can be pasted into a shell.
var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

func escapeRoff(text string) string { return roffEscapes.Replace(text) }

// escapeRoffLine returns one line of text. A point at its start is no request.
func escapeRoffLine(text string) string {
	text = escapeRoff(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text + "\n"
}
