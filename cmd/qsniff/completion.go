package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

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
				return &usageError{fmt.Errorf("completion: %d arguments, 1 is needed", len(args)), "name a shell: " + strings.Join(shells, ", ")}
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
			return &usageError{fmt.Errorf("completion: no script for %q", args[0]), "one of " + strings.Join(shells, ", ")}
		},
	}
}
