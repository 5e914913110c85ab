package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Headings are those of flags, each with the names of its flags in order.
type Headings []struct {
	Title string
	Names []string
}

// Group is the flags of a command under one heading.
type Group struct {
	Title string
	Flags *pflag.FlagSet
}

// GroupFlags returns the flags of a command that are not hidden, by heading; those of no heading come last.
func GroupFlags(cmd *cobra.Command, headings Headings) (groups []Group) {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	isListed := map[string]bool{}
	for _, h := range headings {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range h.Names {
			if f := cmd.LocalFlags().Lookup(name); f != nil && !f.Hidden {
				set.AddFlag(f)
				isListed[name] = true
			}
		}
		if set.HasFlags() {
			groups = append(groups, Group{h.Title + " flags", set})
		}
	}
	others := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !isListed[f.Name] && !f.Hidden {
			others.AddFlag(f)
		}
	})
	return append(groups, Group{"Other flags", others})
}

// PrintUsage prints the usage of a command, in lines of at most so many characters: its synopsis, commands by group, examples, flags by heading.
func PrintUsage(cmd *cobra.Command, headings Headings, width int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND [flags] ...\n", cmd.CommandPath())
	}
	for _, g := range cmd.Groups() {
		fmt.Fprintf(&b, "\n%s:\n", g.Title)
		for _, sub := range cmd.Commands() {
			if sub.GroupID == g.ID && sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-*s  %s\n", cmd.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, g := range GroupFlags(cmd, headings) {
		fmt.Fprintf(&b, "\n%s:\n%s", g.Title, g.Flags.FlagUsagesWrapped(width))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\"%s COMMAND --help\" prints the help of a command.\n", cmd.CommandPath())
	}
	_, err := cmd.OutOrStderr().Write([]byte(b.String()))
	return err
}
