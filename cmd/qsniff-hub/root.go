package main

import (
	"errors"
	"fmt"

	"qsniff/internal/app/cli"

	"github.com/spf13/cobra"
)

const rootHelp = `qsniff-hub brings together what the hosts of a fleet tell: each runs qsniff monitor --fleet,
which publishes counts, incidents and inventory to a broker (NATS JetStream), and no packets.
The hub finds what no host sees alone: floods that are spread over many servers, the same
attackers at one host after the other. It shows and tells that, once for the fleet.`

// commands is the id of the group of all commands.
const commands = "commands"

func newRoot(io streams) *cobra.Command {
	build := cli.ReadBuild(packaged)
	root := &cobra.Command{Use: "qsniff-hub", Short: "one picture of a fleet of game servers", Long: rootHelp, Version: build.Short(),
		SilenceErrors: true, SilenceUsage: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	root.SetOut(io.out)
	root.SetErr(io.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.Usage(err, fmt.Sprintf("see %s --help", cmd.CommandPath()))
	})
	root.SetUsageFunc(func(cmd *cobra.Command) error { return cli.PrintUsage(cmd, flagGroups, 0) })
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddGroup(&cobra.Group{ID: commands, Title: "Commands"})
	root.AddCommand(newRun(io), newCheck(io), newExport(io), newCreds(io), newMessenger(io))
	for _, cmd := range root.Commands() {
		cmd.Flags().SortFlags, cmd.GroupID = false, commands
	}
	return root
}

// flagGroups are the headings under which flags are listed, in this order. Others come last.
var flagGroups = cli.Headings{
	{"Fleet", []string{"secret", "prefix", "thresholds"}},
	{"Broker", []string{"nats", "nats-creds", "nats-ca", "nats-listen", "store", "nats-config", "nats-cert", "nats-key", "nats-client-ca", "replicas", "retention-age", "retention-size"}},
	{"Page", []string{"listen", "host", "web-token-file", "web-cert", "web-key", "insecure"}},
	{"Telling", []string{"tell", "tell-size", "tell-files", "webhooks", "webhook-every", "on-campaign-exec", "exec-timeout", "syslog", "journal"}},
}

// packaged is the version of sources that come without git: set by go build -ldflags '-X main.packaged=v0.1.0'.
var packaged string

// noArgs refuses arguments.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return cli.Usage(fmt.Errorf("%q is no flag of %s", args[0], cmd.CommandPath()), "see "+cmd.CommandPath()+" --help")
	}
	return nil
}

// needs returns an error about a flag that is missing.
func needs(flag, hint string) error {
	return cli.Usage(errors.New("--"+flag+" is missing"), hint)
}
