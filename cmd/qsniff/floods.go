package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"qsniff/flood"
	"qsniff/pipeline"
	"qsniff/render/jsonl"
	"qsniff/report"
	"qsniff/track"
)

// floodsOptions are the flags of floods. Those that it shares with read are in the
// options of read.
type floodsOptions struct {
	readOptions
	explain bool
	limits  flood.Thresholds
	replay  string
	servers string
}

func newFloods(io streams) *cobra.Command {
	opts := &floodsOptions{readOptions: *readDefaults(), limits: flood.Defaults()}
	cmd := &cobra.Command{
		Use:     "floods [flags] FILE...",
		GroupID: groupTraffic,
		Short:   "find query floods",
		Args:    someCapture("floods"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.replay == "" {
				return findFloods(cmd.Context(), opts, args, io)
			}
			model, err := limitsOf(opts.replay)
			if err != nil {
				return err
			}
			ours, err := oursOf(opts.servers)
			if err != nil {
				return err
			}
			return replayLimits(cmd.Context(), &opts.readOptions, model, ours, args, io)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.VarP(&choice{&opts.output, []string{"text", "json"}}, "output", "o", "text: for people; json: an incident a line")
	f.BoolVar(&opts.explain, "explain", false, "rules and the values of their features")
	f.StringVar(&opts.replay, "limits", "", "replay `NAME|per=,global=,window=`: rehlds, source, source-late, csgo, or numbers")
	f.StringVar(&opts.servers, "servers", "", "replay these servers only: `CIDR|ADDR:PORT,...`")
	f.BoolVar(&opts.utc, "utc", false, "text: times in UTC instead of local time")
	f.Var(&choice{&opts.color, []string{"auto", "always", "never"}}, "color", "text: auto colours terminals only")
	opts.registerInput(cmd)
	propose(cmd, "servers", cobra.NoFileCompletions)
	propose(cmd, "limits", completeLimits)
	cmd.ValidArgsFunction = completeCaptures
	return cmd
}

// findFloods reads captures and prints the incidents in them.
func findFloods(ctx context.Context, opts *floodsOptions, args []string, io streams) error {
	if err := opts.check(); err != nil {
		return err
	}
	reg, err := registry()
	if err != nil {
		return err
	}
	j, release, err := opts.prepare(ctx, reg, args)
	if err != nil {
		return err
	}
	defer release()
	out := &floodOutput{opts: opts, w: io.out}
	d := flood.New(opts.limits, float64(opts.memory)/pipeline.DefaultMemory)
	d.Found = out.found
	j.cfg.Watchers, j.cfg.Out = []track.Watcher{d}, io.out
	_, err = j.run(io.err)
	if err == nil {
		err = j.src.Close()
	}
	if out.err != nil {
		return out.err
	}
	if err == nil && interrupted(j.ctx) {
		return context.Canceled
	}
	return err
}

type floodOutput struct {
	opts *floodsOptions
	w    io.Writer
	buf  []byte
	err  error
}

func (o *floodOutput) found(in *report.Incident, e report.Event) {
	if e != report.Ends || o.err != nil {
		return
	}
	o.buf = jsonl.AppendIncident(o.buf[:0], in, nil, o.opts.explain)
	_, o.err = o.w.Write(o.buf)
}
