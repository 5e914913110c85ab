package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"qsniff/capture"
	"qsniff/internal/flood"
	"qsniff/internal/flood/rules/nft"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
	"qsniff/internal/track"
)

// findFloodsLive captures until ctx ends and reports incidents as they come, and then all of
// them.
func findFloodsLive(ctx context.Context, opts *floodsOptions, io streams) error {
	l, err := openCapture(&liveOptions{readOptions: opts.readOptions}, io)
	if err != nil {
		return err
	}
	out := newFloodOutput(opts, io.out)
	d := newDetector(l.cfg.Registry, opts.limits, opts.scale(), opts.expiry, opts.ownTools)
	d.AddObserver(out.observe)
	d.CountOthersAt(opts.ownServers.HasHost)
	l.seen = &out.seen
	l.cfg.Watchers = append([]track.Watcher{&out.seen, d}, out.watchProofs()...)
	if opts.output == "text" {
		out.kept.KeepsOpen = true
		p := &liveFloods{out: out, detector: d, start: l.start, run: tally.Run{First: l.start.UnixNano()}}
		d.AddObserver(p.observe)
		l.cfg.Progress = p.update
	}
	if err := l.enterSandbox(); err != nil {
		l.tap.Finish()
		return err
	}
	isReached, found := false, uint64(0)
	l.countIncidents = func() uint64 { return found }
	l.report = func(run tally.Run) error {
		run.Interrupted = ctx.Err() != nil
		if run.Packets > 0 {
			run.Last = max(run.Last, time.Now().UnixNano()) // silence was captured as well
		}
		f := out.makeReport(run, d)
		f.IsLive = true
		if opts.output == "text" {
			f.Script = nft.AppendFloods(nil, f)
		}
		isReached = opts.isFailOnReached(f)
		found = f.Counts[flood.Info] + f.Counts[flood.Warn] + f.Counts[flood.Alert]
		if isTerminal(io.out) && opts.output == "text" {
			fmt.Fprint(io.out, clearScreen)
		}
		if err := out.print(f); err != nil {
			return err
		}
		printFloodRemarks(io.err, f, opts.output)
		return nil
	}
	if err := l.run(ctx); err != nil {
		return err
	}
	if isReached {
		return errFailOnReached
	}
	return nil
}

// clearScreen clears a terminal and moves the cursor to its first line.
const clearScreen = "\x1b[H\x1b[2J"

// liveFloods shows incidents while packets are captured. On a terminal it draws the page anew
// at each event of an incident, and as much of it as fits; elsewhere it appends a block.
type liveFloods struct {
	out      *floodOutput
	detector *flood.Detector
	start    time.Time
	run      tally.Run // so far
}

// update notes how much was captured, for the next page. It is called after each batch.
func (p *liveFloods) update(s capture.Stats, _ func() tally.Run) {
	isFirst := p.run.Packets == 0 && s.Received == 0
	p.run.Packets, p.run.Dropped = s.Received, s.Dropped
	if isFirst && p.run.Last == 0 {
		p.draw()
	}
}

// observe shows an event of an incident.
func (p *liveFloods) observe(in *flood.Incident, e flood.Event) {
	o := p.out
	if o.err != nil || in.Level < o.least || !o.isOurs(in) {
		return
	}
	if isTerminal(o.w) {
		p.draw()
		return
	}
	if in.Level < flood.Warn && !o.opts.verbose {
		return
	}
	p.run.Last = time.Now().UnixNano()
	f := o.makeReport(p.run, p.detector)
	f.IsLive = true
	o.buf = text.AppendFloodEvent(o.buf[:0], f, in, e, o.opts.textOptions(o.w))
	_, o.err = o.w.Write(o.buf)
}

// draw draws the page so far on a terminal.
func (p *liveFloods) draw() {
	o := p.out
	if !isTerminal(o.w) {
		return
	}
	p.run.Last = time.Now().UnixNano()
	f := o.makeReport(p.run, p.detector)
	f.IsLive = true
	opt := o.opts.textOptions(o.w)
	page := text.AppendFloods(nil, f, opt, text.FloodOptions{Verbose: o.opts.verbose, Explain: o.opts.explain})
	head := fmt.Sprintf("Watching %s since %s, drawn %s; Ctrl-C ends it and prints all\n\n", strings.Join(o.opts.interfaces, ", "),
		p.start.Format(time.TimeOnly), time.Now().Format(time.TimeOnly))
	_, o.err = o.w.Write([]byte(clearScreen + head + firstLines(page, terminalHeight(o.w)-4)))
}

// firstLines returns the first n lines of a page, and how many more there are.
func firstLines(page []byte, n int) string {
	lines := strings.SplitAfter(strings.TrimSuffix(string(page), "\n"), "\n")
	if len(lines) <= n {
		return string(page)
	}
	return strings.Join(lines[:max(n-1, 1)], "") + fmt.Sprintf("... and %d lines more\n", len(lines)-max(n-1, 1))
}

// terminalHeight returns how many lines a terminal has.
func terminalHeight(out any) int {
	const usual = 24
	if f, ok := out.(*os.File); ok {
		if _, h, err := term.GetSize(int(f.Fd())); err == nil && h > 0 {
			return h
		}
	}
	return usual
}
