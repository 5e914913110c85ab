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
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"qsniff/capture/file"
	"qsniff/capture/live"
	"qsniff/internal/app/cli"
	"qsniff/internal/base/mem"
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

// usageError is a mistake in the command line.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// placedError is a mistake with its place: lines of what was written, with a mark.
type placedError struct {
	usageError
	lines []string
}

// errFailOnReached ends a run that found what --fail-on names. No message is
// printed for it: the output has it.
var errFailOnReached = errors.New("--fail-on reached")

// statusError is the exit status of another process of this program, which has printed why.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// hintedError is a failure with a hint on what to do.
type hintedError struct {
	err  error
	hint string
}

func (e *hintedError) Error() string { return e.err.Error() }
func (e *hintedError) Unwrap() error { return e.err }

// streams are a command's standard output and standard error. Each Write to err is one
// line: see errLines.
type streams struct {
	out, err io.Writer
}

func main() { os.Exit(runProgram()) }

// heapGrowth is by how many percent the heap may grow before the garbage collector runs.
// With Go's own 100, garbage would take as much memory as the tables, which are most of
// the heap. A run allocates tables in its first moments and next to nothing afterwards, so
// that there are 7 to 16 collections over a million mixed packets. Twice as much is 5 to 9
// of them, takes 4 MiB more, and no measurable time less. A memory limit of the size of the tables, in
// place of this, caused 46 to 800 collections over a million mixed packets, and took up to
// half of the CPU time; a percentage fits any --memory, and whatever else is on the heap.
const heapGrowth = 10

// tightGrowth is heapGrowth of a command that has the tables of several, or keeps packets
// beside them. Chosen: its heap is larger, and has few collections: 30 to 40 over a million
// mixed packets.
const tightGrowth = 5

// isTight is set by a command that has tightGrowth, before its tables are made.
var isTight atomic.Bool

// firstCollection is how many bytes of memory a run takes before the collector runs for the
// first time: the tables of the usual size, and what a small capture needs besides. While
// the tables are made the heap grows from nothing, and would be collected ten times
// without any garbage, which was half of the time of a run over a small capture. With 40 MiB
// there were six collections over 100,000 mixed packets as JSON, of 2 ms each, and none but the
// last found any: with 50 there are four or five, and the peak of a million packets is the same.
// With 60 read -w took 14 MiB more.
const firstCollection = 50 << 20

// delayCollector turns the collector off until the heap has firstCollection bytes. The
// first collection frees a value whose cleanup sets heapGrowth.
func delayCollector() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(firstCollection)
	first := new([1]*byte) // garbage from the beginning
	runtime.AddCleanup(first, func(percent int) {
		if isTight.Load() {
			percent = tightGrowth
		}
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(math.MaxInt64)
	}, heapGrowth)
}

// returnProgram returns what is resident of the program after so many collections, and again after twice
// as many, and so on: what has run once, as commands, flags and tables were made, is 2 to 4 MiB of it. Each
// time takes half a millisecond.
func returnProgram(collections int) {
	left := collections
	var wait func(int)
	wait = func(int) {
		if left--; left < 0 {
			mem.ReturnProgram()
			collections *= 2
			left = collections
		}
		runtime.AddCleanup(new([1]*byte), wait, 0)
	}
	wait(0)
}

// runProgram executes the command line, until a signal ends it.
func runProgram() int {
	delayCollector()
	mem.ReturnProgram()
	returnProgram(1)
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
	io.err = errLines{io.err}
	if isExtcap(args) {
		args = append([]string{"extcap"}, args...)
	}
	cmd := newRoot(io)
	if isCompletion(args) {
		registerCompletions(cmd)
	}
	cmd.SetArgs(args)
	return reportError(io.err, cmd.ExecuteContext(ctx))
}

// reportError prints err as one line, with a hint if there is one, and returns the exit
// status.
func reportError(w io.Writer, err error) int {
	var usage *usageError
	var placed *placedError
	var hinted *hintedError
	var shared *cli.Error
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
	case errors.As(err, &placed):
		printError(w, err, placed.hint, placed.lines...)
		return exitUsage
	case errors.As(err, &usage):
		printError(w, err, usage.hint)
		return exitUsage
	case errors.As(err, &hinted):
		printError(w, err, hinted.hint)
	case errors.As(err, &shared):
		printError(w, err, shared.Hint)
		if shared.IsUsage {
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
