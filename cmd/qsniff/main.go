// Command qsniff decodes game-server query traffic from captures and from
// interfaces. This folder holds flags, wiring and exit statuses, and no logic.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"qsniff/capture/file"
	"qsniff/capture/live"
	"qsniff/internal/sandbox"
)

// The exit statuses.
const (
	exitOK          = 0
	exitFailed      = 1 // file, permission, damaged capture
	exitUsage       = 2
	exitReached     = 3 // --fail-on
	exitInterrupted = 130
)

// patience is how long an interrupted run may take to write what it has.
const patience = 2 * time.Second

// oneSignal is how long further signals are taken for the first: timeout, and a terminal
// that closes, send several.
const oneSignal = 250 * time.Millisecond

// usageError is a mistake in the command line.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// errReached says that a run found what --fail-on names. The output tells what.
var errReached = errors.New("--fail-on reached")

// hintedError is a failure whose way out is known.
type hintedError struct {
	err  error
	hint string
}

func (e *hintedError) Error() string { return e.err.Error() }
func (e *hintedError) Unwrap() error { return e.err }

// streams are what a command talks to. Of err, each Write is one line: see errLines.
type streams struct {
	out, err io.Writer
}

func main() { os.Exit(runProgram()) }

// heapGrowth is by how many percent the heap may grow before the collector runs. Go's own
// 100 would let garbage take as much memory as the tables, which are most of the heap. A
// run allocates them in its first moments and next to nothing afterwards, so that 10 to 20
// collections are all. With a limit of the size of the tables there were 46 to 800 over a
// million mixed packets, for up to half of the CPU time. What is relative goes with every
// --memory, and needs no figure for what is no table.
const heapGrowth = 20

// firstCollection is how much memory a run takes before the collector runs for the first
// time, in bytes: the tables of the usual size, and what a small capture needs besides.
// While the tables are made the heap grows from nothing, and would be collected ten times
// for no garbage: half of the time that a small capture took.
const firstCollection = 40 << 20

// delayCollector sets the collector.
func delayCollector() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(firstCollection)
	first := new([1]*byte) // collected at once
	runtime.AddCleanup(first, func(percent int) {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(math.MaxInt64)
	}, heapGrowth)
}

// runProgram runs what the command line says until a signal comes.
func runProgram() int {
	delayCollector()
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, func() {
		time.Sleep(oneSignal)
		stop() // a second signal ends the program at once
		time.Sleep(patience - oneSignal)
		os.Exit(exitInterrupted) // whoever reads our output does not
	})
	return run(ctx, os.Args[1:], streams{os.Stdout, os.Stderr})
}

// run executes one command line and returns the exit status.
func run(ctx context.Context, args []string, io streams) int {
	io.err = errLines{io.err}
	cmd := newRoot(io)
	cmd.SetArgs(args)
	return reportError(io.err, cmd.ExecuteContext(ctx))
}

// reportError prints err as one line, and a hint if there is one.
func reportError(w io.Writer, err error) int {
	var usage *usageError
	var hinted *hintedError
	var damage *file.Error
	var wire *live.Error
	var shut *sandbox.Error
	var several interface{ Unwrap() []error }
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, errReached):
		return exitReached
	case errors.As(err, &usage):
		printError(w, err, usage.hint)
		return exitUsage
	case errors.As(err, &hinted):
		printError(w, err, hinted.hint)
	case errors.As(err, &wire):
		printError(w, err, wire.Hint)
	case errors.As(err, &shut):
		printError(w, err, cmp.Or(shut.Hint, "--no-sandbox does without"))
	case errors.As(err, &several):
		for _, err := range several.Unwrap() {
			reportError(w, err)
		}
	case errors.As(err, &damage):
		hint := damage.Hint
		if hint == "" && errors.Is(err, fs.ErrNotExist) {
			hint = "qsniff takes a capture file or a command; qsniff --help lists the commands"
		}
		printError(w, err, hint)
	default:
		printError(w, err, "")
	}
	return exitFailed
}

func printError(w io.Writer, err error, hint string) {
	fmt.Fprintf(w, "qsniff: %v\n", err)
	if hint != "" {
		fmt.Fprintf(w, "  hint: %s\n", hint)
	}
}
