package pipeline

import (
	"context"
	"io"
	"net/netip"
	"slices"

	"qsniff/capture"
	"qsniff/dissect"
	"qsniff/flood"
	"qsniff/pipeline/tally"
	"qsniff/render"
	"qsniff/render/dialogue"
	"qsniff/track"
)

// DefaultMemory is the budget of a run in bytes: what --memory scales.
const DefaultMemory = 64 << 20

// Config says what to run.
type Config struct {
	Source    capture.Source
	Registry  *dissect.Registry
	Renderer  render.Renderer // nil: messages are counted only
	Out       io.Writer       // gets one Write for each batch that has output
	Many      bool            // several inputs: messages name theirs
	Jobs      int             // goroutines that serve the partitions, at least 1
	Max       int             // messages to write before the run ends, 0 for all
	Memory    int64           // budget of all tables in bytes; 0 is DefaultMemory
	DecodeAs  []DecodeAs
	Dedup     Dedup
	Listener  track.Listener      // gets facts and findings in packet order; may be nil
	Watchers  []track.Watcher     // get sightings in packet order; where nobody else wants messages, those in datagrams are not read
	Incidents Incidents           // a watcher whose word is written at its place, if the renderer has a form for it; may be nil
	Dialogues *dialogue.Collector // renders in place of Renderer; may be nil
	// Ending appends what is to precede the dialogues that the end of the run leaves open;
	// may be nil.
	Ending   func(dst []byte, run tally.Run) []byte
	Progress func(capture.Stats) // called with the source's totals after each batch; may be nil
	Count    bool                // messages are read though nobody gets more than their number

	// Clock is asked where the source brings nothing, which a live one says with empty
	// batches, so that what waits goes on: nanoseconds that never go back, from any
	// moment on. nil: only packets make time pass.
	Clock func() int64

	// Micros says that the renderer cuts times to microseconds: those since the line
	// before are cut alike.
	Micros bool

	// Seed keys the hashes from which estimates are made and copies recognised; tables
	// have seeds of their own. It must be random on live traffic; 0 is the seed of the
	// capture, see seedOf.
	Seed uint64
}

// Incidents finds incidents in sightings, and calls its observers with those events
// that are to be written.
type Incidents interface {
	track.Watcher
	Observe(found func(in *flood.Incident, e flood.Event))
}

// DecodeAs says that what comes from or goes to a port of UDP, or of TCP, is a
// protocol's; where Proto is nil, which UDP allows, that it is one of ours.
type DecodeAs struct {
	TCP   bool
	Port  uint16
	Proto *dissect.Proto
}

// datagram tells whether the rule is for a datagram between two ends.
func (d *DecodeAs) datagram(src, dst netip.AddrPort) bool {
	return !d.TCP && (d.Port == src.Port() || d.Port == dst.Port())
}

// Run reads the source to its end and returns what it came to. The error is that
// of the source, of the writer or of ctx; the result is valid in any case, and
// what preceded the error is written. A source that blocks is left behind: Run
// returns without waiting for it, and the caller closes it.
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
	parts := make([]*partition, Partitions)
	for i := range parts {
		parts[i] = newPartition(i, &cfg, size)
	}
	jobs := min(max(cfg.Jobs, 1), Partitions)
	if cfg.watched() && jobs > 1 { // the fold, with the watchers, has as much to do as a worker
		jobs--
	}
	f := &fold{w: cfg.Out, max: uint64(max(cfg.Max, 0)), types: map[typeKey]uint64{}, progress: cfg.Progress, listener: cfg.Listener, dialogues: cfg.Dialogues, watchers: cfg.Watchers,
		micros: cfg.Micros, render: cfg.Renderer, heads: make([]head, jobs)}
	if cfg.Dialogues != nil {
		f.render, cfg.Dialogues.Flush = cfg.Dialogues.Renderer(), f.flushed
	}
	if cfg.Incidents != nil {
		f.announces, _ = cfg.Renderer.(render.IncidentRenderer)
		cfg.Incidents.Observe(f.incident)
	}
	if cfg.judged() {
		f.hosts = track.NewHosts(size)
		f.hosts.Raise = f.raised
	}
	for j := range jobs {
		f.workers = append(f.workers, newWorker(j, jobs, parts))
	}
	err := f.drain(ctx, start(ctx, r, f.workers))
	if f.dialogues != nil {
		err = f.conclude(err, cfg.Ending)
	}
	if end := f.cutShort(err); end != nil {
		err = end
	}
	return f.summary(), err
}

// queue is the way of batches: free to the reader, full to the fold. Both hold
// all that there are, so sending never blocks.
type queue struct {
	free, full chan *batch
}

// start sets the reader and the workers going. They end with the source or ctx.
func start(ctx context.Context, r *reader, workers []*worker) queue {
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

// drain folds batches until the last one, the limit or an error.
func (f *fold) drain(ctx context.Context, q queue) error {
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
