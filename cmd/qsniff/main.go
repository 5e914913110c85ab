// Command qsniff decodes game-server query traffic from captures and from
// interfaces. This folder holds flags, wiring, messages on standard error and exit
// statuses. The work of the commands is in the packages that they wire together.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"time"

	"qsniff/capture/file"
	"qsniff/capture/live"
	"qsniff/internal/app/cli"
	"qsniff/internal/base/heap"
	"qsniff/internal/base/sandbox"
)

// The exit statuses.
const (
	exitOK            = 0
	exitFailed        = 1 // file, permission, malformed or incomplete capture
	exitUsage         = 2
	exitFailOnReached = 3 // what --fail-on names was found
	exitInterrupted   = 130
)

// patience is how long an interrupted run may take to write what it has. Chosen: enough for
// a page and a summary, and less than anybody waits for.
const patience = 2 * time.Second

// oneSignal is how long further signals count as the first one: timeout(1), and a terminal
// that closes, send more than one.
const oneSignal = 250 * time.Millisecond

// errFailOnReached ends a run that found what --fail-on names. No message is
// printed for it: the output has it.
var errFailOnReached = errors.New("--fail-on reached")

// statusError is the exit status of another process of this program, which has printed why.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// streams are a command's standard output and standard error. Each Write to err is one
// line: see cli.Lines.
type streams struct {
	out, err io.Writer
}

func main() { os.Exit(runProgram()) }

// runProgram executes the command line, until a signal ends it.
func runProgram() int {
	heap.Delay()
	heap.ReturnProgram(1)
	ctx, stop := signal.NotifyContext(context.Background(), endingSignals()...)
	context.AfterFunc(ctx, func() {
		time.Sleep(oneSignal)
		stop() // a second signal ends the program at once
		time.Sleep(patience - oneSignal)
		os.Exit(exitInterrupted) // the run is stuck: nobody reads its output
	})
	return run(ctx, os.Args[1:], streams{os.Stdout, os.Stderr})
}

// run executes one command line and returns the exit status.
func run(ctx context.Context, args []string, io streams) int {
	io.err = cli.Lines{To: io.err}
	if isExtcap(args) {
		args = append([]string{"extcap"}, args...)
	}
	cmd := newRoot(io)
	if isCompletion(args) {
		cli.RegisterCompletions(cmd)
	}
	cmd.SetArgs(args)
	return reportError(io.err, cmd.ExecuteContext(ctx))
}

// reportError prints err as one line, with a hint if there is one, and returns the exit
// status.
func reportError(w io.Writer, err error) int {
	var hinted *cli.Error
	var fileErr *file.Error
	var liveErr *live.Error
	var sandboxErr *sandbox.Error
	var status statusError
	var joined interface{ Unwrap() []error }
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &status):
		return int(status)
	case errors.Is(err, errFailOnReached):
		return exitFailOnReached
	case errors.As(err, &hinted):
		printError(w, err, hinted.Hint, hinted.Lines...)
		if hinted.IsUsage {
			return exitUsage
		}
	case errors.As(err, &liveErr):
		printError(w, err, liveErr.Hint)
	case errors.As(err, &sandboxErr):
		printError(w, err, cmp.Or(sandboxErr.Hint, "--no-sandbox does without"))
	case errors.As(err, &joined):
		for _, err := range joined.Unwrap() {
			reportError(w, err)
		}
	case errors.As(err, &fileErr):
		hint := fileErr.Hint
		if hint == "" && errors.Is(err, fs.ErrNotExist) {
			hint = "qsniff takes a capture file or a command; qsniff --help lists the commands"
		}
		printError(w, err, hint)
	default:
		printError(w, err, "")
	}
	return exitFailed
}

func printError(w io.Writer, err error, hint string, lines ...string) {
	fmt.Fprintf(w, "qsniff: %v\n", err)
	for _, line := range lines {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if hint != "" {
		fmt.Fprintf(w, "  hint: %s\n", hint)
	}
}
