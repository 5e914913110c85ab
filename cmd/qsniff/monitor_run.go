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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"qsniff/capture"
	"qsniff/capture/live"
	"qsniff/internal/base/cli"
	"qsniff/internal/base/hostset"
	"qsniff/internal/base/sandbox"
	"qsniff/internal/base/systemd"
	"qsniff/internal/fleet"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/monitor"
	"qsniff/internal/monitor/notify"
	"qsniff/internal/monitor/serve"
	"qsniff/internal/pipeline"
	"qsniff/internal/render/counters"
	"qsniff/internal/render/tally"
	"qsniff/internal/track"
)

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
	told     *telling            // nil: nobody is told of incidents
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
	m.meter = monitor.New(protos, monitor.Options{Servers: o.ownServers.Ends(), MayList: o.mayList(), MaxServers: o.maxServers, Scale: o.scale(), Clock: monotonic})
	m.detector = &incidents{newDetector(cfg.Registry, o.limits, o.scale(), advice.DefaultExpiry, o.ownTools), o.ownServers}
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
	m.server.Handle("/servers.json", newServersHandler(m.meter))
	return nil
}

// mayList returns which servers may have figures of their own without being named with a port: those
// that --servers names, else, on interfaces, those at this host's addresses.
func (o *monitorOptions) mayList() func(netip.AddrPort) bool {
	if o.ownServers != nil {
		return o.ownServers.Has
	}
	if !o.isLive() || o.promiscuous {
		return nil
	}
	return ownAddresses().Has
}

// enterSandbox drops the rights that the run does not need any more.
func (m *monitorRun) enterSandbox() error {
	m.log.Info("begin", "input", m.in.what, "listen", m.server.Addr().String(), "servers", cmp.Or(m.opts.servers, "those that answer"))
	m.logTelling(m.told.describe())
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
	m.logTelling(m.told.finish()...)
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
	if err := m.told.health(); err != nil {
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

// ownAddresses returns the addresses of this host; none if the system does not list them.
func ownAddresses() *hostset.Set {
	var list []string
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			list = append(list, p.Addr().WithZone("").String())
		}
	}
	s, err := hostset.Parse(strings.Join(list, ","))
	if err != nil {
		return nil
	}
	return s
}

// startTelling starts the messenger process, which sends notes of incidents, if it has anything to do.
func (m *monitorRun) startTelling() error {
	c, err := m.opts.Config()
	if err != nil {
		return err
	}
	c.NoSandbox, c.Reports, c.Fleet = m.opts.noSandbox, m.opts.reports, m.opts.fleet.config()
	m.told, err = m.opts.startTelling(c, m.opts.ownServers, func(text string) { m.log.Warn("telling", "what", text) })
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
		m.teller = m.opts.newTeller(m.opts.ownServers, func(*notify.Note) {})
	}
	observe(m.teller.Observe)
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
