//go:build !js

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qsniff/capture"
	"qsniff/capture/live"
	"qsniff/internal/app/cli"
	"qsniff/internal/base/hostset"
	"qsniff/internal/base/sandbox"
	"qsniff/internal/base/systemd"
	"qsniff/internal/fleet"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/flood/rules/loaded"
	"qsniff/internal/monitor"
	"qsniff/internal/monitor/metrics"
	"qsniff/internal/monitor/notify"
	"qsniff/internal/monitor/serve"
	"qsniff/internal/pipeline"
	"qsniff/internal/render/counters"
	"qsniff/internal/render/tally"
	"qsniff/internal/track"
)

// monitorOptions are the flags of monitor.
type monitorOptions struct {
	readOptions
	keepOptions
	tellOptions
	fleet      fleetOptions
	config     string
	check      bool
	web        cli.WebFlags
	thresholds string
	maxServers int
	log        cli.LogFlags

	flags *pflag.FlagSet // all of them

	// What flags name, read and parsed.
	limits flood.Thresholds
	token  []byte
}

// monitorCommands returns the commands that need a listener.
func monitorCommands(io streams) []*cobra.Command { return []*cobra.Command{newMonitor(io)} }

func newMonitor(io streams) *cobra.Command {
	opts := newMonitorOptions()
	cmd := &cobra.Command{
		Use:     "monitor -i IFACE | FILE [flags]",
		GroupID: groupTraffic,
		Short:   "count for weeks: metrics and a live page over HTTP",
		Long:    monitorHelp,
		Example: `  qsniff monitor -i eth0                        metrics on http://127.0.0.1:9477/metrics, the page on /
  qsniff monitor -i eth0 --servers 198.51.100.7:27015,198.51.100.7:27016
  qsniff monitor /var/log/ring                  of a ring of files that grows
  qsniff monitor --config /etc/qsniff.toml      flags from a file
  qsniff monitor --config /etc/qsniff.toml --check   is it right, and what would run?
  qsniff monitor -i eth0 --listen :9477 --web-token-file /etc/qsniff.token --web-cert /etc/qsniff.pem --web-key /etc/qsniff.pem`,
		ValidArgsFunction: completeCaptures,
	}
	opts.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		source := &monitorSource{flags: cmd.Flags(), args: args}
		opts, args, err := source.load()
		if err != nil {
			return err
		}
		if opts.check {
			return opts.printCheck(io.out, args)
		}
		return runMonitor(cmd.Context(), opts, source, args, io)
	}
	return cmd
}

func newMonitorOptions() *monitorOptions { return &monitorOptions{readOptions: *readDefaults()} }

// monitorHelp is the long description in the help of qsniff monitor.
const monitorHelp = `monitor counts queries by server, kind and outcome, response times, players and floods,
for as long as it runs, and gives the figures to Prometheus. It captures on interfaces,
or reads a capture or a ring of files that another program writes. It never sends packets.

  /              a page of the last hour for browsers, which follows what happens
  /report.json   what it shows: the object that qsniff report -o json prints
  /events        server-sent events: one for each newer report
  /metrics       for Prometheus, also as OpenMetrics, with native histograms
  /servers.json  the servers that answered, with what they say of themselves
  /healthz       200, or 503 and why if the capture stands still; this machine
                 needs no token for it
  /readyz        the same, once packets are being read

A server has figures of its own if --servers names it with its port, or once it has
answered somebody: on interfaces, at an address of this host, or one that --servers
names. All others are "other". No address of a client is in any figure; the page has the sources of
incidents. It has no exchanges, as messages are not kept. While somebody looks,
it is made anew every 2 s, once for all; 32 can look at a time.

It listens on 127.0.0.1:9477 only. Elsewhere it wants --web-token-file, a file with a token
that readers bring (Authorization: Bearer TOKEN). Browsers open /?token=TOKEN once, and get a
cookie for it, which ends with the token; other ports of the host get the cookie, too. The
address stays in the browser's history, and is in no log of qsniff. It should also have --web-cert and --web-key.
A request whose Host is neither the address nor localhost nor a --host is refused, so that
no web page can read it. Nothing can be changed through it. A socket that systemd passes
on takes the place of --listen.

--config names a TOML file with flags by their long names; those of the command line
count more:

  interface = ["eth0"]
  servers = "198.51.100.7:27015"
  listen = "127.0.0.1:9477"

` + tellHelp + `
Findings are found in messages, which --tell-findings has decoded: that takes twice the
time. The page has those of the last hour, then: at most 256 that go on and 256 that are over.

` + fleetHelp + `

SIGHUP reads that file again, with the files that it names: thresholds, servers, own, the token,
the certificate and the services of --webhooks change without a restart; the log says what does
not. A service that stays gets what waits for it. The file of --tell is opened anew. SIGTERM ends
it. What happens is on standard error, a line each, as text or as JSON.

Once everything is open, the program gives up what it does not need any more, as qsniff
live does; files it has to read again stay readable.

An interface that goes down, is renamed or deleted is captured again once it is back; the
log says both, and qsniff_capture_interfaces_away and _interruptions_total count. With
libpcap (-f) one that was made anew or renamed takes a right that was given up: then the
run fails, for its manager to start it again.

Exit status: 0 ended by SIGTERM or Ctrl-C, or the input is over, 1 the run failed, 2 wrong usage.`

func (o *monitorOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	o.flags, f.SortFlags = f, false
	o.registerCapture(cmd, " in place of reading FILE")
	f.StringVar(&o.config, "config", "", "take flags from `FILE`, a TOML file with their long names")
	f.BoolVar(&o.check, "check", false, "check flags, and files as a start would open them, print what would run, and end")
	o.web.Register(f, "127.0.0.1:9477")
	f.StringVar(&o.thresholds, "thresholds", "", "take thresholds of floods from `FILE.toml`")
	f.IntVar(&o.maxServers, "max-servers", monitor.DefaultServers, "so many servers that --servers does not name get figures of their own, at most `N`")
	o.log.Register(f)
	o.keepOptions.register(cmd)
	o.registerTell(cmd, "none")
	o.fleet.register(cmd)
	o.registerServers(cmd, "give figures to these servers, and report floods at them, only")
	o.registerOwn(cmd)
	o.registerPackets(cmd)
	for _, name := range []string{"listen", "host", "max-servers"} {
		propose(cmd, name, cobra.NoFileCompletions)
	}
	for _, name := range []string{"config", "thresholds"} {
		propose(cmd, name, cobra.FixedCompletions([]cobra.Completion{formTOML}, cobra.ShellCompDirectiveFilterFileExt))
	}
}

// prepare checks the flags, and reads the files that they name.
func (o *monitorOptions) prepare(args []string) error {
	switch {
	case !o.isLive() && len(args) == 0:
		return cli.Usage(errors.New("monitor: neither an interface nor a capture given"), "name an interface after -i, or a file or a folder that grows")
	case o.isLive() && len(args) > 0:
		return cli.Usage(errors.New("monitor captures on interfaces or reads a capture, not both"), "leave out -i, or "+args[0])
	case len(args) > 1:
		return cli.Usage(errors.New("monitor reads one capture, or one folder of captures"), "run it once for each, with a --listen of its own")
	case o.maxServers < 0 || o.maxServers > monitor.MostServers:
		return cli.Usage(fmt.Errorf("--max-servers %d: not from 0 to %d", o.maxServers, monitor.MostServers), "each is some hundred time series")
	}
	if err := o.web.Check(); err != nil {
		return err
	}
	if !o.isLive() && o.keepOptions.write != "" {
		return cli.Usage(errors.New("-w writes what is captured with -i"), "the packets of a capture are in a file already")
	}
	o.isBounded = o.flags.Changed("ring-size") || o.flags.Changed("ring-files")
	err := cmp.Or(o.checkCapture(), o.keepOptions.check(), o.parseServers(), o.parseOwn())
	if err != nil {
		return err
	}
	if o.limits, err = cli.LoadThresholds(o.thresholds); err != nil {
		return err
	}
	if o.token, err = o.web.LoadToken(longestSecret); err != nil {
		return err
	}
	if _, err = o.web.LoadCertificate(); err != nil {
		return err
	}
	_, err = o.Config()
	return cmp.Or(err, o.fleet.prepare(o.flags.Changed), o.web.CheckBroker("fleet", o.fleet.url))
}

// monitorRun is a monitor at work.
type monitorRun struct {
	opts     *monitorOptions
	source   *monitorSource
	settings map[string]string // of all flags, as they were at the start
	in       *monitored
	log      *slog.Logger
	manager  *systemd.Manager
	meter    *monitor.Meter
	detector *incidents
	server   *serve.Server
	page     *livePage
	told     *notify.Telling     // nil: incidents are passed on to nothing
	loaded   *loaded.Reader      // nil: which rules are loaded is unknown
	toFleet  func(fleet.Message) // takes messages for the hub of a fleet; nil: there is none
	received uint64              // packets that the source has delivered
	teller   *notify.Teller      // that of told, or one for the page's findings; nil: none are wanted
	cert     cli.Certificate
	stall    time.Duration // stallAfter, but in tests
	patience time.Duration // reloadPatience, but in tests
	pulse    atomic.Int64  // when a batch was last read, by monotonic
	todo     chan func()   // for the goroutine of the pipeline, between two batches
	begin    sync.Once
}

// runMonitor counts until ctx ends, or the input.
func runMonitor(ctx context.Context, opts *monitorOptions, source *monitorSource, args []string, io streams) error {
	hangup := hangups()
	m, err := openMonitor(ctx, opts, args, io)
	if err != nil {
		return err
	}
	m.source = source
	defer m.server.Close()
	defer m.loaded.Close()
	if err := m.enterSandbox(); err != nil {
		m.in.close()
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- m.server.Serve() }()
	go m.page.live.Run(ctx)
	go m.watch(ctx, hangup)
	return m.run(ctx, failed)
}

func newMonitorRun(opts *monitorOptions, io streams) *monitorRun {
	return &monitorRun{opts: opts, settings: opts.settings(), log: opts.log.NewLogger(io.err), todo: make(chan func(), 1), stall: stallAfter, patience: reloadPatience}
}

// openMonitor opens everything that needs rights: the connection to the manager, the listener, and
// what is captured.
func openMonitor(ctx context.Context, opts *monitorOptions, args []string, io streams) (*monitorRun, error) {
	m := newMonitorRun(opts, io)
	var err error
	if m.manager, err = systemd.Connect(); err != nil {
		return nil, fmt.Errorf("the manager of this service: %w", err)
	}
	l, err := opts.web.OpenListener(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.addServer(l); err != nil {
		l.Close()
		return nil, err
	}
	opts.reopenWith(m.logInterface)
	if m.in, err = openMonitored(ctx, opts, args, io); err != nil {
		l.Close()
		return nil, err
	}
	if m.in.live != nil {
		m.loaded = readLoaded()
	}
	if err := m.startTelling(); err != nil {
		m.in.close()
		l.Close()
		return nil, err
	}
	if err := m.addStages(); err != nil {
		m.in.close()
		l.Close()
		return nil, err
	}
	return m, nil
}

// logInterface logs that an interface went, or is captured on again.
func (m *monitorRun) logInterface(c live.Change) {
	switch {
	case c.Err != nil:
		m.log.Warn("interface", "interface", c.Interface, "what", c.Err, "then", "it is captured again once it is back")
	case c.Now != "":
		m.log.Info("interface", "interface", c.Interface, "what", "captured again", "name", c.Now)
	default:
		m.log.Info("interface", "interface", c.Interface, "what", "captured again")
	}
}

// addServer makes the server on a listener.
func (m *monitorRun) addServer(l net.Listener) error {
	o := m.opts
	config, err := m.cert.Load(&o.web)
	if err != nil {
		return err
	}
	m.server, err = o.web.NewServer(l, serve.Options{Token: o.token, TLS: config, Health: m.health, Log: m.log})
	if err == nil && !serve.IsLoopback(l) {
		m.log.Warn("others than this machine can reach the figures", "address", l.Addr().String(), "encrypted", config != nil)
	}
	return err
}

// addStages adds to the run what counts and what finds floods.
func (m *monitorRun) addStages() error {
	o, cfg := m.opts, &m.in.cfg
	protos := cfg.Registry.Protos()
	m.meter = monitor.New(protos, monitor.Options{Servers: o.ours.Ends(), MayList: o.mayList(), MaxServers: o.maxServers, Scale: o.scale(), Clock: monotonic})
	m.detector = &incidents{o.newDetector(cfg.Registry, o.limits, advice.DefaultExpiry), o.ours}
	m.detector.Detector.AddObserver(func(in *flood.Incident, e flood.Event) {
		m.detector.filter(m.meter.AddIncident)(in, e)
	})
	m.detector.Observe(m.logIncident)
	cfg.Watchers = []track.Watcher{m.meter, m.detector.Detector}
	m.addTelling(cfg)
	if m.toFleet != nil {
		m.addFleet(cfg)
	}
	cfg.Progress = m.progress
	if err := m.addPage(); err != nil {
		return err
	}
	m.server.Handle("/metrics", newMetricsHandler(m))
	m.server.Handle("/servers.json", metrics.NewServersHandler(m.meter))
	return nil
}

// mayList returns which servers may have figures of their own without being named with a port: those
// that --servers names, else, on interfaces, those at this host's addresses.
func (o *monitorOptions) mayList() func(netip.AddrPort) bool {
	if o.ours != nil {
		return o.ours.Has
	}
	if !o.isLive() || o.promiscuous {
		return nil
	}
	return hostset.OfThisHost().Has
}

// enterSandbox drops the rights that the run does not need any more.
func (m *monitorRun) enterSandbox() error {
	m.log.Info("begin", "input", m.in.what, "listen", m.server.Addr().String(), "servers", cmp.Or(m.opts.servers, "those that answer"))
	m.logTelling(m.told.Describe())
	if m.opts.noSandbox {
		m.log.Warn("no sandbox", "why", "--no-sandbox")
		return nil
	}
	p := m.in.policy
	p.Read = append(p.Read, m.opts.folders()...)
	p.AllowFigures()
	status, err := sandbox.Enter(p)
	if err == nil {
		m.log.Info("sandbox", "status", status.String())
	}
	return err
}

// run runs the pipeline until ctx, the input or the server ends.
func (m *monitorRun) run(ctx context.Context, failed <-chan error) error {
	defer context.AfterFunc(ctx, m.in.stop)()
	m.pulse.Store(monotonic())
	type end struct {
		run tally.Run
		err error
	}
	ended := make(chan end, 1)
	go func() {
		run, err := pipeline.Run(m.in.ctx, m.in.cfg)
		ended <- end{run, err}
	}()
	var x end
	select {
	case x = <-ended:
	case err := <-failed:
		return fmt.Errorf("the server of figures: %w", err)
	}
	m.manager.Notify("STOPPING=1")
	m.server.SetReady(false)
	if ctx.Err() != nil && errors.Is(x.err, context.Canceled) {
		x.err = nil
	}
	why := "the input is over"
	if ctx.Err() != nil {
		why = "a signal"
	}
	closed := m.in.close() // which finishes files, of which reports may be wanted
	m.logTelling(m.told.Finish()...)
	m.log.Info("end", "why", why, "packets", x.run.Packets, "dropped", x.run.Dropped)
	return cmp.Or(x.err, closed)
}

// progress is called after each batch: it does what was left for this goroutine, and makes a
// snapshot if one is wanted.
func (m *monitorRun) progress(read capture.Stats, totals func() tally.Run) {
	m.pulse.Store(monotonic())
	m.begin.Do(func() {
		m.server.SetReady(true)
		m.manager.Notify("READY=1", "STATUS=reading "+m.in.what)
	})
	m.received = read.Received
	m.meter.Read(read.Received)
	select {
	case do := <-m.todo:
		do()
	default:
	}
	m.meter.Publish(func(r *counters.Result) {
		r.Run = totals()
		r.Floods = new(flood.Collector).Omitted(m.detector.Detector)
		if m.in.count != nil {
			m.in.count(r)
		}
	})
}

// health returns an error if the messenger process has ended, or if nothing was read for m.stall.
func (m *monitorRun) health() error {
	if err := m.told.Health(); err != nil {
		return err
	}
	if idle := time.Duration(monotonic() - m.pulse.Load()); idle > m.stall {
		return fmt.Errorf("the capture stands still: nothing was read for %v", idle.Round(time.Second))
	}
	return nil
}

// watch reloads at a hangup, and reports to the manager that all is well, until ctx ends.
func (m *monitorRun) watch(ctx context.Context, hangup <-chan os.Signal) {
	var tick <-chan time.Time
	if every := systemd.WatchdogInterval(); every > 0 {
		t := time.NewTicker(every / 2)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			m.reload()
		case <-tick:
			if err := m.health(); err != nil {
				m.log.Error("not well", "why", err)
				continue
			}
			m.manager.Notify("WATCHDOG=1")
		}
	}
}

// startTelling starts the messenger process, which sends notes of incidents, if it has anything to do.
func (m *monitorRun) startTelling() error {
	c, err := m.opts.Config()
	if err != nil {
		return err
	}
	c.NoSandbox, c.Reports, c.Fleet = m.opts.noSandbox, m.opts.reports, m.opts.fleet.config()
	m.told, err = m.opts.startTelling(c, m.opts.ours, func(text string) { m.log.Warn("telling", "what", text) })
	if m.in.live != nil {
		m.in.live.told = m.told // it asks for reports of files
	}
	if c.Fleet != nil {
		m.toFleet = m.putFleet
	}
	return err
}

// addTelling adds to the run what makes notes, and what keeps packets around incidents. Both ask the
// filter of servers at each incident, because a reload may change it.
func (m *monitorRun) addTelling(cfg *pipeline.Config) {
	observe := func(found func(*flood.Incident, flood.Event)) {
		m.detector.Detector.AddObserver(func(in *flood.Incident, e flood.Event) { m.detector.filter(found)(in, e) })
	}
	if m.in.live != nil {
		observe(m.in.live.noteAlarm)
	}
	if m.told == nil && m.opts.findings == "none" {
		return
	}
	if m.told != nil {
		m.teller = m.told.Teller
	} else { // the page has the findings
		notes := m.opts.notes(m.opts.ours)
		notes.Put = func(*notify.Note) {}
		m.teller = notify.New(notes)
	}
	observe(m.teller.Observe)
	cfg.OnStart = append(cfg.OnStart, m.teller.Start)
	cfg.Watchers = append([]track.Watcher{m.teller}, cfg.Watchers...)
	if m.opts.findings != "none" {
		cfg.Listener = m.teller
	}
}

// logTelling logs lines about the sinks that get notes.
func (m *monitorRun) logTelling(lines ...string) {
	for _, line := range lines {
		if line != "" {
			m.log.Info("telling", "what", line)
		}
	}
}

// monitored is what a monitor reads: interfaces, or a capture that grows.
type monitored struct {
	cfg    pipeline.Config
	ctx    context.Context // of the run; where stop does nothing, it ends when the user ends the run
	what   string          // for people
	stop   func()          // ends the capture; what was captured is still delivered
	close  func() error
	count  func(*counters.Result) // fills in what is counted before packets are decoded; may be nil
	policy sandbox.Policy
	live   *liveRun // nil: no interfaces
}

// openMonitored opens what the options name.
func openMonitored(ctx context.Context, opts *monitorOptions, args []string, io streams) (*monitored, error) {
	if !opts.isLive() {
		return openGrowing(ctx, opts, args, io)
	}
	l, err := openCapture(&liveOptions{readOptions: opts.readOptions, keepOptions: opts.keepOptions}, io)
	if err != nil {
		return nil, err
	}
	policy, err := l.sandboxPolicy()
	if err != nil {
		l.tap.Finish()
		return nil, err
	}
	count := func(n *counters.Result) {
		n.Live.Kernel, n.Live.Card = l.tap.Drops()
		n.Live.Undecoded = l.tap.Undecoded()
		away, interruptions := l.tap.Interruptions()
		n.Live.Away, n.Live.Interruptions = uint64(away), interruptions
		n.Files = l.tap.Kept()
	}
	return &monitored{cfg: l.cfg, ctx: context.WithoutCancel(ctx), what: strings.Join(opts.interfaces, ", ") + " (" + l.tap.Backend().String() + ")",
		stop: l.tap.Stop, close: l.tap.Finish, live: l, count: count, policy: policy}, nil
}

// openGrowing opens a capture, or a ring of them, that is still being written, or standard input.
func openGrowing(ctx context.Context, opts *monitorOptions, args []string, io streams) (*monitored, error) {
	opts.follow = !slices.Contains(args, stdin)
	j, err := opts.openJob(ctx, args, io)
	if err != nil {
		return nil, err
	}
	g := pipeline.NewGrowing(j.src.Source, monotonic, pollEvery)
	j.cfg.Source, j.cfg.Clock = g, g.Now
	m := &monitored{cfg: j.cfg, ctx: j.ctx, what: args[0], stop: func() {}, close: func() error { j.release(); return nil }}
	if opts.follow {
		m.policy.Read = []string{folderOf(args[0])}
	}
	return m, nil
}

// folderOf returns the folder in which a file is replaced by another of its name, or name itself if
// it is a folder.
func folderOf(name string) string {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return name
	}
	return filepath.Dir(name)
}

const (
	// limit: stallAfter is how long the pipeline may do nothing before the monitor counts as not well. A source
	// without packets shows that it is there ten times a second. Chosen: far longer than a busy machine
	// takes for a batch.
	stallAfter = 10 * time.Second

	// limit: reloadPatience is how long a reload waits for the goroutine of the pipeline. Chosen: a batch takes
	// milliseconds, and a second on a machine that an attack keeps busy.
	reloadPatience = 5 * time.Second

	// limit: longestSecret is the greatest size of the file of a token, in bytes. Chosen: that of a token
	// and a comment.
	longestSecret = 4 << 10
)
