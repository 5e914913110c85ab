package main

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"qsniff/dissect"
	"qsniff/pipeline"
	"qsniff/report"
)

// job is a run over captures that are open: what read, follow and stats have in
// common. They complete cfg with what they want to know.
type job struct {
	ctx context.Context // ends with the signal that ends the run
	src input
	cfg pipeline.Config
}

// captureNeeded is what commands take that read captures.
func captureNeeded(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return &usageError{fmt.Errorf("%s: no capture given", cmd.Name()), "name a file, or - for standard input"}
	}
	return nil
}

// prepare opens the captures of args. The caller releases the signals.
func (o *readOptions) prepare(ctx context.Context, reg *dissect.Registry, args []string) (j *job, release func(), err error) {
	as, err := decodeAs(o.as, reg)
	if err != nil {
		return nil, nil, err
	}
	ctx, release = graceful(ctx, o.follow || slices.Contains(args, stdin))
	src, err := o.open(ctx, args)
	if err != nil {
		release()
		return nil, nil, err
	}
	return &job{ctx: ctx, src: src, cfg: pipeline.Config{
		Source: src.Source, Many: src.many, Registry: reg, Jobs: o.jobs, Max: o.count, Memory: int64(o.memory),
		DecodeAs: as, Dedup: dedups[o.dedup],
	}}, release, nil
}

// run reads the captures, with a progress bar on errs.
func (j *job) run(errs io.Writer) (report.Run, error) {
	debug.SetMemoryLimit(j.cfg.Memory)
	tell, done := progress(errs, j.src.Source)
	defer done()
	j.cfg.Progress = tell
	return pipeline.Run(j.ctx, j.cfg)
}
