package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qsniff/capture/file"
	"qsniff/internal/app/cli"
	"qsniff/internal/app/remark"
	"qsniff/internal/app/report"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
	"qsniff/internal/render/tally"
)

// reportOptions are the flags of report. Those that read has, too, are in readOptions.
type reportOptions struct {
	readOptions
	interval  time.Duration
	maxSize   cli.ByteSize
	force     bool
	anonymize anonymizeOptions
	command   string    // how it was called, as the report says
	captured  tally.Run // with --anonymize: the run over what was captured
}

func newReport() *analysis {
	o := &reportOptions{readOptions: *readDefaults(), maxSize: reportSize}
	return &analysis{
		use:   "report [flags] FILE...",
		short: "make one page of captures",
		long:  reportHelp,
		example: `  qsniff report evening.pcap -o evening.html   a page to look at, and to send
  qsniff report --anonymize evening.pcap -o public.html
  qsniff report -o json capture.pcap | jq .incidents
  qsniff report -o json -Y 'server.port == 27015' evening.pcap > report.json`,
		opts:  &o.readOptions,
		args:  requireCapture,
		flags: o.register,
		check: func(cmd *cobra.Command, args []string, io streams) error {
			o.command = o.invocation(cmd, args)
			o.output = cmp.Or(o.output, pageName(args))
			return o.check(io.out)
		},
		run: func(ctx context.Context, args []string, io streams) error { return makeReport(ctx, o, args, io) },
	}
}

// reportHelp is the long description in the help of qsniff report.
const reportHelp = `report reads captures once and puts together what the other commands find out: verdict and
incidents (floods), servers, clients and rates over time (stats), what is wrong (findings)
and exchanges with every byte (follow --layout). -o names a file: a page that opens in any
browser, from disk, and loads and sends nothing; without -o it has the name of the first
capture, with .html, in the current folder. -o - writes it to standard output. With
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
	f.StringVarP(&o.output, "output", "o", "", "write the page to `FILE`; - is standard output, json one object there (the name of the capture, with .html)")
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

// otherForms are names that promise what a report is not.
var otherForms = []string{".pdf", ".txt", ".csv", ".md", ".png", ".svg", ".docx", ".xlsx"}

// pageName returns the name of the page of captures where none is given: that of the first of them, in the
// current folder.
func pageName(args []string) string {
	if len(args) == 0 || args[0] == stdin {
		return "report.html"
	}
	name := filepath.Base(args[0])
	for slices.Contains([]string{".gz", ".zst", ".pcap", ".pcapng", ".cap"}, filepath.Ext(name)) {
		name = strings.TrimSuffix(name, filepath.Ext(name))
	}
	return name + ".html"
}

// check returns an error for values that are out of range or missing, and parses those that
// are texts.
func (o *reportOptions) check(out io.Writer) error {
	switch {
	case slices.Contains(otherForms, strings.ToLower(filepath.Ext(o.output))):
		return cli.Usage(fmt.Errorf("-o %s: a report is a page or an object", o.output), "name it .html or .json; a browser prints a page as PDF")
	case o.output == stdin && isTerminal(out):
		return cli.Usage(errors.New("-o -: standard output is a terminal"), "name the page: -o report.html")
	case !o.anonymize.isOn && o.anonymize != anonymizeOptions{}:
		return cli.Usage(errors.New("--key and --shift go with --anonymize"), "add --anonymize")
	}
	if err := checkInterval(o.interval); err != nil {
		return err
	}
	return cmp.Or(o.parseServers(), o.parseOwn(), o.readOptions.check())
}

// invocation returns the command line, without the folders of captures.
func (o *reportOptions) invocation(cmd *cobra.Command, args []string) string {
	words := []string{"qsniff", cmd.Name()}
	if o.anonymize.isOn { // what was asked for may name somebody
		return cli.Quote(append(words, "--anonymize")...)
	}
	words = append(words, o.flagWords(cmd, func(f *pflag.Flag) bool {
		return !f.Hidden && !slices.Contains([]string{"output", "force", "jobs"}, f.Name)
	})...)
	for _, name := range args {
		words = append(words, filepath.Base(name))
	}
	return cli.Quote(words...)
}

// makeReport reads captures and writes their report.
func makeReport(ctx context.Context, opts *reportOptions, args []string, s streams) error {
	out, err := opts.create(args, s)
	if err != nil {
		return err
	}
	return cmp.Or(opts.writeReport(ctx, args, out, s), out.Close())
}

// writeReport reads captures and writes their report to out.
func (o *reportOptions) writeReport(ctx context.Context, args []string, out *report.File, s streams) error {
	open := o.openJob
	if o.anonymize.isOn {
		open = o.prepareAnonymized
	}
	j, err := open(ctx, args, s)
	if err != nil {
		return err
	}
	defer j.release()
	if j.choosesLate() {
		return cli.Usage(errors.New("-Y: what became of exchanges of a stream is not known when its messages are counted"), "write the stream to a file first: files are read twice")
	}
	c := report.New(report.Options{Ours: o.ours, Interval: o.interval, Scale: o.scale(), Memory: int64(o.memory),
		Detector: o.newDetector(j.cfg.Registry, flood.Defaults(), advice.DefaultExpiry)})
	c.Watch(&j.cfg)
	j.print = func(run tally.Run) error {
		build := readBuild()
		r := &render.Report{Version: build.Short(), Command: o.command, Files: o.listFiles(args, &run), MaxSize: int(min(o.maxSize, math.MaxInt)),
			IsAnonymized: o.anonymize.isOn}
		if o.anonymize.isOn {
			r.Left.Packets = o.captured.Packets - run.Packets
		}
		c.Fill(r, run)
		if err := report.Explain(r, listFindings()); err != nil {
			return err
		}
		if err := out.WriteReport(r); err != nil {
			return err
		}
		remark.Print(s.err, &run)
		out.PrintWritten(s.err, &r.Left)
		return nil
	}
	return j.runToEnd()
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

// create creates the file that -o names, which is none of the captures.
func (o *reportOptions) create(args []string, s streams) (*report.File, error) {
	if o.output == "json" || o.output == stdin {
		return report.NewFile(s.out, o.output == "json"), nil
	}
	inputs, _, err := o.listInputs(args)
	if err != nil {
		return nil, err
	}
	if isSameFile(o.output, inputs) {
		return nil, cli.Usage(fmt.Errorf("-o %s: that is the capture which is read", o.output), "choose another name")
	}
	return report.CreateFile(o.output, o.force)
}

// prepareAnonymized is openJob over packets that another run anonymises at the same time.
// That one chooses messages.
func (o *reportOptions) prepareAnonymized(ctx context.Context, args []string, s streams) (*job, error) {
	o.ownTools = o.ownTools.Map(o.anonymize.anonymizer().Networks)
	o.ours = o.ours.Map(o.anonymize.anonymizer().Networks)
	in, out := io.Pipe()
	first := o.readOptions // after anonymizer has drawn the key
	first.output, first.write = "none", writeOptions{path: stdin, anonymize: o.anonymize}
	first.servers, first.memory, first.result = "", first.memory/2, &o.captured
	first.reg, first.ours = nil, nil // the two run at the same time
	done := make(chan error, 1)
	go func() {
		err := readCaptures(ctx, &first, args, streams{out, io.Discard})
		done <- err
		out.CloseWithError(cmp.Or(err, io.EOF))
	}()
	src, err := file.NewReader(in, "anonymised packets")
	if err != nil { // the other run returns why a capture cannot be read
		in.CloseWithError(err)
		return nil, cmp.Or(<-done, err)
	}
	reg := o.registry()
	as, err := parseDecodeAs(o.as, reg)
	if err != nil {
		return nil, err
	}
	ctx, release := withGrace(ctx, true)
	printNotHidden(s.err)
	return &job{ctx: ctx, io: s, src: input{Source: src}, release: func() { release(); in.Close() },
		cfg: pipeline.Config{Source: src, Out: s.out, Registry: reg, Jobs: o.jobs, Memory: int64(o.memory), DecodeAs: as, Dedup: dedups[o.dedup], Sampled: uint32(o.sampled)}}, nil
}

// limit: reportSize is how long a report is without --max-size. Chosen: what a mail takes, and a
// browser shows at once.
const reportSize = 5 << 19
