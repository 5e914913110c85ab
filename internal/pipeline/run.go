package pipeline

import (
	"context"
	"slices"

	"qsniff/dissect"
	"qsniff/internal/render"
	"qsniff/internal/render/tally"
	"qsniff/internal/track"
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
	r.copies.mode, r.copies.looksAhead = cfg.Dedup, cfg.Dedup != DedupOff && cfg.Clock == nil && r.decoder == nil
	r.seed, r.idle.now = cfg.Seed, cfg.Clock
	r.weight = min(cfg.Sampled, track.MaxWeight)
	r.offload = dissect.NewOffload(cfg.Registry)
	r.proxies = newProxies(cfg.Registry)
	r.proxies.looksAhead = cfg.Clock == nil && r.decoder == nil
	if cfg.Incidents != nil {
		cfg.Watchers = append(slices.Clip(cfg.Watchers), cfg.Incidents)
	}
	r.watched = len(cfg.Watchers) > 0
	parts := make([]*partition, Partitions)
	for i := range parts {
		parts[i] = newPartition(i, &cfg, size)
	}
	jobs := cfg.numWorkers()
	for i := jobs; i < Partitions; i++ {
		parts[i].shareMemory(parts[i%jobs])
	}
	f := newFold(&cfg, jobs, size)
	if cfg.Clock == nil {
		f.skews = alignClocks(cfg.Source, cfg.Registry, cfg.DecodeAs)
	}
	for j := range jobs {
		w := newWorker(j, jobs, parts, cfg.numSegments())
		w.looksAhead = parts[j].brevity.hasShortWay && !parts[j].skipsDatagrams
		w.endsEarly = cfg.MaxMessages > 0 || cfg.Dialogues != nil
		f.workers = append(f.workers, w)
	}
	err := newStages(r, f, &cfg).run(ctx)
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
	f := &fold{out: o, max: uint64(max(cfg.MaxMessages, 0)), progress: cfg.Progress,
		listener: cfg.Listener, packets: cfg.Packets, watching: watching{out: o, watchers: cfg.Watchers, foreseers: foreseersOf(cfg.Watchers), doubt: newDoubt()}, heads: make([]head, jobs)}
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
