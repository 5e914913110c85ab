package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qsniff/internal/base/cli"
	"qsniff/internal/base/hostset"
	"qsniff/internal/base/shell"
	"qsniff/internal/render"
	"qsniff/internal/render/tally"
)

// reportOptions are the flags of report. Those that read has, too, are in readOptions.
type reportOptions struct {
	readOptions
	interval   time.Duration
	maxSize    cli.ByteSize
	force      bool
	anonymize  anonymizeOptions
	command    string    // how it was called, as the report says
	captured   tally.Run // with --anonymize: the run over what was captured
	ownServers *hostset.Set
}

func newReport(io streams) *cobra.Command {
	opts := &reportOptions{readOptions: *readDefaults(), maxSize: reportSize}
	cmd := &cobra.Command{
		Use:     "report [flags] FILE...",
		GroupID: groupTraffic,
		Short:   "make one page of captures",
		Long:    reportHelp,
		Example: `  qsniff report evening.pcap -o evening.html   a page to look at, and to send
  qsniff report --anonymize evening.pcap -o public.html
  qsniff report -o json capture.pcap | jq .incidents
  qsniff report -o json -Y 'server.port == 27015' evening.pcap > report.json`,
		Args: requireCapture,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.command = opts.invocation(cmd, args)
			return makeReport(cmd.Context(), opts, args, io)
		},
	}
	cmd.ValidArgsFunction = completeCaptures
	opts.register(cmd)
	addHabits(cmd, &opts.readOptions)
	return cmd
}

// reportHelp is the long description in the help of qsniff report.
const reportHelp = `report reads captures once and puts together what the other commands find out: verdict and
incidents (floods), servers, clients and rates over time (stats), what is wrong (findings)
and exchanges with every byte (follow --layout). -o names a file: a page that opens in any
browser, from disk, and loads and sends nothing. -o - writes it to standard output. With
-o json, or into a file that ends in .json, it is one object, made of the objects that these
commands print with -o json.

Everything has a limit, and what there was no room for is counted. Exchanges fill up
--max-size, as far as --memory keeps them: those with findings and those in incidents first,
then others, evenly over time.
Of those that begin after packet 8,192 a sample is considered, half of each doubling of packets
of what was before, and of the others messages with a warning or an error only: such an exchange
has "omitted_messages", and the report "sampled_after". qsniff follow --exchange N prints any as a whole.

Passwords and log secrets are always redacted. With --anonymize the packets are replaced
before they are read, as qsniff anonymize does: packets that are no part of a message are left
out, and counted, so that floods of them do not show. -Y and --servers choose from what
was captured, and captures have no names.

` + filterHelp + ` Incidents are found in all packets.

A file that is there is overwritten with --force only. FILE is as in qsniff read.`

func (o *reportOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&o.output, "output", "o", "", "write the page to `FILE`; - is standard output, json one object there")
	f.BoolVar(&o.force, "force", false, "overwrite a file that is there")
	f.Var(&o.maxSize, "max-size", "leave out exchanges, so that the report has at most `SIZE`")
	f.DurationVar(&o.interval, "interval", 0, "length of the steps of charts, as `1s` (0: so that there are up to 240)")
	f.BoolVar(&o.anonymize.isOn, "anonymize", false, "replace addresses, names and texts; qsniff anonymize --help has more")
	o.anonymize.register(cmd, "with --anonymize: ")
	o.registerServers(cmd, "report these servers only")
	o.registerOwn(cmd)
	o.registerFilter(cmd)
	o.registerInput(cmd)
	propose(cmd, "interval", cobra.NoFileCompletions)
}

// check returns an error for values that are out of range or missing, and parses those that
// are texts.
func (o *reportOptions) check(out io.Writer) error {
	const least = time.Millisecond
	switch {
	case o.output == "":
		return &usageError{errors.New("report: no output given"), "name the page: -o report.html; -o json prints an object"}
	case o.output == stdin && isTerminal(out):
		return &usageError{errors.New("-o -: standard output is a terminal"), "name the page: -o report.html"}
	case !o.anonymize.isOn && o.anonymize != anonymizeOptions{}:
		return &usageError{errors.New("--key and --shift go with --anonymize"), "add --anonymize"}
	case o.interval != 0 && o.interval < least:
		return &usageError{fmt.Errorf("--interval %v: at least %v", o.interval, least), "write a length of time, as 500ms, 1s or 5m"}
	}
	var err error
	if o.ownServers, err = o.parseServers(); err != nil {
		return err
	}
	if err = o.parseOwn(); err != nil {
		return err
	}
	if o.anonymize.isOn {
		o.ownTools = o.ownTools.Map(o.anonymize.anonymizer().Networks)
		o.ownServers = o.ownServers.Map(o.anonymize.anonymizer().Networks)
	}
	return o.readOptions.check()
}

// invocation returns the command line, without the folders of captures.
func (o *reportOptions) invocation(cmd *cobra.Command, args []string) string {
	words := []string{"qsniff", cmd.Name()}
	if o.anonymize.isOn { // what was asked for may name somebody
		return shell.Quote(append(words, "--anonymize")...)
	}
	words = append(words, o.flagWords(cmd, func(f *pflag.Flag) bool {
		return !f.Hidden && !slices.Contains([]string{"output", "force", "jobs"}, f.Name)
	})...)
	for _, name := range args {
		words = append(words, filepath.Base(name))
	}
	return shell.Quote(words...)
}

// makeReport reads captures and writes their report.
func makeReport(ctx context.Context, opts *reportOptions, args []string, s streams) error {
	if err := opts.check(s.out); err != nil {
		return err
	}
	out, err := opts.create(args, s)
	if err != nil {
		return err
	}
	if err = opts.writeReport(ctx, args, out, s); out.file != nil {
		err = cmp.Or(err, out.close())
	}
	return err
}

// writeReport reads captures and writes their report to out.
func (o *reportOptions) writeReport(ctx context.Context, args []string, out *reportFile, s streams) error {
	prepare := o.prepareAll
	if o.anonymize.isOn {
		prepare = o.prepareAnonymized
	}
	j, err := prepare(ctx, args, s)
	if err != nil {
		return err
	}
	defer j.release()
	if f := j.cfg.Filter; f != nil && f.Program.NeedsAnswers() && f.Outcomes == nil {
		return &usageError{errors.New("-Y: what became of exchanges of a stream is not known when its messages are counted"), "write the stream to a file first: files are read twice"}
	}
	c := newReportCollector(o, j)
	return j.runToEnd(func(run tally.Run) error {
		r, err := c.report(run, args)
		if err != nil {
			return err
		}
		if err := out.write(r); err != nil {
			return err
		}
		printRemarks(s.err, &run)
		out.printWritten(s.err, &r.Left)
		return nil
	})
}

// listFiles returns the captures that args name, as the report lists them.
func (o *reportOptions) listFiles(args []string, run *tally.Run) []render.ReportFile {
	names, _, err := o.listInputs(args)
	if err != nil { // it was read
		names = args
	}
	var all []render.ReportFile
	for i, name := range names {
		if o.anonymize.isOn {
			all = append(all, render.ReportFile{Name: fmt.Sprintf("capture %d", i+1), Bytes: -1})
			continue
		}
		f := render.ReportFile{Name: filepath.Base(name), Bytes: -1}
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			f.Bytes = info.Size()
		} else if len(names) == 1 {
			f.Bytes = run.Read
		}
		all = append(all, f)
	}
	return all
}
