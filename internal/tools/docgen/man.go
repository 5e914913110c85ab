package docgen

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// dashed is the name of a command's man page: qsniff-read.
func dashed(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// man makes a man page in man(7) macros. It has no date and no version, so that it
// changes when the command does.
func man(in *Input, cmd *cobra.Command) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".\\\" Written by make docs from the program itself.\n")
	fmt.Fprintf(&b, ".TH %s 1 \"\" qsniff \"qsniff manual\"\n", strings.ToUpper(dashed(cmd)))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(dashed(cmd)), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, ".br\n.B %s\n", roff(cmd.CommandPath()+" COMMAND [flags] ..."))
	}
	b.WriteString(".SH DESCRIPTION\n")
	manProse(&b, cmd.Long)
	manCommands(&b, cmd)
	for _, g := range in.Flags(cmd) {
		fmt.Fprintf(&b, ".SH %s\n", strings.ToUpper(g.Title))
		g.Flags.VisitAll(func(f *pflag.Flag) { manFlag(&b, f) })
	}
	if cmd.HasExample() {
		b.WriteString(".SH EXAMPLES\n.nf\n")
		for line := range strings.Lines(cmd.Example) {
			b.WriteString(roffLine(strings.TrimRight(strings.TrimPrefix(line, "  "), "\n")))
		}
		b.WriteString(".fi\n")
	}
	manSeeAlso(&b, cmd)
	return b.Bytes()
}

func manCommands(b *bytes.Buffer, cmd *cobra.Command) {
	for _, g := range cmd.Groups() {
		fmt.Fprintf(b, ".SH %s\n", strings.ToUpper(g.Title))
		for _, sub := range cmd.Commands() {
			if sub.GroupID == g.ID && sub.IsAvailableCommand() {
				fmt.Fprintf(b, ".TP\n.B %s\n%s", roff(sub.Name()), roffLine(sub.Short))
			}
		}
	}
}

func manFlag(b *bytes.Buffer, f *pflag.Flag) {
	name := "\\fB" + roff("--"+f.Name) + "\\fR"
	if f.Shorthand != "" {
		name = "\\fB" + roff("-"+f.Shorthand) + "\\fR, " + name
	}
	value, doc := pflag.UnquoteUsage(f)
	if value != "" {
		name += " \\fI" + roff(value) + "\\fR"
	}
	fmt.Fprintf(b, ".TP\n%s\n%s", name, roffLine(doc+defaultOf(f)))
}

// defaultOf says what a flag is when it is left out, unless that is nothing.
func defaultOf(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "0s", "false", "[]":
		return ""
	}
	return " (default " + f.DefValue + ")"
}

func manSeeAlso(b *bytes.Buffer, cmd *cobra.Command) {
	var names []string
	for _, other := range documented(cmd.Root()) {
		if other != cmd {
			names = append(names, "\\fB"+roff(dashed(other))+"\\fR(1)")
		}
	}
	fmt.Fprintf(b, ".SH SEE ALSO\n%s\n", strings.Join(names, ", "))
}

// manProse writes paragraphs; lines that are indented stay as they are.
func manProse(b *bytes.Buffer, text string) {
	for i, para := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		asIs := strings.HasPrefix(para, " ")
		if asIs {
			b.WriteString(".nf\n")
		}
		for _, line := range strings.Split(para, "\n") {
			b.WriteString(roffLine(line))
		}
		if asIs {
			b.WriteString(".fi\n")
		}
	}
}

// roffEscapes are what troff would read as something else. A plain minus becomes
// a hyphen, which nobody can paste into a shell; a quote is curled likewise.
var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

func roff(text string) string { return roffEscapes.Replace(text) }

// roffLine is one line of text that no request is taken out of.
func roffLine(text string) string {
	text = roff(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text + "\n"
}
