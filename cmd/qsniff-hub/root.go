package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootHelp = `qsniff-hub brings together what the hosts of a fleet tell: each runs qsniff monitor --fleet,
which publishes counts, incidents and inventory to a broker (NATS JetStream), and no packets.
The hub finds what no host sees alone: floods that are spread over many servers, the same
attackers at one host after the other. It shows and tells that, once for the fleet.`

func newRoot(io streams) *cobra.Command {
	root := &cobra.Command{Use: "qsniff-hub", Short: "one picture of a fleet of game servers", Long: rootHelp, Version: version(),
		SilenceErrors: true, SilenceUsage: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	root.SetOut(io.out)
	root.SetErr(io.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{err, fmt.Sprintf("see %s --help", cmd.CommandPath())}
	})
	root.SetUsageFunc(func(cmd *cobra.Command) error { return printUsage(cmd) })
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newRun(io), newCheck(io), newExport(io), newCreds(io), newMessenger(io))
	for _, cmd := range root.Commands() {
		cmd.Flags().SortFlags = false
	}
	return root
}

// flagGroups are the headings under which flags are listed, in this order. Others come last.
var flagGroups = []struct {
	title string
	names []string
}{
	{"Fleet", []string{"secret", "prefix", "thresholds"}},
	{"Broker", []string{"nats", "nats-creds", "nats-ca", "nats-listen", "store", "nats-config", "nats-cert", "nats-key", "nats-client-ca", "replicas", "retention-age", "retention-size"}},
	{"Page", []string{"listen", "host", "web-token-file", "web-cert", "web-key"}},
	{"Telling", []string{"tell", "tell-size", "tell-files", "webhooks", "webhook-every", "on-campaign-exec", "exec-timeout", "syslog", "journal"}},
}

// printUsage prints the synopsis, commands, examples, and flags by group.
func printUsage(cmd *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-*s  %s\n", cmd.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	for _, g := range groupFlags(cmd) {
		fmt.Fprintf(&b, "\n%s:\n%s", g.title, g.flags.FlagUsages())
	}
	_, err := cmd.OutOrStderr().Write([]byte(b.String()))
	return err
}

// flagGroup is the flags of a command under one heading.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// groupFlags returns the flags of a command by flagGroups.
func groupFlags(cmd *cobra.Command) (groups []flagGroup) {
	isListed := map[string]bool{}
	for _, g := range flagGroups {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range g.names {
			if f := cmd.LocalFlags().Lookup(name); f != nil {
				set.AddFlag(f)
				isListed[name] = true
			}
		}
		if set.HasFlags() {
			groups = append(groups, flagGroup{g.title + " flags", set})
		}
	}
	others := pflag.NewFlagSet("", pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !isListed[f.Name] {
			others.AddFlag(f)
		}
	})
	return append(groups, flagGroup{"Other flags", others})
}

// version returns the tag that the program was built from, or its commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "of an unknown revision"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(12, len(s.Value))]
		}
	}
	return "of an unknown revision"
}

// noArgs refuses arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{fmt.Errorf("%q is no flag of %s", args[0], cmd.CommandPath()), "see " + cmd.CommandPath() + " --help"}
	}
	return nil
}

// needs returns an error about a flag that is missing.
func needs(flag, hint string) error {
	return &usageError{errors.New("--" + flag + " is missing"), hint}
}
