// Command bench measures qsniff beside tcpdump and tshark and writes
// BENCHMARKS.md. Commands that are compared run in turns (A B C, A B C, ...), so
// that a machine whose speed drifts slows all of them, and a ratio is taken
// within each round. A tool that is not installed is skipped, with its rows.
//
// It does not measure live captures. Of the stages inside qsniff it runs the benchmarks
// of package pipeline alone, on one core and without files.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

func main() {
	err := run(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	packets int
	rounds  int
	quick   bool
	qsniff  string
	cache   string
	out     string
}

// quickPackets are enough to see that everything works, and too few to quote.
const quickPackets = 100_000

func parseOptions(args []string, log io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(log)
	flags.IntVar(&o.packets, "n", 1_000_000, "packets in a capture")
	flags.IntVar(&o.rounds, "rounds", 5, "rounds that count, after one that does not")
	flags.BoolVar(&o.quick, "quick", false, "one round over 100,000 packets, to see that it works")
	flags.StringVar(&o.qsniff, "qsniff", "./qsniff", "the program to measure")
	flags.StringVar(&o.cache, "cache", "", "folder for the captures (default: qsniff-bench in the user's cache folder)")
	flags.StringVar(&o.out, "o", "BENCHMARKS.md", "file to write")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.quick {
		o.packets, o.rounds = quickPackets, 1
	}
	if flags.NArg() > 0 || o.packets < headPart || o.rounds < 1 {
		return o, errors.New("bench: wrong arguments; -h lists them")
	}
	if o.cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return o, err
		}
		o.cache = filepath.Join(dir, "qsniff-bench")
	}
	return o, nil
}

func run(args []string, log io.Writer) error {
	o, err := parseOptions(args, log)
	if err != nil {
		return err
	}
	here := describeMachine()
	captures, err := prepare(o, log)
	if err != nil {
		return err
	}
	if err := writePlugin(o.qsniff, captures); err != nil {
		return err
	}
	p := newPlan(o.qsniff, captures)
	missing := p.dropTools(func(tool string) bool {
		_, err := exec.LookPath(tool)
		return err == nil
	})
	for _, tool := range missing {
		fmt.Fprintf(log, "left out: %s is not installed\n", tool)
	}
	resetPeak()
	for i := range p.groups {
		if err := p.groups[i].measure(o.rounds, log); err != nil {
			return err
		}
	}
	fmt.Fprintln(log, "allocations")
	stages, err := measureStages(o.quick)
	if err != nil {
		return err
	}
	r := result{options: o, date: time.Now(), machine: here, plan: p, missing: missing, stages: stages, floor: measureFloor()}
	return os.WriteFile(o.out, r.appendReport(nil), 0o644)
}
