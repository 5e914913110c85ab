package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
	"qsniff/internal/track/stats"
)

// statsOptions are the flags of stats. Those that read has, too, are in readOptions.
type statsOptions struct {
	readOptions
	interval time.Duration
	top      int
	listsAll bool // servers and clients are listed
	verbose  bool
}

func newStats(io streams) *cobra.Command {
	opts := &statsOptions{readOptions: *readDefaults(), top: 10}
	cmd := &cobra.Command{
		Use:     "stats [flags] FILE... | -i IFACE",
		GroupID: groupTraffic,
		Short:   "add up captures",
		Long: `stats reads captures and says what is in them: the rate, messages by type,
servers with what they say of themselves, what they answer and how fast, how much
larger answers are than requests, the busiest clients, findings, and what was left
out and why.

Memory does not grow with the capture. The number of clients is exact up to some
thousand and an estimate above; the list of the busiest says how much too high
each count can be. A request is unanswered if the whole wait for its answer lies
inside the capture.

With -Y only messages and findings that match are counted, and requests as unanswered
whose exchange has a request that matches; packets are all that were read. ` + filterHelp + `

Ctrl-C prints what was read so far; the first line then says how far that is ("interrupted"
in JSON).

` + captureHelp + `

FILE is as in qsniff read.`,
		Example: `  qsniff stats capture.pcap
  qsniff stats --servers 198.18.0.0/15 capture.pcap   what concerns one's own servers
  qsniff stats -Y 'message == A2S_RULES' evening.pcap   one kind of message
  qsniff stats -o json --interval 1s capture.pcap | jq -c '.series[]'
  qsniff stats -i eth0                                 as it happens, until Ctrl-C
  tcpdump -U -w - udp | qsniff stats -                 what another program captures`,
		Args: opts.requireInput,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.listsAll = opts.output == "json" && !cmd.Flags().Changed("top")
			return summarize(cmd.Context(), opts, args, io)
		},
	}
	cmd.ValidArgsFunction = completeCaptures
	opts.register(cmd)
	addHabits(cmd, &opts.readOptions)
	return cmd
}

func (o *statsOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.VarP(cli.OneOf(&o.output, "text", "json"), "output", "o", "text: for people; json: one object")
	f.DurationVar(&o.interval, "interval", 0, "length of the steps of the time series, as `1s` (0: so that there are up to 60)")
	f.IntVar(&o.top, "top", o.top, "list `N` servers and clients; json: all, unless it is given")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "text: print every counter that is not zero, too")
	o.registerFilter(cmd)
	o.registerPage(cmd)
	o.registerServers(cmd, "count messages of these servers only")
	o.registerCapture(cmd, captureInstead)
	o.registerInput(cmd)
	for _, name := range []string{"top", "interval"} {
		propose(cmd, name, cobra.NoFileCompletions)
	}
}

// check returns an error for values that are out of range.
func (o *statsOptions) check() error {
	const least = time.Millisecond
	switch {
	case o.interval != 0 && o.interval < least:
		return &usageError{fmt.Errorf("--interval %v: at least %v", o.interval, least), "write a length of time, as 500ms, 1s or 5m"}
	case o.top < 1:
		return &usageError{fmt.Errorf("--top %d: at least 1 is needed", o.top), "leave it out for ten"}
	}
	return o.readOptions.check()
}

// newCollector returns the collector of statistics that the flags ask for.
func (o *statsOptions) newCollector() (*stats.Collector, error) {
	ours, err := o.parseServers()
	if err != nil {
		return nil, err
	}
	opt := stats.Options{Interval: o.interval, Top: o.top, Ours: ours, Scale: o.scale()}
	if o.listsAll {
		opt.Top = math.MaxInt
	}
	return stats.New(opt), nil
}

// summarize reads captures and prints their statistics.
func summarize(ctx context.Context, opts *statsOptions, args []string, io streams) error {
	if err := opts.check(); err != nil {
		return err
	}
	all, err := opts.newCollector()
	if err != nil {
		return err
	}
	j, err := opts.openJob(ctx, args, io)
	if err != nil {
		return err
	}
	defer j.release()
	j.cfg.Listener = all
	j.showsInterrupt = opts.output == "text"
	return j.runToEnd(func(run tally.Run) error {
		return opts.print(io.out, &render.Stats{Run: run, Summary: *all.Summary(run.Last)})
	})
}

func (o *statsOptions) print(out io.Writer, s *render.Stats) error {
	if o.output == "json" {
		return write(out, jsonl.AppendStats(nil, s))
	}
	page := text.AppendStats(nil, s, o.textOptions(out))
	if o.verbose {
		page = text.AppendCounters(page, s, o.textOptions(out))
	}
	return write(out, page)
}
