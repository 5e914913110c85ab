package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"qsniff/dissect/protocols"
	"qsniff/internal/app/cli"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render/manual"
)

// captureExtensions are the extensions of names that completion proposes. Files with other
// names are read all the same.
var captureExtensions = []cobra.Completion{"pcap", "pcapng", "cap", "gz", "zst", "lz4", "bz2", "xz"}

// completeCaptures proposes captures, and the folders on the way to them.
func completeCaptures(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return captureExtensions, cobra.ShellCompDirectiveFilterFileExt
}

// completeCommandOrCapture completes the first word after qsniff. Shells cannot propose
// commands and files together, so it proposes commands as long as one fits.
func completeCommandOrCapture(root *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	fits := func(c *cobra.Command) bool { return c.IsAvailableCommand() && strings.HasPrefix(c.Name(), word) }
	if len(args) == 0 && slices.ContainsFunc(root.Commands(), fits) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeCaptures(root, args, word)
}

// propose sets what completes the value of a flag.
func propose(cmd *cobra.Command, flag string, f cobra.CompletionFunc) { cli.Propose(cmd, flag, f) }

// isCompletion reports whether a shell asks what may stand at the end of a command line.
func isCompletion(args []string) bool {
	return len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd)
}

// completeDecodeAs proposes protocols after udp.port==27015, and before that a
// port where each protocol is usually met.
func completeDecodeAs(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	reg := protocols.NewRegistry()
	var found []cobra.Completion
	rule, _, hasRule := strings.Cut(word, ",")
	for _, p := range reg.Protos() {
		transport := "udp"
		if reg.StreamOf(p) != nil {
			transport = "tcp"
		}
		lead := transport + ".port=="
		if !hasRule && len(p.Ports) > 0 {
			rule = fmt.Sprint(lead, p.Ports[0])
		}
		if c := rule + "," + p.Name; strings.HasPrefix(rule, lead) && strings.HasPrefix(c, word) {
			found = append(found, cobra.CompletionWithDesc(c, p.Doc))
		}
	}
	if len(found) == 0 && !hasRule { // a port of one's own
		if digits := strings.TrimPrefix(strings.TrimPrefix(word, "udp.port=="), "tcp.port=="); digits != word && digits != "" {
			return completeDecodeAs(nil, nil, word+",")
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

func completeFields(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	reg := protocols.NewRegistry()
	var found []cobra.Completion
	seen := map[string]bool{} // JSON and filters have fields of the same name
	add := func(name, doc string) {
		if strings.HasPrefix(name, word) && !seen[name] {
			seen[name] = true
			found = append(found, cobra.CompletionWithDesc(name, doc))
		}
	}
	if messages, err := cmd.Flags().GetBool("messages"); err == nil && messages {
		for _, m := range manual.Rows(manual.Messages(reg)) {
			add(m.Name, m.Doc)
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
	for _, f := range manual.Rows(filter.Fields(reg, filter.Options{Codes: listCodes(reg)})) {
		add(f.Name, f.Doc)
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

func completeFindings(_ *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []cobra.Completion
	seen := map[string]bool{} // kinds share ids
	add := func(id, what string) {
		if strings.HasPrefix(id, word) && !seen[id] {
			found, seen[id] = append(found, cobra.CompletionWithDesc(id, what)), true
		}
	}
	for _, f := range listFindings() {
		add(f.ID, f.Seen)
	}
	for _, k := range manual.Kinds() {
		add(k.ID, k.What)
		add(k.Code, k.What)
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

var shells = []cobra.Completion{"bash", "zsh", "fish"}

// newCompletion returns the command that replaces cobra's own, whose examples do not run
// and which offers a shell that is not tested here.
func newCompletion(io streams) *cobra.Command {
	return &cobra.Command{
		Use:     "completion bash|zsh|fish",
		GroupID: groupReference,
		Short:   "print a completion script for a shell",
		Long: `completion prints a script that completes commands, flags and their values, field
names, finding ids and capture files in a shell. The one for bash needs the package
bash-completion; make install puts all three in place.

Exit status: 0 fine, 2 wrong usage.`,
		Example: `  qsniff completion bash > qsniff.bash          then: source qsniff.bash
  qsniff completion zsh > _qsniff               into a folder of $fpath
  qsniff completion fish > qsniff.fish          into ~/.config/fish/completions`,
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usage(fmt.Errorf("completion: %d arguments, 1 is needed", len(args)), "name a shell: "+strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return cmd.Root().GenBashCompletionV2(io.out, true)
			case "zsh":
				return cmd.Root().GenZshCompletion(io.out)
			case "fish":
				return cmd.Root().GenFishCompletion(io.out, true)
			}
			return cli.Usage(fmt.Errorf("completion: no script for %q", args[0]), "one of "+strings.Join(shells, ", "))
		},
	}
}
