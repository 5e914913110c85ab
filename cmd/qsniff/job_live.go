package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"qsniff/dissect"
	"qsniff/internal/flood"
	"qsniff/internal/render/tally"
)

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
		return &usageError{fmt.Errorf("%s reads captures or interfaces, not both", cmd.Name()), "leave out -i, or " + args[0]}
	case live && o.follow:
		return &usageError{errors.New("--follow is for captures that grow"), "leave it out: -i goes on until Ctrl-C"}
	case live && o.reader != readerNative:
		return &usageError{errors.New("--reader is for captures"), "of interfaces, --backend chooses what captures"}
	case live:
		return o.checkCapture()
	}
	if name := givenCaptureFlag(cmd); name != "" {
		return &usageError{fmt.Errorf("%s goes with -i", name), "of a capture: tcpdump -r FILE -w - 'FILTER' | qsniff " + cmd.Name() + " -"}
	}
	if err := requireCapture(cmd, args); err != nil {
		return &usageError{err, "name a file, or - for standard input; -i captures on an interface"}
	}
	return nil
}

// givenCaptureFlag returns the first flag on the command line that is about interfaces only;
// empty for none.
func givenCaptureFlag(cmd *cobra.Command) string {
	for _, name := range []string{"capture-filter", "auto-filter", "snaplen", "buffer", "promiscuous", "backend", "no-sandbox"} {
		if cmd.Flags().Changed(name) {
			return "--" + name
		}
	}
	return ""
}

// prepareLive opens the interfaces of -i, and returns a job. The caller calls its release.
func (o *readOptions) prepareLive(ctx context.Context, reg *dissect.Registry, io streams) (*job, error) {
	l, err := openCaptureOf(reg, &liveOptions{readOptions: *o}, io)
	if err != nil {
		return nil, err
	}
	l.cfg.MaxMessages, l.cfg.CutsToMicros = o.count, true
	return &job{ctx: ctx, release: func() { l.tap.Finish() }, io: io, live: l, cfg: l.cfg}, nil
}

// runLive captures until the user ends it, calls print with the totals, and prints a summary on
// standard error.
func (j *job) runLive(print func(tally.Run) error) error {
	l := j.live
	l.cfg = j.cfg
	if l.cfg.Listener == nil && l.cfg.Dialogues == nil { // then no messages are decoded that could be counted
		l.seen = new(flood.Seen)
		l.cfg.Watchers = append(l.cfg.Watchers, l.seen)
	}
	l.report = func(run tally.Run) error {
		if run.Packets > 0 {
			run.Last = max(run.Last, time.Now().UnixNano()) // silence was captured as well
		}
		return print(run)
	}
	if err := l.enterSandbox(); err != nil {
		return err
	}
	return l.run(j.ctx)
}
