package main

import (
	"context"
	"errors"
	"fmt"
	goio "io"
	"slices"

	"github.com/spf13/cobra"

	"qsniff/capture/file"
	"qsniff/dissect/finding"
	"qsniff/internal/app/cli"
	"qsniff/internal/app/remark"
	"qsniff/internal/render"
	"qsniff/internal/render/ci"
	"qsniff/internal/render/counters"
	"qsniff/internal/render/csv"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
	"qsniff/internal/track/stats"
)

// findingsOptions are the flags of findings. Those that read has, too, are in readOptions.
type findingsOptions struct {
	readOptions
	severity string
}

// severities are the values of --severity and --fail-on, in the order of finding.Severity.
var severities = []string{"chat", "note", "warn", "error"}

func newFindings() *analysis {
	o := &findingsOptions{readOptions: *readDefaults(), severity: severities[0]}
	a := &analysis{
		use:   "findings [flags] FILE... | -i IFACE",
		short: "list what is wrong with the traffic",
		long: `findings lists what is wrong or notable in captures, the worst first: Wireshark's
expert info for query traffic. A finding that repeats between the same server and
client is one row with a count. The page is by server and by who causes it: the client,
the server, the path between, a middlebox, or the capture. qsniff explain ID says what
one means and what to do about it.

Severities are error (the protocol is broken, or harm is being done), warn (will hurt
somebody), note (explains a surprise) and chat (a normal event worth a mark).

With -o json a finding is a line: id, severity, fault, time and last (of the first and
of the last one), frames (the first few), server, client, text (of the first one) and
count. A client without a port had several. Memory does not grow with the capture:
what has no room is counted by kind, in lines with evicted_pairs.

` + filterHelp + `

-o sarif (SARIF 2.1.0) and -o github (workflow commands) are for the captures of a test
suite: each capture is read on its own, and a finding is at its file, with the number
of its first frame as the line. docs/ci.md has what to put into workflows.

--fail-on is for scripts: findings that --severity hides count, too.

Ctrl-C prints what was found so far; the first line then says how far the run came
("interrupted" in JSON).

` + captureHelp + `

FILE is as in qsniff read.

Exit status: 0 fine, 1 the run failed, 2 wrong usage, 3 --fail-on was reached, 130
interrupted.`,
		example: `  qsniff findings capture.pcap
  qsniff findings --severity warn --servers 198.18.0.0/15 capture.pcap
  qsniff findings --fail-on error capture.pcap > findings.txt; test $? -ne 3 || echo broken
  qsniff findings -i eth0                              as it happens, until Ctrl-C
  qsniff findings -o sarif --severity warn capture.pcap > qsniff.sarif
  qsniff findings -o json capture.pcap | jq -r '[.id, .server, .text] | @tsv'`,
		opts: &o.readOptions,
		flags: func(cmd *cobra.Command) {
			o.registerOutput(cmd, "text: for people; json: a finding a line; csv: a table; sarif: a log for code hosts; github: annotations of a workflow", "text", "json", "csv", formSARIF, formGitHub)
			cmd.Flags().Var(cli.OneOf(&o.severity, severities...), "severity", "list findings of this severity or above")
			cmd.Flags().Var(cli.OneOf(&o.failOn, severities[1:]...), "fail-on", "exit with status 3 if there is a finding of this severity or above")
			o.registerTop(cmd, 10, "text: list `N` servers")
			o.registerPage(cmd)
			o.registerServers(cmd, "list findings about these servers only")
			o.registerFilter(cmd)
			o.registerCapture(cmd, captureInstead)
			o.registerInput(cmd)
		},
		start: func(j *job) error {
			o.collect(j, func(f *render.Findings) error {
				if o.output == "csv" {
					return write(j.io.out, csv.AppendFindings(nil, f))
				}
				return printForm(&o.readOptions, j.io, f, "", jsonl.AppendFindings, text.AppendFindings)
			})
			return nil
		},
	}
	a.run = func(ctx context.Context, args []string, io streams) error {
		switch {
		case o.output != formSARIF && o.output != formGitHub:
			return a.read(ctx, args, io)
		case o.isLive():
			return cli.Usage(fmt.Errorf("-o %s does not go with -i", o.output), "it is for captures of a test suite; -o json prints a finding a line")
		}
		return annotateFindings(ctx, o, args, io)
	}
	return a
}

func severityNamed(name string) finding.Severity {
	return finding.Severity(slices.Index(severities, name))
}

// collect has the findings of a run printed after it.
func (o *findingsOptions) collect(j *job, print func(*render.Findings) error) {
	f := &render.Findings{Least: severityNamed(o.severity), Top: o.top}
	c := stats.NewFindingCollector(stats.FindingOptions{Ours: o.ours, Least: f.Least, Scale: o.scale()})
	j.cfg.Listener = c
	j.print = func(run tally.Run) error {
		f.Run, f.FindingSummary = run, *c.Summary()
		if err := print(f); err != nil {
			return err
		}
		j.printRemarks(&run)
		remark.PrintHints(j.io.err, &counters.Result{Found: f.FindingSummary}, counters.Findings)
		return nil
	}
	j.after = func() error { return o.checkFailOn(f.Counts[:], severities) }
}

// The forms of findings for continuous integration.
const (
	formSARIF  = "sarif"
	formGitHub = "github"
)

// annotateFindings reads captures, each on its own, so that frames are those of its file, and prints their findings
// for those who look at a test suite. A capture that cannot be read ends nothing: the others are read first.
func annotateFindings(ctx context.Context, opts *findingsOptions, args []string, io streams) error {
	if opts.follow || slices.Contains(args, stdin) {
		return cli.Usage(errors.New("-o "+opts.output+" wants captures that are files"), "-o json goes with --follow and standard input")
	}
	names, err := file.Expand(args)
	if err != nil {
		return err
	}
	var captures []ci.Capture
	var failures []error
	isReached := false
	quiet := streams{io.out, goio.Discard} // no remarks on what is missing from the output of each of many captures
	for _, name := range names {
		err := opts.annotate(ctx, name, quiet, func(f *render.Findings) error {
			c := ci.Capture{Name: name, Findings: f}
			if opts.output == formGitHub {
				return write(io.out, ci.AppendCommands(nil, &c))
			}
			captures = append(captures, c)
			return nil
		})
		var wrong *cli.Error
		if errors.As(err, &wrong) && wrong.IsUsage || isInterrupted(ctx) {
			return err
		}
		if errors.Is(err, errFailOnReached) {
			isReached = true
		} else if err != nil {
			failures = append(failures, err)
		}
	}
	if opts.output == formSARIF {
		b := readBuild()
		out, err := ci.AppendSARIF(nil, b.Short(), captures)
		if err != nil {
			return err
		}
		if err := write(io.out, out); err != nil {
			return err
		}
	}
	for _, err := range failures[:max(0, len(failures)-1)] {
		reportError(io.err, err)
	}
	switch {
	case len(failures) > 0:
		return failures[len(failures)-1]
	case isReached:
		return errFailOnReached
	}
	return nil
}

// annotate reads one capture and has the findings in it printed.
func (o *findingsOptions) annotate(ctx context.Context, name string, io streams, print func(*render.Findings) error) error {
	j, err := o.openJob(ctx, []string{name}, io)
	if err != nil {
		return err
	}
	defer j.release()
	o.collect(j, print)
	return j.runToEnd()
}
