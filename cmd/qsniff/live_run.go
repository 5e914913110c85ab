package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"qsniff/capture/keep"
	"qsniff/capture/live"
	"qsniff/dissect"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/hostset"
	"qsniff/internal/base/lru"
	"qsniff/internal/base/sandbox"
	"qsniff/internal/base/shell"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
	"qsniff/internal/render/counters"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
	"qsniff/internal/track"
)

// lingering is how long an ended capture waits for the reader of the output. Chosen: less
// than patience, as the summary has to be printed after that.
const lingering = time.Second

// liveRun is an open live capture and its decoding.
type liveRun struct {
	opts   *liveOptions
	auto   *live.AutoFilter // nil: none
	tap    *keep.Tap
	keeper *keep.Keeper // nil: packets are only decoded
	alarms keep.Alarms
	cfg    pipeline.Config
	seen   *flood.Seen // counts queries if no messages are wanted; else nil
	told   *telling    // nil: nobody is told of incidents
	errs   io.Writer
	start  time.Time
	result tally.Run
	// report prints the results after a run whose output was written; nil: there are none.
	report func(tally.Run) error
	// countIncidents returns how many there were; nil: the run looks for none.
	countIncidents func() uint64
}

// watchLive captures and decodes until ctx ends.
func watchLive(ctx context.Context, opts *liveOptions, io streams) error {
	l, err := openLive(opts, io)
	if err != nil {
		return err
	}
	if err := l.enterSandbox(); err != nil {
		l.tap.Finish()
		return err
	}
	if h := l.cfg.Renderer; h != nil {
		if err := writeHeader(io.out, h); err != nil {
			l.tap.Finish()
			return err
		}
	}
	return l.run(ctx)
}

// openLive opens everything that needs rights, interfaces and files, and sets up the run.
func openLive(opts *liveOptions, io streams) (*liveRun, error) {
	own, err := opts.parseServers()
	if err != nil {
		return nil, err
	}
	if err := opts.parseOwn(); err != nil {
		return nil, err
	}
	l, err := openCapture(opts, io)
	if err != nil {
		return nil, err
	}
	reg := l.cfg.Registry
	if l.cfg.Renderer, err = opts.newRenderer(io.out, reg.Protos()); err != nil {
		l.tap.Finish()
		return nil, err
	}
	if err := l.startTelling(own); err != nil {
		l.tap.Finish()
		return nil, err
	}
	l.cfg.Incidents = l.newDetector(reg, own, l.cfg.Renderer)
	l.countIncidents = l.alarms.Begun // warnings and alerts
	l.cfg.MaxMessages, l.cfg.CountsMessages, l.cfg.CutsToMicros = opts.count, !opts.isWatchOnly(), true
	if opts.isWatchOnly() {
		l.seen = new(flood.Seen)
		l.cfg.Watchers = append(l.cfg.Watchers, l.seen)
		l.cfg.Listener = nil // it would have messages decoded
	}
	return l, nil
}

// askForReport has a report made of a file that is whole, if reports are wanted.
func (l *liveRun) askForReport(path string) {
	if l.told != nil && l.opts.reports && !l.told.messenger.MakeReport(path) {
		fmt.Fprintf(l.errs, "qsniff: no report of %s: too many are waiting\n", path)
	}
}

// startTelling starts the messenger process, which sends notes of incidents and of findings at our servers, if
// it has anything to do.
func (l *liveRun) startTelling(own *hostset.Set) error {
	c, err := l.opts.Config()
	if err != nil {
		return err
	}
	c.NoSandbox, c.Reports = l.opts.noSandbox, l.opts.reports
	l.told, err = l.opts.startTelling(c, own, func(text string) { fmt.Fprintf(l.errs, "qsniff: %s\n", text) })
	if l.told != nil {
		l.cfg.Watchers, l.cfg.Listener = []track.Watcher{l.told}, l.told
	}
	return err
}

// openCapture opens everything that needs rights, interfaces and files, for a run with all protocols.
func openCapture(opts *liveOptions, io streams) (*liveRun, error) {
	reg, err := newRegistry()
	if err != nil {
		return nil, err
	}
	return openCaptureOf(reg, opts, io)
}

// openCaptureOf is openCapture with a registry.
func openCaptureOf(reg *dissect.Registry, opts *liveOptions, io streams) (*liveRun, error) {
	as, err := parseDecodeAs(opts.as, reg)
	if err != nil {
		return nil, err
	}
	if err := opts.checkFilter(reg); err != nil {
		return nil, err
	}
	var auto *live.AutoFilter
	if opts.autoFilter {
		auto = pipeline.AutoFilter(reg, as)
	}
	src, err := opts.openSource(auto)
	if err != nil {
		return nil, err
	}
	l := &liveRun{opts: opts, auto: auto, errs: io.err, start: time.Now()}
	kept, err := opts.keepOptions.open(src, int(opts.memory), l.askForReport)
	if err != nil {
		src.Close()
		return nil, err
	}
	l.keeper = kept
	if kept != nil {
		ignoreBrokenPipe() // if the reader of the output ends, files are still to be finished
	}
	l.tap = keep.NewTap(src, kept, &l.alarms, func(err error) { reportError(io.err, err) })
	l.cfg = pipeline.Config{Source: l.tap, Registry: reg, Jobs: opts.jobs, Memory: int64(opts.memory),
		DecodeAs: as, Dedup: dedups[opts.dedup], Sampled: uint32(opts.sampled), Out: io.out, Clock: monotonic, Seed: rand.Uint64() | 1}
	if p := opts.display.program; p != nil {
		l.cfg.Filter = &pipeline.Filter{Program: p}
	}
	return l, nil
}

// newDetector returns the detector of the run. Its incidents start the writing of packets
// with --on-incident. If r has no form for incidents, they are printed on standard error.
func (l *liveRun) newDetector(reg *dissect.Registry, own *hostset.Set, r render.Renderer) *incidents {
	scale := l.opts.scale()
	if !l.opts.isWatchOnly() {
		scale *= detectorShare
	}
	found := &incidents{newDetector(reg, flood.Defaults(), scale, advice.DefaultExpiry, l.opts.ownTools), own}
	found.Detector.AddObserver(found.filter(l.noteAlarm))
	if l.told != nil {
		found.Detector.AddObserver(found.filter(l.told.Observe))
	}
	if _, ok := r.(render.IncidentRenderer); !ok {
		found.Observe(l.announce)
	}
	return found
}

// noteAlarm is an observer of incidents: packets around those that need attention are written.
func (l *liveRun) noteAlarm(in *flood.Incident, e flood.Event) {
	l.alarms.Note(in.ID, in.Start, e != flood.Ends && in.Level >= flood.Warn)
}

// enterSandbox prints what the run captures, writes and omits, and then drops the rights
// that it does not need any more.
func (l *liveRun) enterSandbox() error {
	_ = time.Local.String() // loads the time zone, which is a file
	o := l.opts
	fmt.Fprintf(l.errs, "qsniff: capturing on %s (%s)\n", strings.Join(o.interfaces, ", "), l.tap.Backend())
	if l.auto != nil {
		fmt.Fprintln(l.errs, "qsniff: the automatic filter does not capture:")
		for _, what := range l.auto.Unseen() {
			fmt.Fprintf(l.errs, "  %s\n", what)
		}
	}
	if l.keeper != nil {
		fmt.Fprintf(l.errs, "qsniff: %s as they are captured, passwords included\n", o.keepOptions.describe())
	}
	if who := l.told.describe(); who != "" {
		fmt.Fprintf(l.errs, "qsniff: %s\n", who)
	}
	if o.noSandbox {
		fmt.Fprintln(l.errs, "qsniff: sandbox: none (--no-sandbox)")
		return nil
	}
	p, err := l.sandboxPolicy()
	if err != nil {
		return err
	}
	status, err := sandbox.Enter(p)
	if err == nil {
		fmt.Fprintf(l.errs, "qsniff: sandbox: %v\n", status)
	}
	return err
}

// sandboxPolicy returns what the run still needs: the folder of its files, and the counters
// that libpcap reads of an interface in promiscuous mode.
func (l *liveRun) sandboxPolicy() (p sandbox.Policy, err error) {
	if l.keeper != nil && l.keeper.Folder() != "" {
		p.Write = []string{l.keeper.Folder()}
		if p.User, err = sandbox.OwnerOf(l.keeper.Folder()); err != nil {
			return p, err
		}
	}
	if l.opts.promiscuous && l.tap.Backend() == live.Libpcap {
		for _, name := range l.opts.interfaces {
			counters := filepath.Join("/sys/class/net", name, "statistics")
			if _, err := os.Stat(counters); err == nil {
				p.Read = append(p.Read, counters)
			}
		}
	}
	return p, nil
}

// run captures until ctx ends, then prints the summary.
func (l *liveRun) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, l.tap.Stop)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		var err error
		l.result, err = pipeline.Run(context.WithoutCancel(ctx), l.cfg)
		ended <- err
	}()
	select {
	case err := <-ended:
		return l.conclude(err)
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return l.conclude(err)
	case <-time.After(lingering):
	}
	return l.abandon()
}

// conclude prints the summary of a run whose output was written.
func (l *liveRun) conclude(err error) error {
	closed := l.tap.Finish()
	if l.report != nil {
		err = cmp.Or(err, l.report(l.result))
	}
	kernel, card := l.tap.Drops()
	fmt.Fprintln(l.errs) // after the ^C of a terminal
	fmt.Fprintf(l.errs, "qsniff: %s captured in %s: %s%s; %s\n", count(l.tap.Stats().Received, "packet"), l.elapsed(),
		l.describeFound(), l.describeIncidents(), describeDrops(kernel, card))
	l.printUndecoded()
	l.finishTelling()
	unwritten := l.printFiles()
	l.printRemarks()
	l.printNext()
	if errors.Is(err, syscall.EPIPE) { // the reader of the output wants no more
		err = nil
	}
	return cmp.Or(err, closed, unwritten)
}

// printRemarks prints what is missing from the output, and why.
func (l *liveRun) printRemarks() {
	run := l.result
	run.Dropped = 0 // it is in the summary
	switch {
	case run.Packets == 0:
		return
	case l.seen == nil:
		printLeftOut(l.errs, &run)
	case l.seen.Queries+l.seen.Replies+l.seen.Junk+l.seen.Logins == 0:
		fmt.Fprintf(l.errs, "qsniff: no query traffic in %s%s\n", count(run.Packets, "packet"), formatReasons(": ", &run))
	case len(run.Skipped) > 0: // without messages, packets of other protocols are not recognised
		fmt.Fprintln(l.errs, "qsniff:"+formatReasons(" left out: ", &run))
	}
	printTrouble(l.errs, &run)
	printRekeyed(l.errs, lru.Rekeyed())
}

// abandon prints the summary of a run whose output nobody reads. Packets that were captured
// and cannot be decoded any more are counted, and written to the files of -w.
func (l *liveRun) abandon() error {
	l.tap.Drain()
	l.tap.Finish()
	kernel, card := l.tap.Drops()
	fmt.Fprintln(l.errs)
	fmt.Fprintf(l.errs, "qsniff: %s captured in %s; %s\n", count(l.tap.Stats().Received, "packet"), l.elapsed(), describeDrops(kernel, card))
	l.printUndecoded()
	l.finishTelling()
	_ = l.printFiles() // the error below is the cause
	return &hintedError{errors.New("the output was not read: its last messages are missing, and incidents among them"),
		"a slow reader costs messages; -o none needs no reader, -w keeps packets"}
}

// printFiles prints what is in the files of -w. It returns an error if packets are missing
// from them.
func (l *liveRun) printFiles() error {
	if l.keeper == nil {
		return nil
	}
	kept := l.keeper.Stats()
	printKept(l.errs, &kept, l.opts.options().HasSeveralFiles())
	if n := kept.Lost(); n > 0 {
		return fmt.Errorf("-w: %s could not be written", count(n, "packet"))
	}
	return nil
}

// finishTelling has the remaining notes sent, and prints what became of all of them.
func (l *liveRun) finishTelling() {
	for _, line := range l.told.finish() {
		fmt.Fprintf(l.errs, "qsniff: %s\n", line)
	}
}

func (l *liveRun) printUndecoded() {
	printHints(l.errs, &counters.Result{Live: counters.Live{Undecoded: l.tap.Undecoded()}}, counters.Capture)
}

// announce prints an event of an incident on standard error.
func (l *liveRun) announce(in *flood.Incident, e flood.Event) {
	line := text.NewLine(text.Options{UTC: l.opts.utc, Micros: true, Palette: text.NewPalette(false)})
	x := render.IncidentEvent{Nanos: time.Now().UnixNano(), Event: e, Incident: in}
	for text := range bytes.Lines(bytes.TrimSpace(line.AppendIncident(nil, &x))) {
		fmt.Fprintf(l.errs, "qsniff: %s\n", bytes.TrimSpace(text))
	}
}

func (l *liveRun) elapsed() string {
	return digits.Span(time.Since(l.start))
}

// describeFound returns how many messages were found, or how many queries and replies if no
// messages are wanted.
func (l *liveRun) describeFound() string {
	if l.seen == nil {
		return count(l.result.Messages, "message")
	}
	all := count(l.seen.Queries, "query", "queries") + ", " + count(l.seen.Replies, "reply", "replies")
	if l.seen.Junk > 0 {
		all += fmt.Sprintf(", %d unknown", l.seen.Junk)
	}
	if l.seen.Logins > 0 {
		all += ", " + count(l.seen.Logins, "RCON login")
	}
	return all
}

func (l *liveRun) describeIncidents() string {
	if l.countIncidents == nil {
		return ""
	}
	return ", " + count(l.countIncidents(), "incident")
}

// printNext prints the command that examines what was captured.
func (l *liveRun) printNext() {
	switch o := l.opts; {
	case l.report != nil:
	case l.keeper != nil && l.result.Packets > 0:
		fmt.Fprintf(l.errs, "qsniff: next: qsniff floods %s\n", o.keepOptions.writtenFiles())
	case l.countIncidents() > 0:
		fmt.Fprintf(l.errs, "qsniff: next: qsniff floods -i %s, which prints what to do; -w FILE keeps the packets\n", shell.Quote(o.interfaces[0]))
	}
}

func describeDrops(kernel, card uint64) string {
	return fmt.Sprintf("dropped: %d by the kernel, %d by network cards", kernel, card)
}
