package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"qsniff/flood"
	"qsniff/flood/config"
	"qsniff/internal/hostset"
	"qsniff/render"
	"qsniff/render/counters"
	"qsniff/render/jsonl"
	"qsniff/render/nft"
	"qsniff/render/tally"
	"qsniff/render/text"
	"qsniff/track"
)

// floodsOptions are the flags of floods. Those that it shares with read are in the
// options of read.
type floodsOptions struct {
	readOptions
	explain    bool
	verbose    bool
	thresholds string
	level      string
	failOn     string
	replay     string
	limits     flood.Thresholds
	own        *hostset.Set // what --servers names; nil: all
}

// levels are the values of --level and --fail-on, in the order of flood.Level.
var levels = []string{"info", "warn", "alert"}

const formTOML = "toml"

func newFloods(io streams) *cobra.Command {
	opts := &floodsOptions{readOptions: *readDefaults(), level: levels[0], limits: flood.Defaults()}
	cmd := &cobra.Command{
		Use:     "floods [flags] FILE...",
		GroupID: groupTraffic,
		Short:   "find query floods",
		Long: `floods reads captures and says whether servers in them were flooded with queries,
used against others, or searched for: what kind of attack, on which server, from when
to when, how much, from whom, how sure that is and why not surer, and what can be done.
It tells floods from crowds, monitors and busy hours by what the protocol proves:
whether sources bring back the challenge that they were given.

Levels: "alert" is an attack, "warn" may be one, "info" is good to know: a crowd, a
busy monitor, a server that answers anybody. What cannot be told is said: an attack of
real clients that each ask little looks like a crowd, and a capture of one direction
does not show who proved an address.

--explain adds the rule of each incident with its thresholds and the values measured;
without FILE it prints all rules and thresholds. Each threshold can be set in a file
that --thresholds names: qsniff floods --explain -o toml prints one with all of them.

` + limitsHelp + `

Ctrl-C prints what was found so far; the first line then says how far the run came. With
-o json each incident is a line, written when it is over, and the last line has
"record":"interrupted" then. With -o nft the rules that are advised against warnings
and alerts are one file for nft -f, with a table for each; comments say how to remove
it. Nothing is loaded by qsniff itself. FILE is as in qsniff read, whose output has
warnings and alerts too, where they were detected.

Exit status: 0 fine, 1 the run failed, 2 wrong usage, 3 --fail-on was reached, 130
interrupted.`,
		Example: `  qsniff floods capture.pcap                        is this an attack?
  qsniff floods --explain capture.pcap              and why?
  qsniff floods --servers 198.18.0.0/15 --level warn capture.pcap
  qsniff floods --fail-on alert capture.pcap > report.txt; test $? -ne 3 || echo attacked
  qsniff floods -o json capture.pcap > incidents.jsonl
  qsniff floods -o nft capture.pcap > attack.nft    rules for nft -f attack.nft
  qsniff floods --limits rehlds capture.pcap        whom the server itself would refuse
  qsniff floods --explain                           all rules, all thresholds
  qsniff floods --explain -o toml > floods.toml     a file to change them
  tcpdump -U -w - udp | qsniff floods -             until Ctrl-C`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.check(cmd, args); err != nil {
				return err
			}
			switch {
			case opts.replay != "":
				return opts.replayed(cmd.Context(), args, io)
			case len(args) == 0:
				return opts.rules(io.out)
			}
			return findFloods(cmd.Context(), opts, args, io)
		},
	}
	cmd.ValidArgsFunction = completeCaptures
	opts.register(cmd)
	takeHabits(cmd, &opts.readOptions)
	return cmd
}

func (o *floodsOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.VarP(&choice{&o.output, []string{"text", "json", "nft", formTOML}}, "output", "o", "text: for people; json: an incident a line; nft: rules against warnings and alerts, for nft -f; toml: a file of thresholds, with --explain")
	f.BoolVar(&o.explain, "explain", false, "tell the rules and the values they were held against; without FILE, all rules and thresholds")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "text: tell all about notes, too")
	f.Var(&choice{&o.level, levels}, "level", "list incidents of this level and above")
	o.registerPage(cmd)
	o.registerServers(cmd, "list incidents at these targets only")
	f.StringVar(&o.thresholds, "thresholds", "", "take thresholds from `FILE.toml`")
	f.Var(&choice{&o.failOn, levels}, "fail-on", "exit with status 3 if there is an incident of this level or above")
	f.StringVar(&o.replay, "limits", "", "replay `NAME|per=,global=,window=`: rehlds, source, source-late, csgo, or numbers")
	o.registerInput(cmd)
	propose(cmd, "limits", completeLimits)
	propose(cmd, "thresholds", cobra.FixedCompletions([]cobra.Completion{formTOML}, cobra.ShellCompDirectiveFilterFileExt))
}

// check reports what does not go together, and reads what flags name.
func (o *floodsOptions) check(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 && (!o.explain || o.replay != ""):
		return captureNeeded(cmd, args)
	case o.output == formTOML && (!o.explain || len(args) > 0):
		return &usageError{errors.New("-o toml goes with --explain and without a capture"), "it prints all thresholds: qsniff floods --explain -o toml"}
	case o.output == "nft" && o.explain:
		return &usageError{errors.New("--explain does not go with -o nft"), "without -o it explains the same incidents"}
	case o.verbose && o.output != "text":
		return &usageError{fmt.Errorf("-v goes with -o text, not with -o %s", o.output), "JSON has everything"}
	}
	if o.replay != "" {
		for _, name := range []string{"explain", "verbose", "level", "fail-on", "thresholds"} {
			if cmd.Flags().Changed(name) {
				return &usageError{fmt.Errorf("--%s does not go with --limits", name), "--limits replays the limiter of a server and looks for no floods"}
			}
		}
	}
	var err error
	if o.own, err = o.ours(); err != nil {
		return err
	}
	if err := o.loadThresholds(); err != nil {
		return err
	}
	return o.readOptions.check()
}

// rules prints when what is found.
func (o *floodsOptions) rules(out io.Writer) error {
	var b []byte
	switch o.output {
	case formTOML:
		b = config.Append(nil, o.limits)
	case "json":
		b = jsonl.AppendRules(nil, flood.RulesOf(o.limits))
	default:
		b = text.AppendRules(nil, flood.RulesOf(o.limits), o.textOptions(out))
	}
	return write(out, b)
}

// replayed replays the limiter of a server.
func (o *floodsOptions) replayed(ctx context.Context, args []string, io streams) error {
	model, err := limitsOf(o.replay)
	if err != nil {
		return err
	}
	return replayLimits(ctx, &o.readOptions, model, o.own, args, io)
}

// findFloods reads captures and prints the incidents in them.
func findFloods(ctx context.Context, opts *floodsOptions, args []string, io streams) error {
	j, err := opts.opened(ctx, args, io)
	if err != nil {
		return err
	}
	defer j.release()
	out := newFloodOutput(opts, io.out)
	d := newDetector(j.cfg.Registry, opts.limits, opts.scale())
	d.Observe(out.found)
	j.cfg.Watchers = []track.Watcher{&out.seen, d}
	j.tells = opts.output == "text"
	j.scrolls = opts.output == "json"
	var f *render.Floods
	err = j.addUp(func(run tally.Run) error {
		f = out.report(run, d)
		if err := out.print(f); err != nil {
			return err
		}
		floodRemark(io.err, f, opts.output)
		return nil
	})
	if err == nil && opts.reached(f) {
		return errReached
	}
	return err
}

// reached reports whether there is an incident that --fail-on names.
func (o *floodsOptions) reached(f *render.Floods) bool {
	if o.failOn == "" {
		return false
	}
	for l, n := range f.Counts {
		if n > 0 && flood.Level(l) >= levelNamed(o.failOn) {
			return true
		}
	}
	return false
}

func levelNamed(name string) flood.Level {
	for l, n := range levels {
		if n == name {
			return flood.Level(l)
		}
	}
	return flood.Info
}

// floodOutput is where incidents go: in JSON each at once, else into a page.
type floodOutput struct {
	opts  *floodsOptions
	w     io.Writer
	seen  flood.Seen
	keep  flood.Collector
	least flood.Level
	buf   []byte
	err   error
}

func newFloodOutput(opts *floodsOptions, w io.Writer) *floodOutput {
	o := &floodOutput{opts: opts, w: w, least: levelNamed(opts.level)}
	o.keep.Least = o.least
	o.keep.Ours = o.ours
	if opts.output == "json" {
		o.keep.Least = flood.Alert + 1 // counted only
	}
	return o
}

func (o *floodOutput) ours(in *flood.Incident) bool { return concerns(o.opts.own, in) }

func (o *floodOutput) found(in *flood.Incident, e flood.Event) {
	o.keep.Found(in, e)
	if o.opts.output != "json" || e != flood.Ends || o.err != nil || in.Level < o.least || !o.ours(in) {
		return
	}
	o.buf = jsonl.AppendIncident(o.buf[:0], in, o.opts.explain)
	_, o.err = o.w.Write(o.buf)
}

func (o *floodOutput) report(run tally.Run, d *flood.Detector) *render.Floods {
	f := &render.Floods{Run: run, Seen: &o.seen, Incidents: o.keep.Incidents(), Counts: o.keep.Counts(), Others: o.keep.Others(),
		Unnamed: o.keep.Unnamed(d), Full: d.Full(), Limits: o.opts.limits}
	f.Other, f.OtherPeak = d.Others()
	return f
}

// print writes the page, or reports whether incidents could be written.
func (o *floodOutput) print(f *render.Floods) error {
	if o.opts.output == "json" {
		return cmp.Or(o.err, write(o.w, jsonl.AppendInterrupted(jsonl.AppendOther(nil, f), &f.Run)))
	}
	if o.opts.output == "nft" {
		return write(o.w, nft.AppendFloods(nil, f))
	}
	how := text.FloodOptions{Verbose: o.opts.verbose, Explain: o.opts.explain}
	return write(o.w, text.AppendFloods(nil, f, o.opts.textOptions(o.w), how))
}

// floodRemark says on standard error what a reader of the output could not guess. A
// page says most of it itself.
func floodRemark(w io.Writer, f *render.Floods, output string) {
	if output == "json" {
		switch seen := f.Seen; {
		case f.Run.Packets == 0:
			fmt.Fprintln(w, "qsniff: the capture has no packets")
		case seen.Queries+seen.Replies+seen.Junk+seen.Logins == 0:
			fmt.Fprintf(w, "qsniff: no query traffic in %s\n", count(f.Run.Packets, "packet"))
		case seen.OneWay() != "":
			fmt.Fprintf(w, "qsniff: only %s were captured: who proves an address is not to be seen\n", seen.OneWay())
		}
		doubled(w, &f.Run)
		if f.Run.Dropped > 0 {
			fmt.Fprintf(w, "qsniff: the capturing program lost %s: rates were higher\n", count(f.Run.Dropped, "packet"))
		}
	}
	hint(w, &counters.Result{Floods: f.Unnamed}, counters.Incidents)
	if len(f.Full) > 0 {
		fmt.Fprintf(w, "qsniff: no room for more %s: incidents there may be missing (--memory)\n", strings.Join(f.Full, ", "))
	}
}
