// Command testlog runs go test with its arguments and prints what a person waits for: a
// line for each package when it ends, what failed in full, a sign of life where nothing
// ends for a while, and at the end which tests were skipped and why. Its exit status is
// that of go test. The package is not part of the program.
//
//	testlog [-long] [-times] [ARG...]
//
// -long runs the tests that do less with -short, in all packages below this folder, and no others. -times prints how
// long the tests of each package took, and does without results of earlier runs.
//
// gotestsum would print packages and failures as well. It has no line while nothing ends, lists skipped tests by package
// instead of by reason, of which .ci/run prints the rest, and cannot do what the two flags do.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"time"
)

// silence is how long nothing is printed before a sign of life.
const silence = 5 * time.Second

func main() {
	if len(os.Args) > 3 && os.Args[1] == "-measure" { // started by go test, see measureWith
		status, err := measure(os.Args[2], os.Args[3:])
		if err != nil {
			fmt.Fprintln(os.Stderr, "testlog:", err)
		}
		os.Exit(status)
	}
	status, err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testlog:", err)
	}
	os.Exit(status)
}

// run runs go test and returns its exit status.
func run(args []string, out io.Writer) (status int, err error) {
	if len(args) > 0 && args[0] == "-long" {
		if args, err = addLong(args[1:], "."); err != nil {
			return 1, err
		}
	}
	if len(args) > 0 && args[0] == "-times" {
		return runMeasured(args[1:], out)
	}
	return runTests(args, out)
}

// runMeasured is runTests, and prints how long each package took.
func runMeasured(args []string, out io.Writer) (status int, err error) {
	dir, err := os.MkdirTemp("", "testlog-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	flag, err := measureWith(dir)
	if err != nil {
		return 1, err
	}
	if status, err = runTests(append([]string{flag, "-count=1"}, args...), out); err != nil {
		return status, err
	}
	table, err := formatTimes(dir)
	if err != nil {
		return 1, err
	}
	fmt.Fprint(out, table)
	return status, nil
}

func runTests(args []string, out io.Writer) (status int, err error) {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // go test gets it as well, and ends
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	l := newLog(out)
	if slices.Contains(args, "-short") {
		if l.long, err = longNames("."); err != nil {
			return 1, err
		}
	}
	follow(l, readLines(in))
	err = cmd.Wait()
	l.printSummary()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err
}

// readLines sends the lines of in, and closes the channel at its end.
func readLines(in io.Reader) <-chan []byte {
	all := make(chan []byte)
	go func() {
		defer close(all)
		r := bufio.NewReader(in)
		for {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 {
				all <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return all
}

// follow passes events to l until there are no more, and calls printWaiting when nothing
// was printed for as long as silence.
func follow(l *log, events <-chan []byte) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case line, more := <-events:
			if !more {
				return
			}
			l.addEvent(line)
		case now := <-tick.C:
			if now.Sub(l.printed) >= silence {
				l.printWaiting()
			}
		}
	}
}
