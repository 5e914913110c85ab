package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/spf13/cobra"

	"qsniff/dissect"
	"qsniff/internal/digits"
	"qsniff/internal/lru"
	"qsniff/pipeline"
	"qsniff/render/tally"
)

// job is a run over captures that are open: what the commands have in common that
// read them. They complete cfg with what they want to know.
type job struct {
	ctx            context.Context // ends with the signal that ends the run
	release        func()          // gives the signals back
	showsInterrupt bool            // the output itself says where it was interrupted
	streamsOutput  bool            // the output comes while packets are read
	io             streams
	src            input
	cfg            pipeline.Config
}

// requireCapture is what commands take that read captures.
func requireCapture(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		what := "no capture given"
		if cmd.HasParent() {
			what = cmd.Name() + ": " + what
		}
		return &usageError{errors.New(what), "name a file, or - for standard input"}
	}
	return nil
}

// prepareAll is prepare for commands that do not need the protocols before.
func (o *readOptions) prepareAll(ctx context.Context, args []string, io streams) (*job, error) {
	reg, err := newRegistry()
	if err != nil {
		return nil, err
	}
	return o.prepare(ctx, reg, args, io)
}

// prepare opens the captures of args. The caller releases the job.
func (o *readOptions) prepare(ctx context.Context, reg *dissect.Registry, args []string, io streams) (*job, error) {
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
		DecodeAs: as, Dedup: dedups[o.dedup], Seed: o.seed(),
	}}, nil
}

// seed is random where packets are fresh from the wire: who sends them must not know
// where they lie in tables. A capture is to give the same output each time, also
// through a pipe.
func (o *readOptions) seed() uint64 {
	if o.follow {
		return rand.Uint64() | 1
	}
	return 0
}

// run reads the captures, with a line of progress. Where the user ends it, the output
// says how far it came, and standard error does if nobody would see it there.
func (j *job) run() (tally.Run, error) {
	tell, done := j.startProgress()
	j.cfg.Progress = tell
	result, err := pipeline.Run(j.ctx, j.cfg)
	done()
	printRekeyed(j.io.err, lru.Rekeyed()) // after done, which clears the line of progress
	switch result.Interrupted = isInterrupted(j.ctx); {
	case !result.Interrupted:
	case result.Packets == 0:
		fmt.Fprintln(j.io.err, "qsniff: interrupted before the first packet")
	case !j.showsInterrupt || !isTerminal(j.io.out):
		fmt.Fprintf(j.io.err, "qsniff: interrupted after %s\n", digits.Extent(result.Packets, result.Read, result.Size))
	}
	return result, err
}

// runToEnd reads the captures to their end and has tell print what they come to. What
// precedes damage is printed, then the damage told.
func (j *job) runToEnd(tell func(tally.Run) error) error {
	result, err := j.run()
	if err == nil {
		err = j.src.Close()
	}
	if err == nil || result.Packets > 0 { // the error says why there are none
		if err := tell(result); err != nil {
			return err
		}
	}
	return j.exitError(err)
}

// exitError is err, unless it is nil though the user asked to stop.
func (j *job) exitError(err error) error {
	if err == nil && isInterrupted(j.ctx) {
		return context.Canceled
	}
	return err
}
