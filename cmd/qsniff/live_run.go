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
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"qsniff/capture/keep"
	"qsniff/capture/live"
	"qsniff/dissect"
	"qsniff/flood"
	"qsniff/internal/digits"
	"qsniff/internal/hostset"
	"qsniff/internal/lru"
	"qsniff/internal/sandbox"
	"qsniff/pipeline"
	"qsniff/render"
	"qsniff/render/counters"
	"qsniff/render/tally"
	"qsniff/render/text"
	"qsniff/track"
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
	seen   *flood.Seen // where nobody wants messages; else nil
	errs   io.Writer
	start  time.Time
	result tally.Run
}

// watchLive captures and decodes until ctx ends.
func watchLive(ctx context.Context, opts *liveOptions, io streams) error {
	s, err := openLive(opts, io)
	if err != nil {
		return err
	}
	if err := s.enterSandbox(); err != nil {
		s.tap.Finish()
		return err
	}
	if h := s.cfg.Renderer; h != nil {
		if err := writeHeader(io.out, h); err != nil {
			s.tap.Finish()
			return err
		}
	}
	return s.run(ctx)
}

// openLive opens everything that needs rights: interfaces and files.
func openLive(opts *liveOptions, io streams) (*liveRun, error) {
	reg, err := newRegistry()
	if err != nil {
		return nil, err
	}
	as, err := parseDecodeAs(opts.as, reg)
	if err != nil {
		return nil, err
	}
	own, err := opts.parseServers()
	if err != nil {
		return nil, err
	}
	r, err := opts.newRenderer(io.out, reg.Protos())
	if err != nil {
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
	kept, err := opts.keepOptions.open(src, int(opts.memory))
	if err != nil {
		src.Close()
		return nil, err
	}
	s := &liveRun{opts: opts, auto: auto, keeper: kept, errs: io.err, start: time.Now()}
	found := s.newDetector(reg, own, r)
	if kept != nil {
		signal.Ignore(syscall.SIGPIPE) // if the reader of the output ends, files are still to be finished
	}
	s.tap = keep.NewTap(src, kept, &s.alarms, func(err error) { reportError(io.err, err) })
	s.cfg = pipeline.Config{Source: s.tap, Registry: reg, Jobs: opts.jobs, MaxMessages: opts.count, Memory: int64(opts.memory),
		DecodeAs: as, Dedup: dedups[opts.dedup], Renderer: r, Out: io.out, Incidents: found, CountsMessages: !opts.isWatchOnly(),
		Clock: monotonic, CutsToMicros: opts.cutsToMicros, Seed: rand.Uint64() | 1}
	if opts.isWatchOnly() {
		s.seen = new(flood.Seen)
		s.cfg.Watchers = []track.Watcher{s.seen}
	}
	return s, nil
}

// newDetector returns the detector of the run. Its incidents start the writing of packets
// with --on-incident. If r has no form for incidents, they are printed on standard error.
func (s *liveRun) newDetector(reg *dissect.Registry, own *hostset.Set, r render.Renderer) *incidents {
	scale := s.opts.scale()
	if !s.opts.isWatchOnly() {
		scale *= detectorShare
	}
	found := &incidents{newDetector(reg, flood.Defaults(), scale), own}
	found.Detector.AddObserver(found.filter(func(in *flood.Incident, e flood.Event) {
		s.alarms.Note(in.ID, in.Start, e != flood.Ends && in.Level >= flood.Warn)
	}))
	if _, ok := r.(render.IncidentRenderer); !ok {
		found.Observe(s.announce)
	}
	return found
}

// enterSandbox prints what the run captures, writes and omits, and then gives up the rights
// that it does not need any more.
func (s *liveRun) enterSandbox() error {
	_ = time.Local.String() // loads the time zone, which is a file
	o := s.opts
	fmt.Fprintf(s.errs, "qsniff: capturing on %s (%s)\n", strings.Join(o.interfaces, ", "), s.tap.Backend())
	if s.auto != nil {
		fmt.Fprintln(s.errs, "qsniff: the automatic filter leaves out:")
		for _, what := range s.auto.Unseen() {
			fmt.Fprintf(s.errs, "  %s\n", what)
		}
	}
	if s.keeper != nil {
		fmt.Fprintf(s.errs, "qsniff: %s as they are captured, passwords included\n", o.keepOptions.describe())
	}
	if o.noSandbox {
		fmt.Fprintln(s.errs, "qsniff: sandbox: none (--no-sandbox)")
		return nil
	}
	p, err := s.sandboxPolicy()
	if err != nil {
		return err
	}
	status, err := sandbox.Enter(p)
	if err == nil {
		fmt.Fprintf(s.errs, "qsniff: sandbox: %v\n", status)
	}
	return err
}

// sandboxPolicy returns what the run still needs: the folder of its files, and the counters
// that libpcap reads of an interface in promiscuous mode.
func (s *liveRun) sandboxPolicy() (p sandbox.Policy, err error) {
	if s.keeper != nil && s.keeper.Folder() != "" {
		p.Write = []string{s.keeper.Folder()}
		if p.User, err = sandbox.OwnerOf(s.keeper.Folder()); err != nil {
			return p, err
		}
	}
	if s.opts.promiscuous && s.tap.Backend() == live.Libpcap {
		for _, name := range s.opts.interfaces {
			counters := filepath.Join("/sys/class/net", name, "statistics")
			if _, err := os.Stat(counters); err == nil {
				p.Read = append(p.Read, counters)
			}
		}
	}
	return p, nil
}

// run captures until ctx ends, then prints the summary.
func (s *liveRun) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, s.tap.Stop)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		var err error
		s.result, err = pipeline.Run(context.WithoutCancel(ctx), s.cfg)
		ended <- err
	}()
	select {
	case err := <-ended:
		return s.conclude(err)
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return s.conclude(err)
	case <-time.After(lingering):
	}
	return s.abandon()
}

// conclude prints the summary of a run whose output was written.
func (s *liveRun) conclude(err error) error {
	closed := s.tap.Finish()
	kernel, card := s.tap.Drops()
	fmt.Fprintln(s.errs) // after the ^C of a terminal
	fmt.Fprintf(s.errs, "qsniff: %s captured in %s: %s%s; %s\n", count(s.tap.Stats().Received, "packet"), s.elapsed(),
		s.describeFound(), s.describeIncidents(), describeDrops(kernel, card))
	s.printUndecoded()
	unwritten := s.printFiles()
	s.printRemarks()
	if errors.Is(err, syscall.EPIPE) { // the reader of the output wants no more
		err = nil
	}
	return cmp.Or(err, closed, unwritten)
}

// printRemarks prints what is missing from the output, and why.
func (s *liveRun) printRemarks() {
	run := s.result
	run.Dropped = 0 // it is in the summary
	switch {
	case run.Packets == 0:
		return
	case s.seen == nil:
		printLeftOut(s.errs, &run)
	case s.seen.Queries+s.seen.Replies+s.seen.Junk+s.seen.Logins == 0:
		fmt.Fprintf(s.errs, "qsniff: no query traffic in %s%s\n", count(run.Packets, "packet"), formatReasons(": ", run.Skipped))
	case len(run.Skipped) > 0: // without messages, packets of other protocols are not recognised
		fmt.Fprintln(s.errs, "qsniff:"+formatReasons(" left out: ", run.Skipped))
	}
	printTrouble(s.errs, &run)
	printRekeyed(s.errs, lru.Rekeyed())
}

// abandon prints the summary of a run whose output nobody reads. Packets that were captured
// and cannot be decoded any more are counted, and written to the files of -w.
func (s *liveRun) abandon() error {
	s.tap.Drain()
	s.tap.Finish()
	kernel, card := s.tap.Drops()
	fmt.Fprintln(s.errs)
	fmt.Fprintf(s.errs, "qsniff: %s captured in %s; %s\n", count(s.tap.Stats().Received, "packet"), s.elapsed(), describeDrops(kernel, card))
	s.printUndecoded()
	_ = s.printFiles() // the error below is the cause
	return &hintedError{errors.New("the output was not read: its last messages are missing, and incidents among them"),
		"a slow reader costs messages; -o none needs no reader, -w keeps packets"}
}

// printFiles prints what is in the files of -w. It returns an error if packets are missing
// from them.
func (s *liveRun) printFiles() error {
	if s.keeper == nil {
		return nil
	}
	kept := s.keeper.Stats()
	printKept(s.errs, &kept, s.opts.options().HasSeveralFiles())
	if n := kept.Lost(); n > 0 {
		return fmt.Errorf("-w: %s could not be written", count(n, "packet"))
	}
	return nil
}

func (s *liveRun) printUndecoded() {
	printHints(s.errs, &counters.Result{Live: counters.Live{Undecoded: s.tap.Undecoded()}}, counters.Capture)
}

// announce prints an event of an incident on standard error.
func (s *liveRun) announce(in *flood.Incident, e flood.Event) {
	line := text.NewLine(text.Options{UTC: s.opts.utc, Micros: true, Palette: text.NewPalette(false)})
	x := render.IncidentEvent{Nanos: time.Now().UnixNano(), Event: e, Incident: in}
	fmt.Fprintf(s.errs, "qsniff: %s\n", bytes.TrimSpace(line.AppendIncident(nil, &x)))
}

func (s *liveRun) elapsed() string {
	return digits.Span(time.Since(s.start))
}

// describeFound returns how many messages were found, or how many queries and replies if no
// messages are wanted.
func (s *liveRun) describeFound() string {
	if s.seen == nil {
		return count(s.result.Messages, "message")
	}
	all := count(s.seen.Queries, "query", "queries") + ", " + count(s.seen.Replies, "reply", "replies")
	if s.seen.Junk > 0 {
		all += fmt.Sprintf(", %d unknown", s.seen.Junk)
	}
	if s.seen.Logins > 0 {
		all += ", " + count(s.seen.Logins, "RCON login")
	}
	return all
}

func (s *liveRun) describeIncidents() string {
	return ", " + count(s.alarms.Begun(), "incident")
}

func describeDrops(kernel, card uint64) string {
	return fmt.Sprintf("dropped: %d by the kernel, %d by network cards", kernel, card)
}
