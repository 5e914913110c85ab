//go:build !js

package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"qsniff/capture"
	"qsniff/internal/base/sandbox"
	"qsniff/internal/pipeline"
	"qsniff/internal/render/counters"
)

// monitored is what a monitor reads: interfaces, or a capture that grows.
type monitored struct {
	cfg    pipeline.Config
	ctx    context.Context // of the run; where stop does nothing, it ends when the user ends the run
	what   string          // for people
	stop   func()          // ends the capture; what was captured is still delivered
	close  func() error
	count  func(*counters.Result) // fills in what is counted before packets are decoded; may be nil
	policy sandbox.Policy
	live   *liveRun // nil: no interfaces
}

// openMonitored opens what the options name.
func openMonitored(ctx context.Context, opts *monitorOptions, args []string, io streams) (*monitored, error) {
	if !opts.isLive() {
		return openGrowing(ctx, opts, args, io)
	}
	l, err := openCapture(&liveOptions{readOptions: opts.readOptions, keepOptions: opts.keepOptions}, io)
	if err != nil {
		return nil, err
	}
	policy, err := l.sandboxPolicy()
	if err != nil {
		l.tap.Finish()
		return nil, err
	}
	count := func(n *counters.Result) {
		n.Live.Kernel, n.Live.Card = l.tap.Drops()
		n.Live.Undecoded = l.tap.Undecoded()
		away, interruptions := l.tap.Interruptions()
		n.Live.Away, n.Live.Interruptions = uint64(away), interruptions
		n.Files = l.tap.Kept()
	}
	return &monitored{cfg: l.cfg, ctx: context.WithoutCancel(ctx), what: strings.Join(opts.interfaces, ", ") + " (" + l.tap.Backend().String() + ")",
		stop: l.tap.Stop, close: l.tap.Finish, live: l, count: count, policy: policy}, nil
}

// openGrowing opens a capture, or a ring of them, that is still being written, or standard input.
func openGrowing(ctx context.Context, opts *monitorOptions, args []string, io streams) (*monitored, error) {
	opts.follow = !slices.Contains(args, stdin)
	j, err := opts.prepareAll(ctx, args, io)
	if err != nil {
		return nil, err
	}
	g := newGrowing(j.src.Source)
	j.cfg.Source, j.cfg.Clock = g, g.now
	m := &monitored{cfg: j.cfg, ctx: j.ctx, what: args[0], stop: func() {}, close: func() error { j.release(); return nil }}
	if opts.follow {
		m.policy.Read = []string{folderOf(args[0])}
	}
	return m, nil
}

// folderOf returns the folder in which a file is replaced by another of its name, or name itself if
// it is a folder.
func folderOf(name string) string {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return name
	}
	return filepath.Dir(name)
}

// growing reads a source in a goroutine of its own, so that time passes while it has nothing: then
// Read returns an empty batch, as an interface does.
type growing struct {
	src   capture.Source
	got   chan delivery
	free  chan *capture.Batch
	timer *time.Timer
	stats capture.Stats
	// high is the latest time stamp so far, and since when, by monotonic, nothing has come.
	high, since int64
	err         error
}

// delivery is a batch of a growing source.
type delivery struct {
	b     *capture.Batch
	stats capture.Stats
	err   error
}

func newGrowing(src capture.Source) *growing {
	g := &growing{src: src, got: make(chan delivery), free: make(chan *capture.Batch, 2), timer: time.NewTimer(pollEvery), since: monotonic()}
	g.free <- new(capture.Batch)
	g.free <- new(capture.Batch)
	go g.readOn()
	return g
}

// readOn reads until the source ends. If the run ends first, readOn goes on until the program ends.
func (g *growing) readOn() {
	for b := range g.free {
		err := g.src.Read(b)
		g.got <- delivery{b, g.src.Stats(), err}
		if err != nil {
			return
		}
	}
}

// Read fills b with what has come, or with nothing after pollEvery.
func (g *growing) Read(b *capture.Batch) error {
	if g.err != nil {
		b.Reset()
		return g.err
	}
	g.timer.Reset(pollEvery)
	select {
	case d := <-g.got:
		*b, *d.b = *d.b, *b
		g.stats, g.err = d.stats, d.err
		g.free <- d.b
		if n := len(b.Packets); n > 0 {
			g.high, g.since = max(g.high, b.Packets[n-1].Nanos), monotonic()
		}
		return d.err
	case <-g.timer.C:
		b.Reset()
		return nil
	}
}

// now is the clock of the run: the time stamps, and what has passed since they last came.
func (g *growing) now() int64 { return g.high + max(monotonic()-g.since-growingLag, 0) }

// Stats are those after the last batch.
func (g *growing) Stats() capture.Stats { return g.stats }

// Close does nothing: the source is in use until the program ends.
func (g *growing) Close() error { return nil }
