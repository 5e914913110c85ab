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
