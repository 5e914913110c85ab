package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/capture/pcapfilter"
	"qsniff/internal/app/cli"
	"qsniff/internal/app/progress"
	"qsniff/internal/app/remark"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/lru"
	"qsniff/internal/flood"
	"qsniff/internal/pipeline"
	"qsniff/internal/render/tally"
)

// job is a run over open captures or interfaces: what all commands that read packets have in common. A
// command sets the parts of cfg that it needs before it calls run or runToEnd.
type job struct {
	ctx            context.Context // ends with the signal that ends the run
	release        func()          // ends ctx, and stops waiting for the signal
	showsInterrupt bool            // the output itself has how far an interrupted run came
	streamsOutput  bool            // the output is printed while packets are read
	io             streams
	src            input
	live           *liveRun // open interfaces; nil: src is read
	cfg            pipeline.Config
	print          func(tally.Run) error // prints the result after the run; nil: there is none
	endsEarly      func() bool           // reports whether the run ended before the capture; nil: it does not
	after          func() error          // returns the error of a run that went well; nil: there is none
}

// requireCapture returns an error if args names no capture.
func requireCapture(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		what := "no capture given"
		if cmd.HasParent() {
			what = cmd.Name() + ": " + what
		}
		return cli.Usage(errors.New(what), "name a file, or - for standard input")
	}
	return nil
}

// openJob opens the captures that args name, or the interfaces of -i, and returns a job. The
// caller calls its release.
func (o *readOptions) openJob(ctx context.Context, args []string, io streams) (*job, error) {
	if o.isLive() {
		return o.prepareLive(ctx, io)
	}
	f, err := o.pipelineFilter(ctx, args, io)
	if err != nil {
		return nil, err
	}
	reg := o.registry()
	as, err := parseDecodeAs(o.as, reg)
	if err != nil {
		return nil, err
	}
	ctx, release := withGrace(ctx, o.follow || slices.Contains(args, stdin))
	src, err := o.open(ctx, args)
	if err != nil {
		release()
		return nil, err
	}
	return &job{ctx: ctx, release: release, io: io, src: src, cfg: pipeline.Config{
		Source: src.Source, HasManyInputs: src.isMerged, Out: io.out, Registry: reg, Jobs: o.jobs, MaxMessages: o.count, Memory: int64(o.memory),
		DecodeAs: as, Dedup: dedups[o.dedup], Sampled: uint32(o.sampled), Seed: o.seed(), Filter: f,
	}}, nil
}

// seed returns the seed of hash tables, or 0 for the usual one. It is random where packets
// are being captured: whoever sends them must not be able to choose their places in
// tables. A finished capture has the same output each time, also through a pipe.
func (o *readOptions) seed() uint64 {
	if o.follow {
		return rand.Uint64() | 1
	}
	return 0
}

// run reads the captures, with a line of progress. If the user ends it, run prints how far
// it came on standard error, unless that is seen in the output itself.
func (j *job) run() (tally.Run, error) {
	var line *progress.Line
	if j.src.Stats().Size >= progress.MinSize && !(j.streamsOutput && isTerminal(j.io.out)) { // such output shows how far the run is
		line = newProgress(j.io.err)
	}
	j.cfg.Progress = nil
	if line != nil {
		j.cfg.Progress = func(s capture.Stats, _ func() tally.Run) { line.Update("", s) }
	}
	result, err := pipeline.Run(j.ctx, j.cfg)
	line.Done()
	remark.PrintRekeyed(j.io.err, lru.Rekeyed()) // after Done, which clears the line of progress
	switch result.Interrupted = isInterrupted(j.ctx); {
	case !result.Interrupted:
	case result.Packets == 0:
		fmt.Fprintln(j.io.err, "qsniff: interrupted before the first packet")
	case !j.showsInterrupt || !isTerminal(j.io.out):
		fmt.Fprintf(j.io.err, "qsniff: interrupted after %s\n", digits.Extent(result.Packets, result.Read, result.Size))
	}
	return result, err
}

// runToEnd reads the captures to their end, or interfaces until the user ends it, and then calls j.print with the totals. If reading
// fails after at least one packet, it is called with the totals so far before the error is returned.
func (j *job) runToEnd() error {
	run := j.runFiles
	if j.live != nil {
		run = j.runLive
	}
	if err := run(); err != nil || j.after == nil {
		return err
	}
	return j.after()
}

func (j *job) runFiles() error {
	result, err := j.run()
	if err == nil && (j.endsEarly == nil || !j.endsEarly()) { // else a read may still be in progress; it ends with the program
		err = j.src.Close()
	}
	if err == nil || result.Packets > 0 { // without packets, the error is enough
		if err := j.print(result); err != nil {
			return err
		}
	}
	return j.exitError(err)
}

// choosesLate reports whether the filter asks what becomes of exchanges, and it is a stream, which is read once.
func (j *job) choosesLate() bool {
	f := j.cfg.Filter
	return f != nil && f.Program.NeedsAnswers() && f.Outcomes == nil
}

// printRemarks prints what cannot be seen in the output of a run over captures. One over interfaces prints it itself.
func (j *job) printRemarks(run *tally.Run) {
	if j.live == nil {
		remark.Print(j.io.err, run)
	}
}

// exitError returns err, or context.Canceled if there is none and the user ended the run.
func (j *job) exitError(err error) error {
	if err == nil && isInterrupted(j.ctx) {
		return context.Canceled
	}
	return err
}

// checkFailOn returns errFailOnReached if one of the counts of names, which are in order, is of the name of --fail-on or above.
func (o *readOptions) checkFailOn(counts []uint64, names []string) error {
	least := slices.Index(names, o.failOn)
	if least >= 0 && slices.ContainsFunc(counts[least:], func(n uint64) bool { return n > 0 }) {
		return errFailOnReached
	}
	return nil
}

// captureInstead follows the help of -i in commands that read captures or interfaces.
const captureInstead = " in place of reading FILE"

// captureHelp is the part about -i in the help of commands that print when all was read.
const captureHelp = `With -i it captures on interfaces, as qsniff live does and with the rights that this takes,
until Ctrl-C, which is no interruption then: the exit status is 0. What was dropped is on
standard error.`

// requireInput returns an error unless args name captures or -i names interfaces: either, not
// both.
func (o *readOptions) requireInput(cmd *cobra.Command, args []string) error {
	live := o.isLive()
	switch {
	case live && len(args) > 0:
		return cli.Usage(fmt.Errorf("%s reads captures or interfaces, not both", cmd.Name()), "leave out -i, or "+args[0])
	case live && o.follow:
		return cli.Usage(errors.New("--follow is for captures that grow"), "leave it out: -i goes on until Ctrl-C")
	case live && o.reader != readerNative:
		return cli.Usage(errors.New("--reader is for captures"), "of interfaces, --backend chooses what captures")
	case live:
		return o.checkCapture()
	}
	if name := givenCaptureFlag(cmd); name != "" {
		return cli.Usage(fmt.Errorf("%s goes with -i", name), "of captures -f chooses packets, and -Y messages")
	}
	if err := requireCapture(cmd, args); err != nil {
		return cli.Usage(err, "name a file, or - for standard input; -i captures on an interface")
	}
	return nil
}

// givenCaptureFlag returns the first flag on the command line that is about interfaces only;
// empty for none.
func givenCaptureFlag(cmd *cobra.Command) string {
	for _, name := range []string{"auto-filter", "snaplen", "buffer", "promiscuous", "backend", "no-sandbox"} {
		if cmd.Flags().Changed(name) {
			return "--" + name
		}
	}
	return ""
}

// prepareLive opens the interfaces of -i, and returns a job. The caller calls its release.
func (o *readOptions) prepareLive(ctx context.Context, io streams) (*job, error) {
	l, err := openCapture(&liveOptions{readOptions: *o}, io)
	if err != nil {
		return nil, err
	}
	l.cfg.MaxMessages, l.cfg.CutsToMicros = o.count, true
	return &job{ctx: ctx, release: func() { l.tap.Finish() }, io: io, live: l, cfg: l.cfg}, nil
}

// runLive captures until the user ends it, calls j.print with the totals, and prints a summary on
// standard error.
func (j *job) runLive() error {
	l := j.live
	l.cfg = j.cfg
	if l.seen == nil && l.cfg.Listener == nil && l.cfg.Dialogues == nil { // then no messages are decoded that could be counted
		l.seen = new(flood.Seen)
		l.cfg.Watchers = append(l.cfg.Watchers, l.seen)
	}
	l.report = func(run tally.Run) error {
		if run.Packets > 0 {
			run.Last = max(run.Last, time.Now().UnixNano()) // silence was captured as well
		}
		return j.print(run)
	}
	if err := l.enterSandbox(); err != nil {
		return err
	}
	return l.run(j.ctx)
}

// pollEvery is how long --follow sleeps when there is nothing to read. Chosen: less than
// people notice.
const pollEvery = 100 * time.Millisecond

// input is what a run reads: one capture, or several that are merged by time.
type input struct {
	capture.Source
	isMerged bool
}

// open opens captures, or returns when ctx ends: the first bytes of standard input or of a
// named pipe may never come.
func (o *readOptions) open(ctx context.Context, names []string) (input, error) {
	if slices.Contains(names, stdin) && isTerminal(os.Stdin) {
		return input{}, cli.Usage(errors.New("standard input is a terminal"), "pipe a capture in: tcpdump -U -w - udp | qsniff -")
	}
	type opened struct {
		in  input
		err error
	}
	got := make(chan opened, 1)
	go func() {
		in, err := o.openSources(ctx, names)
		got <- opened{in, err}
	}()
	select {
	case x := <-got:
		if x.err != nil && isInterrupted(ctx) {
			return input{}, context.Canceled
		}
		return x.in, x.err
	case <-ctx.Done():
		return input{}, ctx.Err()
	}
}

// openSources opens captures, and keeps the packets that -f chooses.
func (o *readOptions) openSources(ctx context.Context, names []string) (input, error) {
	if o.filter == "" {
		return o.openAll(ctx, names)
	}
	var libpcap pcapfilter.Compiler
	if file.HasLibpcap {
		libpcap = file.CompileFilter
	}
	f, err := pcapfilter.NewFilter(o.filter, libpcap)
	if err != nil {
		return input{}, captureFilterError(err)
	}
	in, err := o.openAll(ctx, names)
	if in.Source != nil {
		in.Source = capture.Filtered(in.Source, func(p *capture.Packet) (bool, error) {
			isKept, err := f.Keep(p)
			if err != nil {
				err = captureFilterError(err)
			}
			return isKept, err
		})
	}
	return in, err
}

// openAll opens captures with the reader that --reader names, and merges several.
func (o *readOptions) openAll(ctx context.Context, names []string) (input, error) {
	opts := []file.Option{file.ReadAhead(pipeline.ReadAhead), file.Pipe(pipeline.Pipe)}
	if o.follow {
		if slices.Contains(names, stdin) {
			return input{}, cli.Usage(errors.New("standard input is read as it comes anyway"), "leave out --follow")
		}
		if len(names) > 1 || o.reader != readerNative {
			return input{}, cli.Usage(errors.New("--follow takes one capture, or one folder of captures, and the native reader"), "run it once for each")
		}
		src, err := file.Follow(names[0], append(opts, file.Wait(func() error { return wait(ctx) }))...)
		return input{Source: src}, err
	}
	names, err := file.Expand(names)
	if err != nil {
		return input{}, err
	}
	if o.reader == readerGopacket {
		opts = append(opts, file.ByGopacket)
	}
	src, err := file.OpenMerged(names, opts...)
	if err != nil {
		return input{}, err
	}
	return input{Source: src, isMerged: len(names) > 1}, nil
}

// wait sleeps for pollEvery. It returns io.EOF, which ends the capture, when ctx ends.
func wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return io.EOF
	case <-time.After(pollEvery):
		return nil
	}
}

const stdin = cli.Stdin

// grace is how long a run goes on after an interrupt while it reads a pipe. Ctrl-C reaches
// the programs at both ends, and the one that captures writes what it has buffered when it
// ends. Chosen: enough for that, and hardly noticed.
const grace = 300 * time.Millisecond

type interruptKey struct{}

// withGrace returns a context that ends with ctx, or grace later if mayBringMore: if packets
// may still come in.
func withGrace(ctx context.Context, mayBringMore bool) (context.Context, context.CancelFunc) {
	inner := context.WithoutCancel(ctx)
	inner = context.WithValue(inner, interruptKey{}, ctx)
	run, cancel := context.WithCancel(inner)
	stop := context.AfterFunc(ctx, func() {
		if mayBringMore {
			time.Sleep(grace)
		}
		cancel()
	})
	return run, func() {
		stop()
		cancel()
	}
}

// isInterrupted reports whether the user ended the run of ctx, which withGrace returned. The
// run may have come to its end by itself since.
func isInterrupted(ctx context.Context) bool {
	outer, ok := ctx.Value(interruptKey{}).(context.Context)
	return ok && outer.Err() != nil
}
