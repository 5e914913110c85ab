// Command bench measures qsniff beside tcpdump, tshark, jq and a decoder written on
// gopacket, and writes BENCHMARKS.md. Commands that are compared run in turns (A B C, A B
// C, ...), so that a machine whose speed drifts slows all of them, and a ratio is taken
// within each round. A tool that is not installed is skipped, with its rows.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"
)

// As "bench a2s FILE" this program is the decoder on gopacket.
const (
	dumpCommand = "a2s"
	dumpTool    = "gopacket"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == dumpCommand {
		err := dumpFile(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
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
	group   string
	before  string
	qsniff  string
	cache   string
	out     string
}

// quickPackets are enough to see that everything works, and too few to quote.
const quickPackets = 5000

func parseOptions(args []string, log io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(log)
	flags.IntVar(&o.packets, "n", 1_000_000, "packets in a capture")
	flags.IntVar(&o.rounds, "rounds", 5, "rounds that count, after one that does not (of 1, the only one counts)")
	flags.BoolVar(&o.quick, "quick", false, "one round over 5,000 packets, to see that it works")
	flags.StringVar(&o.group, "group", "", "measure one group of rows, and print it")
	flags.StringVar(&o.before, "before", "", "folder of another version, whose stages are measured, too")
	flags.StringVar(&o.qsniff, "qsniff", "./qsniff", "the program to measure")
	flags.StringVar(&o.cache, "cache", "", "folder for the captures (default: qsniff-bench in the user's cache folder)")
	flags.StringVar(&o.out, "o", "", "file to write (default: BENCHMARKS.md; of a group, standard output)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.quick {
		o.packets, o.rounds = quickPackets, 1
	}
	if flags.NArg() > 0 || o.packets < headPart || o.rounds < 1 {
		return o, errors.New("bench: wrong arguments; -h lists them")
	}
	if o.out == "" && o.group == "" {
		o.out = "BENCHMARKS.md"
	}
	if o.cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return o, err
		}
		o.cache = filepath.Join(dir, "qsniff-bench")
	}
	var err error
	o.cache, err = filepath.Abs(o.cache) // a test reads captures, from a folder of its own
	return o, err
}

// stagesGroup is the name of what has no commands: the benchmarks of stages.
const stagesGroup = "stages"

func run(args []string, log io.Writer) error {
	o, err := parseOptions(args, log)
	if err != nil {
		return err
	}
	r := result{options: o, date: time.Now(), machine: describeMachine()}
	if o.group != stagesGroup {
		if err := r.measure(log); err != nil {
			return err
		}
	}
	if o.group == "" || o.group == stagesGroup {
		if err := r.measureStages(log); err != nil {
			return err
		}
	}
	text := r.appendGroup(nil)
	if o.group == "" {
		text = r.appendReport(nil)
	}
	if o.out == "" {
		_, err := os.Stdout.Write(text)
		return err
	}
	return os.WriteFile(o.out, text, 0o644)
}

// measure makes the captures and measures the groups of the plan.
func (r *result) measure(log io.Writer) error {
	all, err := prepare(r.options, log)
	if err != nil {
		return err
	}
	own, err := os.Executable()
	if err != nil {
		return err
	}
	program, err := installCopy(r.qsniff, r.cache)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(program))
	r.plan = newPlan(&commands{qsniff: program, own: own, all: all})
	if r.group != "" && !r.plan.keep(r.group) {
		return fmt.Errorf("bench: there is no group %s", r.group)
	}
	for _, tool := range r.plan.dropTools(isInstalled) {
		r.missing = append(r.missing, "Rows with "+tool+" are left out: it is not installed.")
	}
	r.missing = append(r.missing, r.plan.dropBlocked()...)
	for _, line := range r.missing {
		fmt.Fprintln(log, line)
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	defer signal.Stop(interrupted)
	for _, g := range r.plan.groups {
		if err := g.measure(r.rounds, interrupted, log); err != nil {
			return err
		}
	}
	r.floor = measureFloor()
	r.took = time.Since(r.date)
	return nil
}

// measureStages measures the stages, in turns with another version's if one is given.
func (r *result) measureStages(log io.Writer) error {
	r.stages, r.stagesBefore = map[string]figure{}, map[string]figure{}
	for n := range stageRuns {
		fmt.Fprintf(log, "stages: run %d of %d\n", n+1, stageRuns)
		if r.before != "" {
			if err := measureStages(r.stagesBefore, r.before, r.quick); err != nil {
				return err
			}
		}
		if err := measureStages(r.stages, ".", r.quick); err != nil {
			return err
		}
	}
	r.took = time.Since(r.date)
	return nil
}

func isInstalled(tool string) bool {
	_, err := exec.LookPath(tool)
	return err == nil
}
