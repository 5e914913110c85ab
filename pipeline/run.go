package pipeline

import (
	"context"
	"io"
	"slices"

	"qsniff/render"
	"qsniff/render/tally"
)

// Run reads the source to its end and returns the counters of the run. The error is that
// of the source, of the writer or of ctx; the counters are valid in any case, and
// what preceded the error is written. If ctx ends while the source blocks, Run returns
// without waiting for it. The caller closes the source.
func Run(ctx context.Context, cfg Config) (tally.Run, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	size := 1.0
	if cfg.Memory > 0 {
		size = float64(cfg.Memory) / DefaultMemory
	}
	r := newReader(cfg.Source, int(fragMemory*size))
	r.dedup.mode, r.seed, r.idle.now = cfg.Dedup, cfg.Seed, cfg.Clock
	if cfg.Incidents != nil {
		cfg.Watchers = append(slices.Clip(cfg.Watchers), cfg.Incidents)
	}
	r.watched = len(cfg.Watchers) > 0
	parts := make([]*partition, Partitions)
	for i := range parts {
		parts[i] = newPartition(i, &cfg, size)
	}
	jobs := min(max(cfg.Jobs, 1), Partitions)
	if cfg.wantsOnlySightings() && jobs > 1 { // the fold, with the watchers, has as much to do as a worker
		jobs--
	}
	for i := jobs; i < Partitions; i++ {
		parts[i].shareMemory(parts[i%jobs])
	}
	f := newFold(&cfg, jobs, size)
	for j := range jobs {
		w := newWorker(j, jobs, parts)
		w.endsEarly = cfg.MaxMessages > 0 || cfg.Dialogues != nil
		f.workers = append(f.workers, w)
	}
	err := f.foldBatches(ctx, startStages(ctx, r, f.workers))
	if f.hold != nil {
		err = f.finishHold(err)
	}
	if f.dialogues != nil {
		err = f.finishDialogues(err, cfg.AppendEnding)
	}
	if end := f.watching.endEarly(err); end != nil {
		err = end
	}
	return f.summary(), err
}

// newFold returns the fold of a run with so many workers, which the caller adds.
func newFold(cfg *Config, jobs int, size float64) *fold {
	o := &textOutput{w: cfg.Out, cutsToMicros: cfg.CutsToMicros}
	f := &fold{out: o, max: uint64(max(cfg.MaxMessages, 0)), types: map[typeKey]uint64{}, progress: cfg.Progress,
		listener: cfg.Listener, packets: cfg.Packets, watching: watching{out: o, watchers: cfg.Watchers, doubt: newDoubt()}, heads: make([]head, jobs)}
	f.totals = f.summary
	f.addFilter(cfg)
	renderer := cfg.Renderer
	if cfg.Dialogues != nil {
		renderer, f.dialogues = cfg.Dialogues.Renderer(), newDialogues(o, cfg.Dialogues, f.outcomes)
	}
	if cfg.Incidents != nil {
		f.watching.announcer, _ = cfg.Renderer.(render.IncidentRenderer)
		cfg.Incidents.Observe(f.watching.announce)
	}
	if cfg.wantsHosts() {
		f.findings = newHostFindings(o, size, cfg.Listener, renderer, f.dialogues)
		f.findings.chooser, f.findings.hold = f.watching.chooser, f.hold
	}
	return f
}

// addFilter adds what Config.Filter needs.
func (f *fold) addFilter(cfg *Config) {
	if cfg.Filter == nil {
		return
	}
	f.filter, f.watching.chooser = cfg.Filter, newChooser(cfg.Filter)
	if cfg.Listener != nil {
		f.requests = newRequests()
	}
	if cfg.Filter.holds() {
		f.outcomes = newStreamOutcomes(cfg.Filter)
		if cfg.Dialogues == nil { // which hold messages themselves
			f.hold = &hold{outcomes: f.outcomes}
			f.watching.hold = f.hold
		}
	}
}

// queue passes batches around: the free ones to the reader, the full ones to the fold.
// Each channel has room for all batches, so sending never blocks.
type queue struct {
	free, full chan *batch
}

// startStages starts the goroutines of the reader and the workers. They end with the
// source or ctx.
func startStages(ctx context.Context, r *reader, workers []*worker) queue {
	q := queue{free: make(chan *batch, inFlight), full: make(chan *batch, inFlight)}
	for range inFlight {
		q.free <- newBatch()
	}
	for _, w := range workers {
		go w.run(ctx)
	}
	go func() {
		defer func() {
			for _, w := range workers {
				close(w.in)
			}
		}()
		for more := true; more; {
			var b *batch
			select {
			case b = <-q.free:
			case <-ctx.Done():
				return
			}
			more = r.fill(ctx, b)
			for _, w := range workers {
				w.in <- b
			}
			q.full <- b
		}
	}()
	return q
}

// foldBatches folds batches until the last one, the limit or an error.
func (f *fold) foldBatches(ctx context.Context, q queue) error {
	for {
		var b *batch
		select {
		case b = <-q.full:
		case <-ctx.Done():
			return ctx.Err()
		}
		enough, err := f.merge(ctx, b)
		if err != nil || enough {
			return err // the batch is not given back: workers may still be at it
		}
		last := b.err
		q.free <- b
		switch last {
		case nil:
		case io.EOF:
			return nil
		default:
			return last
		}
	}
}

// finishDialogues writes the dialogues that the end of the run leaves open, unless the
// writer failed. It returns err or, if that is nil, the error of writing them.
func (f *fold) finishDialogues(err error, ending func([]byte, tally.Run) []byte) error {
	if f.out.failed != nil {
		return err
	}
	if ending != nil {
		f.out.buf = ending(f.out.buf, f.summary())
	}
	f.dialogues.finish(f.isFull())
	if failed := f.out.flush(); err == nil {
		err = failed
	}
	return err
}
