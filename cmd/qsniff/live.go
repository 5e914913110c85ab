package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/capture/keep"
	"qsniff/capture/live"
	"qsniff/dissect"
	"qsniff/internal/app/cli"
	"qsniff/internal/app/remark"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/hostset"
	"qsniff/internal/base/lru"
	"qsniff/internal/base/sandbox"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/flood/rules/written"
	"qsniff/internal/monitor/notify"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
	"qsniff/internal/render/counters"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
	"qsniff/internal/track"
)

// liveOptions are the flags of live.
type liveOptions struct {
	readOptions
	keepOptions
	tellOptions
	reopens bool // --reopen
}

func newLive(io streams) *cobra.Command {
	opts := &liveOptions{readOptions: *readDefaults()}
	cmd := &cobra.Command{
		Use:     "live -i IFACE [flags]",
		GroupID: groupTraffic,
		Short:   "decode what an interface sees",
		Long:    liveHelp,
		Example: `  qsniff live -i eth0                          a line a message
  qsniff live -i eth0 -f 'udp port 27015'      the kernel keeps the rest away
  qsniff live -i any --auto-filter -o json     for programs
  qsniff live -i eth0 -Y 'finding.severity >= warn'   messages with something wrong
  qsniff live -i eth0 -o none -w /var/q.pcapng --ring-size 100M --ring-files 20
  qsniff live -i eth0 -w attack.pcapng --on-incident 30`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := "interfaces stand after -i, a capture filter after -f, a display filter after -Y"
			if _, is := dedups[args[0]]; is {
				hint = "--dedup=" + args[0] + " takes its value with a ="
			}
			return cli.Usage(fmt.Errorf("live: %q is not a flag", args[0]), hint)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"write", "ring-time", "ring-age", "on-incident"} {
				if f := cmd.Flags().Lookup(name); f.Changed && (f.Value.String() == "" || f.Value.String() == f.DefValue) {
					return cli.Usage(fmt.Errorf("--%s %q: nothing", name, f.Value), "leave the flag out, or say what it is to do")
				}
			}
			opts.isBounded = cmd.Flags().Changed("ring-size") || cmd.Flags().Changed("ring-files")
			if err := opts.check(); err != nil {
				return err
			}
			return watchLive(cmd.Context(), opts, io)
		},
	}
	opts.register(cmd)
	addHabits(cmd, &opts.readOptions)
	return cmd
}

// liveHelp is the long description in the help of qsniff live.
const liveHelp = `live captures on network interfaces and prints messages as read does, a moment after
they were seen, with floods and what else asks for something among them. It never sends
packets.
-o none prints nothing but the summary; packets are then only watched for floods, not
decoded further, which takes half of the time.

Ctrl-C ends it with a summary on standard error: what was captured, decoded and lost,
and by whom, and what to run next. A second one ends it at once. Incidents for which the output has no form
(-o none, -o csv) are printed there, too. Where the reader of the output is slower
than the traffic, the kernel drops packets, or with -w they are written but not
decoded; both are counted. Nothing is queued without bound.

` + filterHelp + ` -Y has no part in what -w writes.

-w writes all packets that were captured, -w with --on-incident only those around
incidents, which are found where packets are decoded: read the output, or use -o none.
The seconds count from an incident's begin, which is known some seconds later. A FILE
that is there is overwritten with --force only; a symbolic link, a pipe or a device
never is. Of an incident 128 MiB are written, and the 16 newest files of the run stay,
unless --ring-size or --ring-files say otherwise: --ring-files 0 keeps all. --ring-total
bounds the size of all files in place of their number, and --ring-age their age.
With these and with --on-incident the name is a beginning:
DIR/PREFIX.pcapng makes DIR/PREFIX_20261121T201500Z_00001.pcapng and so on. With
--incident-report each file gets a page of what happened beside it, NAME.html, which is
removed with it: one at a time and with the lowest priority; what ends meanwhile gets none,
and is counted. Packets are kept as they are, passwords included. When a file cannot be written a line on standard error says so once,
and the capture goes on.

` + tellHelp + `

Once everything is open, the program gives up what it does not need any more:
capabilities, all files but the folder of -w, and the network as far as the kernel can
take it away. The first lines on standard error say what. --no-sandbox does without.

The right to capture is cap_net_raw, for promiscuous mode too; nobody has to be root:
sudo setcap cap_net_raw+ep qsniff, or a systemd unit with
AmbientCapabilities=CAP_NET_RAW.

When an interface goes down or vanishes live ends, but with --reopen: then it captures
again once an interface of that name is up, and says both on standard error. With libpcap
(-f) one that was made anew or renamed takes the right to capture again, so --no-sandbox.

Exit status: 0 ended by Ctrl-C, SIGTERM, SIGHUP or -c, 1 the run failed: an interface
vanished, packets could not be written, the output was not read; 2 wrong usage.`

func (o *liveOptions) register(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	o.registerCapture(cmd, "")
	cmd.Flags().BoolVar(&o.reopens, "reopen", false, "when an interface goes down or vanishes, wait for it and capture again")
	o.keepOptions.register(cmd)
	o.registerTell(cmd, "error")
	o.registerForm(cmd)
	o.registerMessages(cmd)
	o.registerPackets(cmd)
	o.registerServers(cmd, serversHelp)
	o.registerOwn(cmd)
	o.registerFilter(cmd)
}

// check returns an error for flags that do not go together.
func (o *liveOptions) check() error {
	if !o.isLive() {
		return cli.Usage(errors.New("live: no interface given"), "name one after -i, or any; qsniff interfaces lists them")
	}
	if err := o.checkCapture(); err != nil {
		return err
	}
	if o.keepOptions.write == stdin {
		if o.output != "text" && o.output != "none" {
			return cli.Usage(fmt.Errorf("-w - writes packets to standard output, and -o %s messages", o.output), "leave out -o, or write the packets to a file")
		}
		o.isPipe, o.output = true, "none"
	}
	if err := o.keepOptions.check(); err != nil {
		return err
	}
	return o.readOptions.check()
}

// isWatchOnly reports whether no messages are wanted. Packets are then read only as far as
// the detection of floods needs, which takes half of the time.
func (o *liveOptions) isWatchOnly() bool {
	return o.output == "none" && o.count == 0 && o.display.expression() == ""
}

// completeInterfaces proposes what can be captured on.
func completeInterfaces(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	all, err := live.Devices()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return proposeInterfaces(all, word), cobra.ShellCompDirectiveNoFileComp
}

// proposeInterfaces returns the interfaces whose names begin with word. Linux lets a container call
// one $(id): names that mean something to a shell or a terminal are not proposed.
func proposeInterfaces(all []live.Device, word string) []cobra.Completion {
	var found []cobra.Completion
	for i := range all {
		in := &all[i]
		if strings.HasPrefix(in.Name, word) && cli.Quote(in.Name) == in.Name {
			found = append(found, cobra.CompletionWithDesc(in.Name, strings.Join(interfaceAddresses(in), " ")))
		}
	}
	return found
}

// processStart is the moment from which monotonic counts.
var processStart = time.Now()

// monotonic returns nanoseconds of a clock that is never set.
func monotonic() int64 { return int64(time.Since(processStart)) }

// reportSuffix follows the name of a capture in that of its report.
const reportSuffix = ".html"

// keepOptions are the flags about files of packets.
type keepOptions struct {
	isPipe     bool // -w - writes to standard output
	write      string
	ringSize   cli.ByteSize
	ringTime   time.Duration
	ringFiles  int
	ringTotal  cli.ByteSize
	ringAge    time.Duration
	onIncident int // seconds
	reports    bool
	force      bool
	isBounded  bool // --ring-size or --ring-files was given, if only to lift the limits
}

func (o *keepOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.write, "write", "w", "", "write the packets to `FILE`, as pcapng, or as pcap if it ends in .pcap; live: - is standard output; with --ring-... and --on-incident its name begins those of several files")
	f.BoolVar(&o.force, "force", false, "overwrite the FILE of -w if it is there")
	f.Var(&o.ringSize, "ring-size", "begin another file after so many bytes")
	f.DurationVar(&o.ringTime, "ring-time", 0, "begin another file after this `TIME`: 1h, 10m")
	f.IntVar(&o.ringFiles, "ring-files", 0, "keep `N` files, and remove the oldest (0: all)")
	f.Var(&o.ringTotal, "ring-total", "remove the oldest files before all have more than so many bytes")
	f.DurationVar(&o.ringAge, "ring-age", 0, "remove files this `TIME` after their last packet: 168h")
	f.IntVar(&o.onIncident, "on-incident", 0, "write only from so many `SECONDS` before an incident to as many after it")
	f.BoolVar(&o.reports, "incident-report", false, "with --on-incident: make a report of each file beside it, as NAME.html")
	for _, name := range []string{"ring-size", "ring-time", "ring-files", "ring-total", "ring-age", "on-incident"} {
		propose(cmd, name, cobra.NoFileCompletions)
	}
}

func (o *keepOptions) check() error {
	switch {
	case o.write == "" && (o.options().HasRing() || o.onIncident != 0):
		return cli.Usage(errors.New("--ring-size and the like, and --on-incident, go with -w"), "name a file, such as -w /var/captures/q.pcapng")
	case o.reports && o.onIncident == 0:
		return cli.Usage(errors.New("--incident-report goes with --on-incident"), "--on-incident 30 writes what surrounds incidents; qsniff report makes a page of any capture")
	case o.write == stdin && !o.isPipe:
		return cli.Usage(errors.New("-w -: packets are written to files"), "qsniff live -w - writes them to standard output")
	case o.write == stdin && (o.force || o.options().HasSeveralFiles()):
		return cli.Usage(errors.New("-w - is one stream: no --force, --ring-size and the like, and no --on-incident"), "name a file")
	case o.ringTime < 0 || o.ringFiles < 0 || o.ringAge < 0 || o.onIncident < 0:
		return cli.Usage(errors.New("--ring-time, --ring-files, --ring-age, --on-incident: less than nothing"), "leave out what is not to be bounded")
	case o.force && (o.write == "" || o.options().HasSeveralFiles()):
		return cli.Usage(errors.New("--force goes with -w FILE, without --ring-size and the like, and --on-incident"), "several files get new names, and overwrite none")
	case o.write == "":
		return nil
	case o.ringTotal > 0 && o.ringTotal < leastTotal:
		return cli.Usage(fmt.Errorf("--ring-total: at least %s", digits.Bytes(leastTotal)), "the longest packets need that")
	case (o.ringFiles > 0 || o.ringAge > 0) && o.ringSize == 0 && o.ringTime == 0 && o.ringTotal == 0 && o.onIncident == 0:
		return cli.Usage(errors.New("--ring-files and --ring-age go with --ring-size, --ring-time, --ring-total or --on-incident"), "nothing else begins another file")
	}
	if _, err := file.FormatOf(o.write); err != nil {
		return cli.Usage(err, "leave the ending out")
	}
	return nil
}

// options returns the options of package keep by the flags.
func (o *keepOptions) options() *keep.Options {
	return &keep.Options{Path: o.write, Size: int64(o.ringSize), Time: o.ringTime, Files: o.ringFiles, Total: int64(o.ringTotal), Age: o.ringAge,
		Around: time.Duration(o.onIncident) * time.Second, LimitsSet: o.isBounded, Replace: o.force, Beside: reportSuffix}
}

// leastTotal is the least value of --ring-total. Chosen: eight files of which each has room for
// several of the longest packets.
const leastTotal = 8 << 20

// open opens the files of -w, or writes to out for "-", and calls finished with each of several that is whole. It returns nil
// if nothing is to be written.
func (o *keepOptions) open(described capture.Describer, memory int, out io.Writer, finished func(path string)) (*keep.Keeper, error) {
	if o.write == "" {
		return nil, nil
	}
	k := o.options()
	if o.write == stdin {
		if isTerminal(out) {
			return nil, cli.Usage(errors.New("-w -: standard output is a terminal"), "pipe it on: qsniff live -i IFACE -w - | qsniff -")
		}
		k.To = out
	}
	k.Finished = finished
	return keep.Open(k, described, memory)
}

// writtenFiles returns the files as a shell finds them.
func (o *keepOptions) writtenFiles() string {
	if !o.options().HasSeveralFiles() {
		return cli.Quote(o.write)
	}
	ext := path.Ext(o.write)
	return cli.Quote(strings.TrimSuffix(o.write, ext)) + "_*" + ext
}

// lingering is how long an ended capture waits for the reader of the output. Chosen: less
// than patience, as the summary has to be printed after that.
const lingering = time.Second

// liveRun is an open live capture and its decoding.
type liveRun struct {
	opts   *liveOptions
	rules  string           // file that rules are written to; empty: none
	auto   *live.AutoFilter // nil: none
	tap    *keep.Tap
	keeper *keep.Keeper // nil: packets are only decoded
	alarms keep.Alarms
	cfg    pipeline.Config
	seen   *flood.Seen     // counts queries if no messages are wanted; else nil
	told   *notify.Telling // nil: incidents are passed on to nothing
	errs   io.Writer
	// isScreen is set where a page is drawn on a terminal: what went well is not printed beside it.
	isScreen bool
	start    time.Time
	result   tally.Run
	// report prints the results after a run whose output was written; nil: there are none.
	report func(tally.Run) error
	// countIncidents returns how many there were; nil: the run looks for none.
	countIncidents func() uint64
}

// watchLive captures and decodes until ctx ends.
func watchLive(ctx context.Context, opts *liveOptions, io streams) error {
	l, err := openLive(opts, io)
	if err != nil {
		return err
	}
	if err := l.enterSandbox(); err != nil {
		l.tap.Finish()
		return err
	}
	if h := l.cfg.Renderer; h != nil {
		if err := writeHeader(io.out, h); err != nil {
			l.tap.Finish()
			return err
		}
	}
	return l.run(ctx)
}

// openLive opens everything that needs rights, interfaces and files, and sets up the run.
func openLive(opts *liveOptions, io streams) (*liveRun, error) {
	if opts.reopens {
		opts.reopenWith(func(c live.Change) { printChange(io.err, c) })
	}
	if err := cmp.Or(opts.parseServers(), opts.parseOwn()); err != nil {
		return nil, err
	}
	l, err := openCapture(opts, io)
	if err != nil {
		return nil, err
	}
	reg := l.cfg.Registry
	if l.cfg.Renderer, err = opts.newRenderer(io.out, reg.Protos()); err != nil {
		l.tap.Finish()
		return nil, err
	}
	if err := l.startTelling(opts.ours); err != nil {
		l.tap.Finish()
		return nil, err
	}
	l.cfg.Incidents = l.newDetector(reg, opts.ours, l.cfg.Renderer)
	l.countIncidents = l.alarms.Begun // warnings and alerts
	l.cfg.MaxMessages, l.cfg.CountsMessages, l.cfg.CutsToMicros = opts.count, !opts.isWatchOnly(), true
	if opts.isWatchOnly() {
		l.seen = new(flood.Seen)
		l.cfg.Watchers = append(l.cfg.Watchers, l.seen)
		l.cfg.Listener = nil // it would have messages decoded
	}
	return l, nil
}

// printChange prints that an interface went, or is captured on again.
func printChange(to io.Writer, c live.Change) {
	switch {
	case c.Err != nil:
		fmt.Fprintf(to, "qsniff: %v: waiting for it\n", c.Err)
	case c.Now != "":
		fmt.Fprintf(to, "qsniff: %s: captured again, as %s\n", c.Interface, c.Now)
	default:
		fmt.Fprintf(to, "qsniff: %s: captured again\n", c.Interface)
	}
}

// askForReport has a report made of a file that is whole, if reports are wanted.
func (l *liveRun) askForReport(path string) {
	if l.told != nil && l.opts.reports && !l.told.Messenger.MakeReport(path) {
		fmt.Fprintf(l.errs, "qsniff: no report of %s: too many are waiting\n", path)
	}
}

// startTelling starts the messenger process, which sends notes of incidents and of findings at our servers, if
// it has anything to do.
func (l *liveRun) startTelling(own *hostset.Set) error {
	c, err := l.opts.Config()
	if err != nil {
		return err
	}
	c.NoSandbox, c.Reports = l.opts.noSandbox, l.opts.reports
	l.told, err = l.opts.startTelling(c, own, func(text string) { fmt.Fprintf(l.errs, "qsniff: %s\n", text) })
	if l.told != nil {
		l.cfg.Watchers, l.cfg.Listener = []track.Watcher{l.told}, l.told
		l.cfg.OnStart = append(l.cfg.OnStart, l.told.Start)
	}
	return err
}

// openCapture opens everything that needs rights, interfaces and files.
func openCapture(opts *liveOptions, io streams) (*liveRun, error) {
	reg := opts.registry()
	as, err := parseDecodeAs(opts.as, reg)
	if err != nil {
		return nil, err
	}
	if err := opts.checkFilter(); err != nil {
		return nil, err
	}
	var auto *live.AutoFilter
	if opts.autoFilter {
		auto = pipeline.AutoFilter(reg, as)
	}
	src, err := opts.openSource(auto)
	if err != nil {
		return nil, err
	}
	l := &liveRun{opts: opts, auto: auto, errs: io.err, start: time.Now()}
	kept, err := opts.keepOptions.open(src, int(opts.memory), io.out, l.askForReport)
	if err != nil {
		src.Close()
		return nil, err
	}
	l.keeper = kept
	if kept != nil && opts.keepOptions.write != stdin {
		ignoreBrokenPipe() // if the reader of the output ends, files are still to be finished
	}
	l.tap = keep.NewTap(src, kept, &l.alarms, func(err error) { reportError(io.err, err) })
	l.cfg = pipeline.Config{Source: l.tap, Registry: reg, Jobs: opts.jobs, Memory: int64(opts.memory),
		DecodeAs: as, Dedup: dedups[opts.dedup], Sampled: uint32(opts.sampled), Out: io.out, Clock: monotonic, Seed: rand.Uint64() | 1}
	if p := opts.display.program; p != nil {
		l.cfg.Filter = &pipeline.Filter{Program: p}
	}
	return l, nil
}

// newDetector returns the detector of the run. Its incidents start the writing of packets
// with --on-incident. If r has no form for incidents, they are printed on standard error.
func (l *liveRun) newDetector(reg *dissect.Registry, own *hostset.Set, r render.Renderer) *incidents {
	found := &incidents{l.opts.newDetector(reg, flood.Defaults(), advice.DefaultExpiry), own}
	found.Detector.AddObserver(found.filter(l.noteAlarm))
	if l.told != nil {
		found.Detector.AddObserver(found.filter(l.told.Observe))
	}
	if _, ok := r.(render.IncidentRenderer); !ok {
		found.Observe(l.announce)
	}
	return found
}

// noteAlarm is an observer of incidents: packets around those that need attention are written.
func (l *liveRun) noteAlarm(in *flood.Incident, e flood.Event) {
	l.alarms.Note(in.ID, in.Start, e != flood.Ends && in.Level >= flood.Warn)
}

// enterSandbox prints what the run captures, writes and omits, and then drops the rights
// that it does not need any more.
func (l *liveRun) enterSandbox() error {
	_ = time.Local.String() // loads the time zone, which is a file
	o := l.opts
	fmt.Fprintf(l.errs, "qsniff: capturing on %s (%s)\n", strings.Join(o.interfaces, ", "), l.tap.Backend())
	if l.auto != nil {
		fmt.Fprintln(l.errs, "qsniff: the automatic filter does not capture:")
		for _, what := range l.auto.Unseen() {
			fmt.Fprintf(l.errs, "  %s\n", what)
		}
	}
	if l.keeper != nil {
		fmt.Fprintf(l.errs, "qsniff: %s as they are captured, passwords included\n", o.options().Describe())
	}
	if who := l.told.Describe(); who != "" {
		fmt.Fprintf(l.errs, "qsniff: %s\n", who)
	}
	if o.noSandbox {
		fmt.Fprintln(l.errs, "qsniff: sandbox: none (--no-sandbox)")
		return nil
	}
	p, err := l.sandboxPolicy()
	if err == nil {
		err = allowRules(&p, l.rules)
	}
	if err != nil {
		return err
	}
	status, err := sandbox.Enter(p)
	if err == nil && !l.isScreen {
		fmt.Fprintf(l.errs, "qsniff: sandbox: %v\n", status)
	}
	return err
}

// registerRules registers the flag of commands that write rules while they capture.
func registerRules(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "rules", "", "while capturing: write the rules against an attack to `FILE` for nft -f, once it is sure, and again as they change")
}

// newRulesFile returns the file that --rules names, nil if that is not given.
func newRulesFile(o written.Options) (*written.File, error) {
	if o.Path == "" {
		return nil, nil
	}
	file, err := written.New(o)
	if errors.Is(err, written.ErrOther) {
		err = cli.Hinted(err, "name another file: it is rewritten as the rules change")
	}
	return file, err
}

// allowRules adds the folder of a file of rules to what a run may write.
func allowRules(p *sandbox.Policy, path string) (err error) {
	if path == "" {
		return nil
	}
	folder := filepath.Dir(path)
	if p.Write = append(p.Write, folder); p.User == nil {
		p.User, err = sandbox.OwnerOf(folder)
	}
	return err
}

// sandboxPolicy returns what the run still needs: the folder of its files, and the counters
// that libpcap reads of an interface in promiscuous mode.
func (l *liveRun) sandboxPolicy() (p sandbox.Policy, err error) {
	if l.keeper != nil && l.keeper.Folder() != "" {
		p.Write = []string{l.keeper.Folder()}
		if p.User, err = sandbox.OwnerOf(l.keeper.Folder()); err != nil {
			return p, err
		}
	}
	if l.opts.promiscuous && l.tap.Backend() == live.Libpcap {
		for _, name := range l.opts.interfaces {
			counters := filepath.Join("/sys/class/net", name, "statistics")
			if _, err := os.Stat(counters); err == nil {
				p.Read = append(p.Read, counters)
			}
		}
	}
	return p, nil
}

// run captures until ctx ends, then prints the summary.
func (l *liveRun) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, l.tap.Stop)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		var err error
		l.result, err = pipeline.Run(context.WithoutCancel(ctx), l.cfg)
		ended <- err
	}()
	select {
	case err := <-ended:
		return l.conclude(err)
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return l.conclude(err)
	case <-time.After(lingering):
	}
	return l.abandon()
}

// conclude prints the summary of a run whose output was written.
func (l *liveRun) conclude(err error) error {
	closed := l.tap.Finish()
	if l.report != nil {
		err = cmp.Or(err, l.report(l.result))
	}
	kernel, card := l.tap.Drops()
	fmt.Fprintln(l.errs) // after the ^C of a terminal
	fmt.Fprintf(l.errs, "qsniff: %s captured in %s: %s%s; %s\n", count(l.tap.Stats().Received, "packet"), l.elapsed(),
		l.describeFound(), l.describeIncidents(), describeDrops(kernel, card))
	l.printUndecoded()
	l.finishTelling()
	unwritten := l.printFiles()
	l.printRemarks()
	l.printNext()
	if errors.Is(err, syscall.EPIPE) { // the reader of the output wants no more
		err = nil
	}
	return cmp.Or(err, closed, unwritten)
}

// printRemarks prints what is missing from the output, and why.
func (l *liveRun) printRemarks() {
	run := l.result
	run.Dropped = 0 // it is in the summary
	switch {
	case run.Packets == 0:
		return
	case l.seen == nil:
		remark.PrintLeftOut(l.errs, &run)
	case l.seen.Queries+l.seen.Replies+l.seen.Junk+l.seen.Logins == 0:
		fmt.Fprintf(l.errs, "qsniff: no query traffic in %s%s\n", count(run.Packets, "packet"), remark.Reasons(": ", &run))
	case len(run.Skipped) > 0: // without messages, packets of other protocols are not recognised
		fmt.Fprintln(l.errs, "qsniff:"+remark.Reasons(" left out: ", &run))
	}
	remark.PrintTrouble(l.errs, &run)
	remark.PrintRekeyed(l.errs, lru.Rekeyed())
}

// abandon prints the summary of a run whose output nobody reads. Packets that were captured
// and cannot be decoded any more are counted, and written to the files of -w.
func (l *liveRun) abandon() error {
	l.tap.Drain()
	l.tap.Finish()
	kernel, card := l.tap.Drops()
	fmt.Fprintln(l.errs)
	fmt.Fprintf(l.errs, "qsniff: %s captured in %s; %s\n", count(l.tap.Stats().Received, "packet"), l.elapsed(), describeDrops(kernel, card))
	l.printUndecoded()
	l.finishTelling()
	_ = l.printFiles() // the error below is the cause
	return cli.Hinted(errors.New("the output was not read: its last messages are missing, and incidents among them"),
		"a slow reader costs messages; -o none needs no reader, -w keeps packets")

}

// printFiles prints what is in the files of -w. It returns an error if packets are missing
// from them.
func (l *liveRun) printFiles() error {
	if l.keeper == nil {
		return nil
	}
	kept := l.keeper.Stats()
	for _, line := range kept.Lines(l.opts.options().HasSeveralFiles()) {
		fmt.Fprintln(l.errs, "qsniff:", line)
	}
	remark.PrintHints(l.errs, &counters.Result{Files: kept}, counters.Files)
	if n := kept.Lost(); n > 0 {
		return fmt.Errorf("-w: %s could not be written", count(n, "packet"))
	}
	return nil
}

// finishTelling has the remaining notes sent, and prints what became of all of them.
func (l *liveRun) finishTelling() {
	for _, line := range l.told.Finish() {
		fmt.Fprintf(l.errs, "qsniff: %s\n", line)
	}
}

func (l *liveRun) printUndecoded() {
	remark.PrintHints(l.errs, &counters.Result{Live: counters.Live{Undecoded: l.tap.Undecoded()}}, counters.Capture)
}

// announce prints an event of an incident on standard error.
func (l *liveRun) announce(in *flood.Incident, e flood.Event) {
	line := text.NewLine(text.Options{UTC: l.opts.utc, Micros: true, Palette: text.NewPalette(false)})
	x := render.IncidentEvent{Nanos: time.Now().UnixNano(), Event: e, Incident: in}
	for text := range bytes.Lines(bytes.TrimSpace(line.AppendIncident(nil, &x))) {
		fmt.Fprintf(l.errs, "qsniff: %s\n", bytes.TrimSpace(text))
	}
}

func (l *liveRun) elapsed() string {
	return digits.Span(time.Since(l.start))
}

// describeFound returns how many messages were found, or how many queries and replies if no
// messages are wanted.
func (l *liveRun) describeFound() string {
	if l.seen == nil {
		return count(l.result.Messages, "message")
	}
	return l.seen.String()
}

func (l *liveRun) describeIncidents() string {
	if l.countIncidents == nil {
		return ""
	}
	return ", " + count(l.countIncidents(), "incident")
}

// printNext prints the command that examines what was captured.
func (l *liveRun) printNext() {
	switch o := l.opts; {
	case l.report != nil || o.keepOptions.write == stdin:
	case l.keeper != nil && l.result.Packets > 0:
		fmt.Fprintf(l.errs, "qsniff: next: qsniff floods %s\n", o.keepOptions.writtenFiles())
	case l.countIncidents() > 0:
		fmt.Fprintf(l.errs, "qsniff: next: qsniff floods -i %s, which prints what to do; -w FILE keeps the packets\n", cli.Quote(o.interfaces[0]))
	}
}

func describeDrops(kernel, card uint64) string {
	return fmt.Sprintf("dropped: %d by the kernel, %d by network cards", kernel, card)
}
