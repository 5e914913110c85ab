package main

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"qsniff/internal/base/cli"

	"github.com/spf13/cobra"
)

// flagGroups are the headings under which flags are listed, in this order. Flags in none of
// them come last.
var flagGroups = cli.Headings{
	{"Output", []string{"output", "explain", "verbose", "level", "exchange", "full", "messages", "limits", "filter", "frame", "time", "fields", "count", "layout", "interval", "top", "utc", "color", "show-secrets", "fail-on"}},
	{"Capture", []string{"interface", "capture-filter", "auto-filter", "snaplen", "buffer", "promiscuous", "backend", "no-sandbox"}},
	{"File", []string{"write", "force", "ring-size", "ring-time", "ring-files", "ring-total", "ring-age", "on-incident", "incident-report"}},
	{"Telling", []string{"tell", "tell-size", "tell-files", "webhooks", "webhook-every", "on-incident-exec", "exec-timeout", "syslog", "journal", "tell-findings"}},
	{"Fleet", []string{"fleet", "fleet-name", "fleet-secret", "fleet-prefix", "fleet-creds", "fleet-ca", "fleet-spool", "fleet-spool-size", "fleet-addresses"}},
	{"Input", []string{"raw", "as", "dir", "follow", "servers", "thresholds", "reader", "decode-as", "dedup", "sampled"}},
	{"Resource", []string{"jobs", "memory"}},
}

// newHelpPage returns a function that prints the long description of a command, no wider
// than the terminal, and its usage.
func newHelpPage(io streams) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, _ []string) {
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n", reflow(cmp.Or(cmd.Long, cmd.Short), min(width(io.out), widest)))
		_ = cmd.Usage() // there is nowhere to report a write error
	}
}

// widest is the greatest width of prose. Chosen: longer lines are hard to read.
const widest = 88

// reflow breaks paragraphs into lines of at most width characters. A paragraph with an
// indented line stays as it is.
func reflow(text string, width int) string {
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, p := range paragraphs {
		if strings.Contains("\n"+p, "\n ") {
			continue
		}
		var b strings.Builder
		used := 0
		for _, word := range strings.Fields(p) {
			n := utf8.RuneCountInString(word)
			switch {
			case used == 0:
			case used+1+n > width:
				b.WriteByte('\n')
				used = 0
			default:
				b.WriteByte(' ')
				used++
			}
			b.WriteString(word)
			used += n
		}
		paragraphs[i] = b.String()
	}
	return strings.Join(paragraphs, "\n\n")
}

// newHelp returns the command that replaces cobra's own, whose messages have another style.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		GroupID: groupReference,
		Short:   "print the help of a command",
		Args:    atMostOne("help for one command at a time"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var names []cobra.Completion
			for _, c := range cmd.Root().Commands() {
				if len(args) == 0 && c.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return &usageError{fmt.Errorf("help: no command is called %q", args[0]), "qsniff --help lists the commands"}
			}
			return found.Help()
		},
	}
}
