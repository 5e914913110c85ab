package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"qsniff/capture"
	"qsniff/dissect"
	"qsniff/internal/app/cli"
	"qsniff/internal/app/remark"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/hostset"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/flood/config"
	"qsniff/internal/flood/limiter"
	"qsniff/internal/flood/proof"
	"qsniff/internal/flood/rules"
	"qsniff/internal/flood/rules/edge"
	"qsniff/internal/flood/rules/iptables"
	"qsniff/internal/flood/rules/loaded"
	"qsniff/internal/flood/rules/nft"
	"qsniff/internal/flood/rules/written"
	"qsniff/internal/render"
	"qsniff/internal/render/counters"
	"qsniff/internal/render/csv"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
	"qsniff/internal/track"
)

// floodsOptions are the flags of floods. Those that read has, too, are in readOptions.
type floodsOptions struct {
	readOptions
	explain    bool
	verbose    bool
	thresholds string
	level      string
	replay     string
	proven     bool
	expiry     time.Duration
	rules      string
	limits     flood.Thresholds
	asked      rules.Invocation
}

// levels are the values of --level and --fail-on, in the order of flood.Level.
var levels = []string{"info", "warn", "alert"}

const formTOML = "toml"

// ruleForms are the values of -o that print rules.
var ruleForms = []string{formNFT, "iptables", "xdp-filter", "ovh", "path"}

const formNFT = "nft"

func newFloods() *analysis {
	o := &floodsOptions{readOptions: *readDefaults(), level: levels[0], limits: flood.Defaults(), expiry: advice.DefaultExpiry}
	return &analysis{
		use:   "floods [flags] FILE... | -i IFACE",
		short: "find query floods",
		long:  floodsHelp,
		example: `  qsniff floods capture.pcap                        is this an attack?
  qsniff floods --explain capture.pcap              and why?
  qsniff floods --servers 198.18.0.0/15 --level warn capture.pcap
  qsniff floods --own 198.51.100.9,2001:db8:5::/64 capture.pcap    monitors of yours
  qsniff floods --fail-on alert capture.pcap > report.txt; test $? -ne 3 || echo attacked
  qsniff floods -o json capture.pcap > incidents.jsonl
  qsniff floods -o nft capture.pcap > attack.nft    rules for nft -f attack.nft
  qsniff floods -o nft --proven --expire 30m capture.pcap > attack.nft
  qsniff floods -o iptables capture.pcap > attack.sh
  qsniff floods --limits rehlds capture.pcap        whom the server itself would refuse
  qsniff floods --explain                           all rules, all thresholds
  qsniff floods --explain -o toml > floods.toml     a file to change them
  qsniff floods -i eth0                             as it happens, until Ctrl-C
  qsniff floods -i eth0 --rules attack.nft          and the rules, while it goes on
  qsniff floods -i eth0 -o nft > attack.nft         the rules at Ctrl-C
  tcpdump -U -w - udp | qsniff floods -             of what another program captures`,
		opts:  &o.readOptions,
		args:  cobra.ArbitraryArgs, // none for --explain
		flags: o.register,
		check: func(cmd *cobra.Command, args []string, _ streams) error { return o.check(cmd, args) },
		run: func(ctx context.Context, args []string, io streams) error {
			switch {
			case o.replay != "":
				return o.replayLimits(ctx, args, io)
			case len(args) == 0 && !o.isLive():
				return o.printRules(io.out)
			}
			return findFloods(ctx, o, args, io)
		},
	}
}

// floodsHelp is the long description in the help of qsniff floods.
const floodsHelp = `floods reads captures and reports whether servers in them were flooded with queries,
used against others, or searched for: what kind of attack, on which server, from when
to when, how much, from whom, how sure that is and why not surer, and what can be done.
Floods differ from crowds, monitors and busy hours by what the protocol proves: whether
sources bring back the challenge that they were given.

Levels: "alert" is an attack, "warn" may be one, "info" is good to know: a crowd, a
busy monitor, a server that answers anybody. The page names what a capture cannot show: an
attack of real clients that each ask little looks like a crowd, and a capture of one
direction does not show who proved an address. qsniff explain KIND explains a kind.

--own names the addresses of your monitors, panels and bots. Where they ask more than
clients do it is own_tool_storm (DOS-F03), a warning to ask less often, and no rules name
an address of theirs. Only queries that are proven count as theirs: whoever forges a
monitor's address is judged as anybody, and so is everything at a server that gives no
challenge, or refuses most queries. What others send meanwhile is judged without them.

--explain adds the rule of each incident with its thresholds and the values measured;
without FILE it prints all rules and thresholds. Each threshold can be set in a file
that --thresholds names: qsniff floods --explain -o toml prints one with all of them.

` + limitsHelp + `

With -i it captures on interfaces, as qsniff live does, until Ctrl-C. A terminal shows the
report so far, drawn anew each second; elsewhere each event of an incident appends a block. Ctrl-C prints the whole report, with rules to paste. --rules FILE writes them while
it goes on: when an attack is sure, and again as they change, for "sudo nft -f FILE".

Ctrl-C prints what was found so far; the first line then says how far the run came. With
-o json each incident is a line, written when it is over, and the last line has
"record":"interrupted" then. FILE is as in qsniff read, whose output has warnings and
alerts too, where they were detected.

With -o nft the rules against all warnings and alerts are one file for nft -f with one
table, inet qsniff; with -o iptables they are one script for sh that loads chains named
QSNIFF... with iptables-restore. Loading them again does no harm, loading those of a
later report replaces them, and an hour after that they match nothing any more: --expire
sets another time. Comments in them say what they do and how to undo it. qsniff itself
loads nothing. With --proven clients that proved their address in the capture pass
before the limits for others, up to a limit of their own.

Simpler filters can do a part of that, and say which: -o xdp-filter is a script that
drops named addresses before the kernel sees them, -o ovh and -o path are texts with
what to enter into the edge firewall of a provider (protocol, addresses, ports, and
lengths and first bytes of packets to ask for).

Exit status: 0 fine, 1 the run failed, 2 wrong usage, 3 --fail-on was reached, 130
interrupted; -i that was ended by Ctrl-C is 0.`

func (o *floodsOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.VarP(cli.OneOf(&o.output, slices.Concat([]string{"text", "json", "csv"}, ruleForms, []string{formTOML})...), "output", "o",
		"text: for people; json: an incident a line; csv: a table; nft, iptables: rules against warnings and alerts, for nft -f and for sh; xdp-filter, ovh, path: what these can do of them; toml: a file of thresholds, with --explain")
	f.BoolVar(&o.explain, "explain", false, "print the rules and the values they were compared with; without FILE, all rules and thresholds")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "text: all that is known, advice and what was tried")
	f.Var(cli.OneOf(&o.level, levels...), "level", "list incidents of this level and above")
	o.registerPage(cmd)
	o.registerServers(cmd, "list incidents at these targets only")
	o.registerOwn(cmd)
	f.StringVar(&o.thresholds, "thresholds", "", "take thresholds from `FILE.toml`")
	f.BoolVar(&o.proven, "proven", false, "text, nft, --rules: let clients that proved their address in the capture pass first")
	f.DurationVar(&o.expiry, "expire", o.expiry, "nft, iptables, xdp-filter: rules match for this `TIME` after they were loaded (0: until they are removed)")
	f.Var(cli.OneOf(&o.failOn, levels...), "fail-on", "exit with status 3 if there is an incident of this level or above")
	f.StringVar(&o.replay, "limits", "", "replay `NAME|per=,global=,window=`: rehlds, source, source-late, csgo, or numbers")
	registerRules(cmd, &o.rules)
	o.registerCapture(cmd, " in place of reading FILE")
	o.registerInput(cmd)
	propose(cmd, "limits", completeLimits)
	propose(cmd, "thresholds", cobra.FixedCompletions([]cobra.Completion{formTOML}, cobra.ShellCompDirectiveFilterFileExt))
}

// check returns an error for flags that do not go together, and loads what flags name.
func (o *floodsOptions) check(cmd *cobra.Command, args []string) error {
	printsTables := o.explain && o.replay == "" && len(args) == 0 && givenCaptureFlag(cmd) == ""
	if !printsTables || o.isLive() {
		if err := o.requireInput(cmd, args); err != nil {
			return err
		}
	}
	switch {
	case o.isLive() && o.replay != "":
		return cli.Usage(errors.New("--limits does not go with -i"), "it replays captures: qsniff live -i IFACE -w FILE makes one")
	case o.rules != "" && !o.isLive():
		return cli.Usage(errors.New("--rules goes with -i"), "of a capture: qsniff floods -o nft FILE > attack.nft")
	case o.output == formTOML && (!o.explain || len(args) > 0 || o.isLive()):
		return cli.Usage(errors.New("-o toml goes with --explain and without a capture"), "it prints all thresholds: qsniff floods --explain -o toml")
	case o.printsRules() && o.explain:
		return cli.Usage(fmt.Errorf("--explain does not go with -o %s", o.output), "without -o it explains the same incidents")
	case o.proven && o.output != formNFT && o.output != "text" && o.rules == "":
		return cli.Usage(fmt.Errorf("--proven goes with -o text, -o nft or --rules, not with -o %s", o.output), "the other tools have no sets of addresses that expire; qsniff proven lists the clients")
	case o.expiry < 0 || o.expiry%time.Second != 0:
		return cli.Usage(fmt.Errorf("--expire %v: whole seconds, or 0", o.expiry), "rules match for so long after they were loaded: --expire 90m")
	case o.verbose && o.output != "text":
		return cli.Usage(fmt.Errorf("-v goes with -o text, not with -o %s", o.output), "JSON has everything")
	}
	o.asked = o.invocation(cmd, args)
	if o.replay != "" {
		for _, name := range []string{"explain", "verbose", "level", "fail-on", "thresholds", "own", "proven", "expire"} {
			if cmd.Flags().Changed(name) {
				return cli.Usage(fmt.Errorf("--%s does not go with --limits", name), "--limits replays the limiter of a server and looks for no floods")
			}
		}
	}
	var err error
	if err = o.parseOwn(); err != nil {
		return err
	}
	o.limits, err = cli.LoadThresholds(o.thresholds)
	return err
}

// printsRules reports whether the output is rules for a firewall.
func (o *floodsOptions) printsRules() bool { return slices.Contains(ruleForms, o.output) }

// choosing are the flags that choose incidents and rules, so that commands which print the
// same again have them.
var choosing = []string{"servers", "own", "level", "thresholds", "expire", "decode-as", "dedup", "sampled", "memory", "reader"}

// invocation returns how the command was called, for the commands in its output.
func (o *floodsOptions) invocation(cmd *cobra.Command, args []string) rules.Invocation {
	words := o.flagWords(cmd, func(f *pflag.Flag) bool { return slices.Contains(choosing, f.Name) })
	if slices.Contains(args, stdin) { // what comes from there cannot be read again
		return rules.Invocation{Flags: cli.Quote(words...), Proven: o.proven}
	}
	files := slices.Clone(args)
	if len(files) > 0 && strings.HasPrefix(files[0], "-") {
		files = slices.Insert(files, 0, "--")
	}
	for _, name := range o.interfaces {
		files = append(files, "-i", name)
	}
	return rules.Invocation{Captures: cli.Quote(files...), Flags: cli.Quote(words...), Proven: o.proven, IsLive: o.isLive(), Written: o.rules}
}

// printRules prints all rules and thresholds.
func (o *floodsOptions) printRules(out io.Writer) error {
	var b []byte
	switch o.output {
	case formTOML:
		b = config.Append(nil, o.limits)
	case "json":
		b = jsonl.AppendRules(nil, flood.Explain(o.limits))
	default:
		b = text.AppendRules(nil, flood.Explain(o.limits), o.textOptions(out))
	}
	return write(out, b)
}

// findFloods reads captures, or captures until the user ends it, and prints the incidents. Live, text is printed as
// incidents come, and then all of them.
func findFloods(ctx context.Context, opts *floodsOptions, args []string, io streams) error {
	out := newFloodOutput(opts, io.out)
	file, err := newRulesFile(written.Options{Path: opts.rules, Asked: opts.asked, Expiry: opts.expiry, IsOurs: out.isOurs,
		Tell: func(format string, args ...any) { fmt.Fprintf(io.err, "qsniff: "+format+"\n", args...) }})
	if err != nil {
		return err
	}
	j, err := opts.openJob(ctx, args, io)
	if err != nil {
		return err
	}
	defer j.release()
	d := opts.newDetector(j.cfg.Registry, opts.limits, opts.expiry)
	if file != nil {
		d.AddObserver(file.Observe)
		j.live.rules = opts.rules
	}
	d.AddObserver(out.observe)
	d.CountOthersAt(opts.ours.HasHost)
	j.cfg.Watchers = append([]track.Watcher{&out.seen, d}, out.watchProofs()...)
	if file != nil {
		file.Proofs = out.proofs
	}
	j.cfg.OnStart = append(j.cfg.OnStart, func(totals func() tally.Run) { out.totals = totals })
	j.showsInterrupt = opts.output == "text"
	j.streamsOutput = opts.output == "json"
	found := uint64(0)
	isLivePage := j.live != nil && opts.output == "text"
	if j.live != nil {
		j.live.seen, j.live.countIncidents = &out.seen, func() uint64 { return found }
	}
	if isLivePage {
		j.live.isScreen = isTerminal(io.out) && !opts.verbose
		out.kept.KeepsOpen, out.kept.Describe = true, d.Describe
		p := &liveFloods{out: out, detector: d, start: j.live.start, run: tally.Run{First: j.live.start.UnixNano()}}
		d.AddObserver(p.observe)
		j.cfg.Progress = p.update
		out.loaded = readLoaded()
		defer out.loaded.Close()
	}
	j.print = func(run tally.Run) error {
		if j.live != nil {
			run.Interrupted = ctx.Err() != nil
		}
		f := out.makeReport(run, d)
		f.IsLive, f.Loaded = j.live != nil, out.loaded.LatestFor(f.Incidents)
		found = f.Counts[flood.Info] + f.Counts[flood.Warn] + f.Counts[flood.Alert]
		j.after = func() error { return opts.checkFailOn(f.Counts[:], levels) }
		if isLivePage {
			f.Script = nft.AppendFloods(nil, f.RuleInput())
			if isTerminal(io.out) {
				fmt.Fprint(io.out, clearScreen)
			}
		}
		if err := out.print(f); err != nil {
			return err
		}
		printFloodRemarks(io.err, f, opts.output)
		return nil
	}
	return j.runToEnd()
}

// limitsHelp is the part on --limits of the help of floods.
const limitsHelp = `--limits runs the limiter that a game server has itself over the queries of a capture
and says whom it would have refused, when, and whether those were clients that are
proven to be at their address (qsniff proven), at any time in the capture: rehlds,
source, source-late (branches with a limit of 3000/s from all) or csgo, or numbers,
which also change those of a name: source,global=3000. per= is a limit of packets a
second from one source, global= from all, and both are averaged over window= seconds.
Everything counts that begins with FF FF FF FF. The engine's own windows may have begun
at another time than the replay's, which begin with the capture. With -o json the output
is an object for each server, with "record":"limits".`

// replayLimits reads captures and prints whom the limits would have refused.
func (o *floodsOptions) replayLimits(ctx context.Context, args []string, io streams) error {
	model, err := limiter.ParseModel(o.replay)
	if err != nil {
		return cli.Usage(fmt.Errorf("--limits %w", err), "one of "+limiter.Usage)
	}
	j, err := o.openJob(ctx, args, io)
	if err != nil {
		return err
	}
	defer j.release()
	r := limiter.New(limiter.Options{Model: model, Ours: o.ours, Scale: o.scale()})
	j.cfg.Watchers = []track.Watcher{r}
	j.showsInterrupt = o.output == "text"
	j.print = func(run tally.Run) error {
		l := &render.Limits{Run: run, Summary: *r.Summary()}
		printLimitsRemarks(io.err, l, o.ours != nil)
		return printForm(&o.readOptions, io, l, "", jsonl.AppendLimits, text.AppendLimits)
	}
	return j.runToEnd()
}

// printLimitsRemarks prints on standard error why there is nothing to replay, or what makes
// the replay less exact.
func printLimitsRemarks(w io.Writer, l *render.Limits, filtered bool) {
	switch {
	case l.Run.Packets == 0:
		fmt.Fprintln(w, "qsniff: the capture has no packets")
	case len(l.Servers) == 0 && filtered:
		fmt.Fprintln(w, "qsniff: nothing to replay: no query to the servers that --servers names")
	case len(l.Servers) == 0:
		fmt.Fprintln(w, "qsniff: nothing to replay: no query that an engine's limiter counts; it counts what begins with FF FF FF FF and goes to a game server")
	case l.Proofs.Why() == proof.OnlyToServer:
		fmt.Fprintln(w, "qsniff: the capture has only what goes to servers: it does not show which sources are players and which are forged; capture both directions")
	}
	remark.PrintSentences(w, &l.Run)
	printUnproving(w, l.Proofs)
	remark.PrintHints(w, &counters.Result{Limits: l.Summary}, counters.Limits)
	if l.Proofs.Counts.Lost > 0 || l.Run.Dropped > 0 {
		fmt.Fprintln(w, "qsniff: packets are missing from the capture: more would have been refused")
	}
}

// completeLimits proposes the engines whose limits are known.
func completeLimits(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	for _, m := range limiter.Models {
		if strings.HasPrefix(m.Name, word) {
			found = append(found, cobra.CompletionWithDesc(m.Name, fmt.Sprintf("%g/s from one source, %g/s from all, over %d s", m.Per, m.Global, m.Window)))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// clearScreen clears a terminal and moves the cursor to its first line.
const clearScreen = "\x1b[H\x1b[2J"

// liveFloods shows incidents while packets are captured. On a terminal it draws the page anew
// each second and at each event of an incident, and as much of it as fits; elsewhere it appends a block
// at each event.
type liveFloods struct {
	out      *floodOutput
	detector *flood.Detector
	start    time.Time
	run      tally.Run // so far
	drawn    time.Time // zero: never
	before   uint64    // packets when a second was drawn, for the rate
	rate     float64   // packets a second
}

// update notes how much was captured, and draws the page if a second is over. It is called after each batch,
// and ten times a second while nothing comes.
func (p *liveFloods) update(s capture.Stats, _ func() tally.Run) {
	p.run.Packets, p.run.Dropped = s.Received, s.Dropped
	now := time.Now()
	if since := now.Sub(p.drawn); since < redrawFloods {
		return
	} else if !p.drawn.IsZero() {
		p.rate = float64(p.run.Packets-p.before) / since.Seconds()
	}
	p.drawn, p.before = now, p.run.Packets
	p.draw()
}

// limit: redrawFloods is how often floods -i draws its page by itself. Chosen: a clock that moves shows that
// it runs.
const redrawFloods = time.Second

// observe shows an event of an incident.
func (p *liveFloods) observe(in *flood.Incident, e flood.Event) {
	o := p.out
	if o.err != nil || in.Level < o.least || !o.isOurs(in) {
		return
	}
	if isTerminal(o.w) {
		p.draw()
		return
	}
	if in.Level < flood.Warn && !o.opts.verbose {
		return
	}
	p.run.Last = time.Now().UnixNano()
	f := o.makeReport(p.run, p.detector)
	f.IsLive = true
	o.buf = text.AppendFloodEvent(o.buf[:0], f, in, e, o.opts.textOptions(o.w))
	_, o.err = o.w.Write(o.buf)
}

// draw draws the page so far on a terminal.
func (p *liveFloods) draw() {
	o := p.out
	if !isTerminal(o.w) {
		return
	}
	p.run.Last = time.Now().UnixNano()
	f := o.makeReport(p.run, p.detector)
	f.IsLive, f.Loaded = true, o.loaded.LatestFor(f.Incidents)
	opt := o.opts.textOptions(o.w)
	page := text.AppendFloods(nil, f, opt, text.FloodOptions{Verbose: o.opts.verbose, Explain: o.opts.explain})
	head := fmt.Sprintf("Watching %s since %s, now %s: %s packets a second\nCtrl-C ends it and prints all\n\n", strings.Join(o.opts.interfaces, ", "),
		p.start.Format(time.TimeOnly), time.Now().Format(time.TimeOnly), digits.Grouped(int64(p.rate+0.5)))
	text := head + firstLines(page, terminalHeight(o.w)-4)
	_, o.err = o.w.Write([]byte(drawOver(text)))
}

// drawOver returns what draws a text over what a terminal shows, without a moment in which it is empty.
func drawOver(text string) string {
	const home, toEndOfLine, toEndOfScreen = "\x1b[H", "\x1b[K", "\x1b[J"
	return home + strings.ReplaceAll(text, "\n", toEndOfLine+"\n") + toEndOfScreen
}

// firstLines returns the first n lines of a page, and how many more there are.
func firstLines(page []byte, n int) string {
	lines := strings.SplitAfter(strings.TrimSuffix(string(page), "\n"), "\n")
	if len(lines) <= n {
		return string(page)
	}
	return strings.Join(lines[:max(n-1, 1)], "") + fmt.Sprintf("... and %d lines more\n", len(lines)-max(n-1, 1))
}

// terminalHeight returns how many lines a terminal has.
func terminalHeight(out any) int {
	const usual = 24
	if f, ok := out.(*os.File); ok {
		if _, h, err := term.GetSize(int(f.Fd())); err == nil && h > 0 {
			return h
		}
	}
	return usual
}

// floodOutput observes incidents. In JSON it writes each when it is over, else it collects
// them for a page.
type floodOutput struct {
	opts   *floodsOptions
	w      io.Writer
	loaded *loaded.Reader // nil: what is loaded is unknown
	seen   flood.Seen
	kept   flood.Collector
	proofs *proof.Collector // nil unless proven clients are asked for
	least  flood.Level
	totals func() tally.Run // counters so far
	buf    []byte
	err    error
}

func newFloodOutput(opts *floodsOptions, w io.Writer) *floodOutput {
	o := &floodOutput{opts: opts, w: w, least: flood.Level(slices.Index(levels, opts.level))}
	o.kept.MinLevel = o.least
	o.kept.IsOurs = o.isOurs
	if opts.output == "json" {
		o.kept.MinLevel = flood.Alert + 1 // none is kept, all are counted
	}
	return o
}

// watchProofs returns the watcher that collects proven clients, if these are asked for.
func (o *floodOutput) watchProofs() []track.Watcher {
	if !o.opts.proven {
		return nil
	}
	o.proofs = proof.New(proof.Options{Ours: o.opts.ours, Scale: o.opts.scale()})
	return []track.Watcher{o.proofs}
}

func (o *floodOutput) isOurs(in *flood.Incident) bool { return in.IsAt(o.opts.ours) }

func (o *floodOutput) observe(in *flood.Incident, e flood.Event) {
	o.kept.Observe(in, e)
	if o.opts.output != "json" || e != flood.Ends || o.err != nil || in.Level < o.least || !o.isOurs(in) {
		return
	}
	run := o.totals()
	o.buf = jsonl.AppendIncident(o.buf[:0], in, &run, o.opts.explain)
	_, o.err = o.w.Write(o.buf)
}

func (o *floodOutput) makeReport(run tally.Run, d *flood.Detector) *render.Floods {
	f := &render.Floods{Run: run, Seen: &o.seen, Incidents: o.kept.Incidents(), Counts: o.kept.Counts(), Others: o.kept.Others(),
		Unnamed: o.kept.Omitted(d), FullTables: d.FullTables(), Limits: o.opts.limits, Asked: o.opts.asked,
		IsLimited: o.opts.ours != nil, Expiry: o.opts.expiry}
	f.Other, f.OtherPeak, f.Sessions = d.Others()
	if o.proofs != nil {
		f.Proven = o.proofs.Summary()
	}
	return f
}

// print writes the page. In JSON, where incidents were written before, it writes what else
// came than queries and the last line of an interrupted run, and returns the first error of
// all writes.
func (o *floodOutput) print(f *render.Floods) error {
	if o.opts.output == "json" {
		return cmp.Or(o.err, write(o.w, jsonl.AppendInterrupted(jsonl.AppendOther(nil, f), &f.Run)))
	}
	switch o.opts.output {
	case "csv":
		var records []byte
		for i := range f.Incidents {
			records = jsonl.AppendIncident(records, &f.Incidents[i], &f.Run, false)
		}
		table, err := csv.Tables["floods"].Append(nil, records)
		return cmp.Or(err, write(o.w, table))
	case formNFT:
		return write(o.w, nft.AppendFloods(nil, f.RuleInput()))
	case "iptables":
		return write(o.w, iptables.AppendFloods(nil, f.RuleInput()))
	case "xdp-filter":
		return write(o.w, edge.AppendXDPFilter(nil, f.RuleInput()))
	case "ovh":
		return write(o.w, edge.AppendOVH(nil, f.RuleInput()))
	case "path":
		return write(o.w, edge.AppendPath(nil, f.RuleInput()))
	}
	how := text.FloodOptions{Verbose: o.opts.verbose, Explain: o.opts.explain}
	return write(o.w, text.AppendFloods(nil, f, o.opts.textOptions(o.w), how))
}

// printFloodRemarks prints on standard error what is missing from the results, unless it is
// on the page.
func printFloodRemarks(w io.Writer, f *render.Floods, output string) {
	if output == "json" || output == "csv" {
		switch seen := f.Seen; {
		case f.Run.Packets == 0:
			fmt.Fprintln(w, "qsniff: the capture has no packets")
		case seen.Queries+seen.Replies+seen.Junk+seen.Logins == 0:
			fmt.Fprintf(w, "qsniff: no query traffic in %s\n", count(f.Run.Packets, "packet"))
		case seen.OneWay() != "":
			fmt.Fprintf(w, "qsniff: only %s were captured: who proves an address is not to be seen\n", seen.OneWay())
		}
		remark.PrintSentences(w, &f.Run)
		if f.Run.Dropped > 0 {
			fmt.Fprintf(w, "qsniff: the capturing program lost %s: rates were higher\n", count(f.Run.Dropped, "packet"))
		}
	}
	remark.PrintHints(w, &counters.Result{Floods: f.Unnamed}, counters.Incidents)
	if len(f.FullTables) > 0 {
		fmt.Fprintf(w, "qsniff: no room for more %s: incidents there may be missing (--memory)\n", strings.Join(f.FullTables, ", "))
	}
}

// serversHelp is the help of --servers in commands that print messages.
const serversHelp = "report floods at these targets, and scans, only"

// newDetector returns the detector of a run, whose incidents have advice with rules that match until
// expiry after they were loaded. All commands take theirs from here: its tables and samples have one
// size, whatever else a command keeps, so that one capture has one judgement (TestOneJudgement).
func (o *readOptions) newDetector(reg *dissect.Registry, limits flood.Thresholds, expiry time.Duration) *flood.Detector {
	return newDetector(reg, limits, o.scale(), expiry, o.ownTools)
}

// newDetector returns a detector whose tables have size times their usual size. own are the tools of
// the user.
func newDetector(reg *dissect.Registry, limits flood.Thresholds, size float64, expiry time.Duration, own *hostset.Networks) *flood.Detector {
	d := flood.New(limits, size, advice.New(reg, expiry))
	d.SetOwn(own)
	d.Know(reg.ServerPorts(), reg.ForeignTypes())
	return d
}

// incidents is a detector that reports incidents only at the targets that --servers names.
type incidents struct {
	*flood.Detector
	ours *hostset.Set // nil: all
}

// Observe makes the detector call found with announced events of incidents at these
// targets.
func (i *incidents) Observe(found func(*flood.Incident, flood.Event)) {
	i.Detector.AddObserver(flood.WarningsOnly(i.filter(found)))
}

// filter returns an observer that calls found with the incidents at these targets.
func (i *incidents) filter(found func(*flood.Incident, flood.Event)) func(*flood.Incident, flood.Event) {
	return func(in *flood.Incident, e flood.Event) {
		if in.IsAt(i.ours) {
			found(in, e)
		}
	}
}
