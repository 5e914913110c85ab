// Command qsniff-hub brings together what the hosts of a fleet report: qsniff monitor --fleet publishes
// it to a broker, which is within qsniff-hub or elsewhere. This folder holds flags, wiring, messages
// on standard error and exit statuses. What the commands do is in internal/fleet/hub and the packages below it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/base/sandbox"
)

// The exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// patience is how long an interrupted run may take to write what it has. Chosen: the broker has to
// bring its streams to the disk, and systemd waits for 90 s.
const patience = 30 * time.Second

// streams are a command's standard output and standard error.
type streams struct{ out, err io.Writer }

func main() { os.Exit(runProgram()) }

// runProgram executes the command line, until a signal ends it.
func runProgram() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the program at once
		time.Sleep(patience)
		os.Exit(exitFailed) // the run is stuck
	})
	return run(ctx, os.Args[1:], streams{os.Stdout, os.Stderr})
}

// run executes one command line and returns the exit status.
func run(ctx context.Context, args []string, io streams) int {
	root := newRoot(io)
	root.SetArgs(withCommand(args))
	return reportError(io.err, root.ExecuteContext(ctx))
}

// withCommand puts run before arguments that name no command.
func withCommand(args []string) []string {
	known := []string{"--help", "-h", "--version", "help"}
	if len(args) == 0 || !strings.HasPrefix(args[0], "-") || slices.Contains(known, args[0]) {
		return args
	}
	return append([]string{"run"}, args...)
}

// reportError prints err as one line, with a hint if there is one, and returns the exit status.
func reportError(w io.Writer, err error) int {
	var hinted *cli.Error
	var boxed *sandbox.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &hinted):
		printError(w, err, hinted.Hint)
		if hinted.IsUsage {
			return exitUsage
		}
	case errors.As(err, &boxed):
		printError(w, err, "--no-sandbox does without")
	default:
		printError(w, err, "")
	}
	return exitFailed
}

func printError(w io.Writer, err error, hint string) {
	text := fmt.Sprintf("qsniff-hub: %v\n", err)
	if hint != "" {
		text += "  hint: " + hint + "\n"
	}
	_, _ = io.WriteString(w, text) // there is nowhere to report a write error
}

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
	full := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		switch {
		case !cli.IsBrief(args):
			full(cmd, args)
		case cmd.HasParent():
			cli.PrintBrief(cmd, flagGroups, 0)
		default:
			_ = cmd.Usage() // there is nowhere to report a write error
		}
	})
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
