package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/sandbox"
	"qsniff/internal/base/systemd"
	"qsniff/internal/fleet/hub"
	"qsniff/internal/fleet/hub/broker"
	"qsniff/internal/fleet/hub/web"
	"qsniff/internal/fleet/messenger"
	"qsniff/internal/monitor/metrics"
	"qsniff/internal/monitor/notify"
	"qsniff/internal/monitor/serve"
)

// runHelp is the long description of qsniff-hub run.
const runHelp = `run reads what sensors publish, finds campaigns, and shows and tells them. It is what
qsniff-hub does when it is given flags only.

  /                a page for browsers
  /campaigns.json  campaigns that go on, and the last ones that are over
  /sensors.json    sensors: silent, clock off, messages lost
  /metrics         for Prometheus
  /healthz         200, or 503 and why if it cannot read the streams; this machine
                   needs no token for it
  /readyz          the same, once it has read what there was

The broker is within the process, with its streams in --store, and at 127.0.0.1:4222 for
sensors. Elsewhere it wants --nats-config, which says who may publish: qsniff-hub creds makes
it. --nats uses a broker that runs already, of version 2.11 or later, with JetStream.

Several hubs may run on one broker. One leads; the others show what it shows, and one of
them takes over when it ends, with what it had read, found and told: all that is in the
streams and in a bucket beside them, and nothing in the hub.

` + tellHelp + `

It listens on 127.0.0.1:9478 only. Elsewhere it wants --web-token-file, a file with a token
that readers bring (Authorization: Bearer TOKEN; browsers open /?token=TOKEN once). SIGHUP reads
the token and --webhooks again, and opens the file of --tell anew. SIGTERM ends it.

Once everything is open, the program gives up what it does not need any more.

Exit status: 0 ended by SIGTERM or Ctrl-C, 1 the run failed, 2 wrong usage.`

func newRun(io streams) *cobra.Command {
	o := &hubOptions{}
	cmd := &cobra.Command{Use: "run --secret FILE --store DIR [flags]", Short: "find campaigns, show and tell them", Long: runHelp, Args: noArgs,
		Example: `  qsniff-hub --secret /etc/qsniff/fleet.secret --store /var/lib/qsniff-hub
  qsniff-hub --secret fleet.secret --store hub --nats-listen :4222 --nats-config creds/nats.conf --nats-creds creds/_hub.creds --nats-cert hub.pem --nats-key hub.key
  qsniff-hub --secret fleet.secret --nats tls://nats.example:4222 --nats-creds hub.creds`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := loadConfig(cmd.Flags(), o.configFile); err != nil {
				return err
			}
			return runHub(cmd.Context(), o, io)
		}}
	o.register(cmd)
	return cmd
}

// running is a hub at work.
type running struct {
	opts    *hubOptions
	log     *slog.Logger
	manager *systemd.Manager
	broker  *broker.Server // nil: it is elsewhere
	conn    *nats.Conn
	told    *notify.Messenger // nil: nobody is told
	hub     *hub.Hub
	server  *serve.Server
	cert    cli.Certificate
	isTight bool // the disk is too small for --retention-size, which was said
}

// runHub runs a hub until ctx ends.
func runHub(ctx context.Context, o *hubOptions, io streams) error {
	r := &running{opts: o, log: o.log.NewLogger(io.err)}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer r.close()
	if err := r.open(ctx); err != nil {
		return err
	}
	if err := r.enterSandbox(); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- r.server.Serve() }()
	ended := make(chan error, 1)
	own, stop := context.WithCancel(ctx)
	defer stop()
	go func() { ended <- r.hub.Run(own) }()
	stopped := make(chan error, 1)
	go r.watch(own, hangup, stopped)
	var err error
	select {
	case err = <-ended:
	case err = <-stopped:
		stop()
		<-ended
	case err = <-failed:
		err = fmt.Errorf("the server of the page: %w", err)
		stop()
		<-ended
	}
	r.manager.Notify("STOPPING=1")
	r.server.SetReady(false)
	return err
}

// open opens everything that needs rights.
func (r *running) open(ctx context.Context) error {
	o := r.opts
	if err := o.check(); err != nil {
		return err
	}
	dial, err := o.dial()
	if err != nil {
		return err
	}
	retention := hub.Retention{Age: o.age}
	if o.store != "" {
		o.size = cli.ByteSize(r.fitRetention())
		retention.Room = r.fitRetention
	}
	retention.Size = int64(o.size)
	options := hub.Options{Prefix: o.prefix, Retention: retention, Replicas: o.replicas, Log: r.log}
	if options.Secret, err = loadSecret(o.secretFile); err != nil {
		return err
	}
	if options.Thresholds, err = cli.LoadThresholds(o.thresholds); err != nil {
		return err
	}
	if r.manager, err = systemd.Connect(); err != nil {
		return fmt.Errorf("the manager of this service: %w", err)
	}
	if err := r.listen(ctx); err != nil {
		return err
	}
	if err := r.connect(dial); err != nil {
		return err
	}
	c, err := o.told.Config()
	if err != nil {
		return err
	}
	c.NoSandbox = o.noSandbox
	if r.told, err = startTelling(c, func(text string) { r.log.Warn("telling", "what", text) }); err != nil {
		return err
	}
	options.Conn = r.conn
	if r.told != nil {
		options.Messenger = r.told
	}
	if r.hub, err = hub.New(ctx, options); err != nil {
		return err
	}
	return r.addPages()
}

// listen opens the socket for readers, or takes over that of the manager.
func (r *running) listen(ctx context.Context) error {
	o := r.opts
	token, err := o.web.LoadToken(longestSecret)
	if err != nil {
		return err
	}
	config, err := r.cert.Load(&o.web)
	if err != nil {
		return err
	}
	l, err := o.web.OpenListener(ctx)
	if err != nil {
		return err
	}
	if r.server, err = o.web.NewServer(l, serve.Options{Token: token, TLS: config, Health: r.health, Log: r.log}); err != nil {
		l.Close()
	}
	return err
}

// connect starts the broker, unless it is elsewhere, and connects to it.
func (r *running) connect(dial broker.Dial) (err error) {
	dial.Changed = func(err error) {
		if err != nil {
			r.log.Warn("the connection to the broker", "why", err)
			return
		}
		r.log.Info("the connection to the broker is there again")
	}
	if r.opts.url != "" {
		r.conn, err = dial.Connect()
		if err != nil {
			return cli.Hinted(err, "is it there, with JetStream, and are --nats-creds for it?")
		}
		return nil
	}
	options := r.opts.server(r.log)
	options.Account, options.IsShared = broker.AccountOf(dial.Creds), r.opts.web.Insecure
	r.broker, err = broker.Start(options)
	switch {
	case errors.Is(err, broker.ErrOpen):
		return cli.Usage(fmt.Errorf("--nats-listen %s: %w", r.opts.natsListen, err), "qsniff-hub creds makes them, and the file for --nats-config; 127.0.0.1 needs none")
	case errors.Is(err, broker.ErrShared):
		return cli.Hinted(fmt.Errorf("--nats-config %s: %w", r.opts.natsConfig, err), "run qsniff-hub creds once more and start the hub with the _hub.creds and nats.conf that it makes: streams are taken over, and sensors keep their files; --insecure does without")
	case errors.Is(err, broker.ErrInUse):
		return cli.Hinted(fmt.Errorf("--store %w", err), "several hubs share one broker: --nats names it")
	case err != nil:
		return err
	}
	r.conn, err = r.broker.Connect(dial)
	if err != nil {
		return cli.Hinted(err, "--nats-creds names the hub's credentials for --nats-config")
	}
	return nil
}

// addPages adds what readers may ask for.
func (r *running) addPages() error {
	b := cli.ReadBuild(packaged)
	pages, err := web.New(r.hub.View, b.Short())
	if err != nil {
		return err
	}
	if err := pages.Register(r.server); err != nil {
		return err
	}
	var free func() (uint64, error)
	if r.broker != nil {
		free = func() (uint64, error) { return freeBytes(r.opts.store) }
	}
	all := []prometheus.Collector{web.NewCollector(r.hub.View, free), metrics.NewServerCollector(r.server.Stats, nil), metrics.NewBuildInfo(b.Version, b.Revision, b.Go)}
	if r.told != nil {
		all = append(all, metrics.NewToldCollector(r.told.Counts))
	}
	r.server.Handle("/metrics", metrics.NewHandler(all...))
	return nil
}

// health returns why the program does not do what it is for.
func (r *running) health() error {
	switch {
	case r.told != nil && r.told.Gone():
		return errors.New("the process that tells of campaigns has ended")
	case r.hub == nil:
		return errors.New("it begins")
	}
	if r.broker != nil {
		if err := errors.Join(r.broker.Err(), r.checkDisk()); err != nil {
			return err
		}
	}
	return r.hub.Health()
}

// leastFree is how little of the disk may be free: below, the hub is not well. Chosen: what sensors of 200 hosts tell in
// two minutes.
const leastFree = 64 << 20

// checkDisk returns an error if the disk of the streams is nearly full.
func (r *running) checkDisk() error {
	free, err := freeBytes(r.opts.store)
	if err != nil || free >= leastFree {
		return nil // on systems that do not tell, the broker's own errors are what there is
	}
	return fmt.Errorf("the disk of --store has only %s left: free some, or choose a smaller --retention-size", digits.Bytes(float64(free)))
}

// fitRetention returns how large the streams may be, which is less than the flags allow where the disk cannot hold that,
// and says so once. What the streams have already counts as free.
func (r *running) fitRetention() int64 {
	o := r.opts
	free, err := freeBytes(o.store)
	if err != nil {
		return int64(o.size)
	}
	room := int64(free) + usedBytes(o.store) - bucketRoom
	most := max(room*2/3, leastRetention)
	if int64(o.size) <= most {
		r.isTight = r.isTight && int64(o.size) > most-most/8 // said again once it was well in between
		return int64(o.size)
	}
	if !r.isTight {
		r.isTight = true
		r.log.Warn("the disk of --store is too small for --retention-size", "wanted", o.size.String(), "free", digits.Bytes(float64(free)), "used", digits.Bytes(float64(most)))
	}
	return most
}

// enterSandbox drops the rights that the run does not need any more.
func (r *running) enterSandbox() error {
	o := r.opts
	where := broker.Redacted(o.url)
	if r.broker != nil {
		where = "within the process"
		if a := r.broker.Addr(); a != nil {
			where += ", at " + a.String()
		}
	}
	r.log.Info("begin", "id", r.hub.ID(), "listen", r.server.Addr().String(), "broker", where, "prefix", o.prefix)
	if o.noSandbox {
		r.log.Warn("no sandbox", "why", "--no-sandbox")
		return nil
	}
	var p sandbox.Policy
	p.AllowFigures()
	if o.store != "" {
		p.Trees = []string{o.store}
	}
	if o.web.TokenFile != "" {
		p.Read = append(p.Read, filepath.Dir(o.web.TokenFile))
	}
	if o.url != "" { // names are resolved anew with each connection
		p.AllowNames()
		p.Connect = append(p.Connect, broker.PortOf(o.url))
	}
	status, err := sandbox.Enter(p)
	if err == nil {
		r.log.Info("sandbox", "status", status.String())
	}
	return err
}

// readyEvery is how often watch asks the hub whether it has read what there was.
const readyEvery = 200 * time.Millisecond

// watch reports to the manager and to readers that all is well, and reloads at a hangup, until ctx ends. A broker that
// stores no more is an error in stopped: the run ends with it, so that the manager starts it again.
func (r *running) watch(ctx context.Context, hangup <-chan os.Signal, stopped chan<- error) {
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	var alive <-chan time.Time
	if every := systemd.WatchdogInterval(); every > 0 {
		t := time.NewTicker(every / 2)
		defer t.Stop()
		alive = t.C
	}
	for isReady := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			r.reload()
		case <-alive:
			if err := r.health(); err != nil {
				r.log.Error("not well", "why", err)
				continue
			}
			r.manager.Notify("WATCHDOG=1")
		case <-tick.C:
			if r.broker != nil {
				if err := r.broker.Err(); err != nil {
					stopped <- err
					return
				}
			}
			if !isReady && r.hub.IsReady() {
				isReady = true
				r.server.SetReady(true)
				r.manager.Notify("READY=1", "STATUS=reading "+r.hub.Names().Counts)
			}
		}
	}
}

// reload reads the token and the services again. An error leaves all as it was: the services are the
// last step that can fail.
func (r *running) reload() {
	r.manager.Reloading()
	defer r.manager.Notify("READY=1")
	token, err := r.opts.web.LoadToken(longestSecret)
	if r.told != nil {
		r.told.Reopen()
		if err == nil && r.opts.told.Hooks != "" {
			err = r.told.ReloadHooks(r.opts.told.Hooks)
		}
	}
	if err != nil {
		r.log.Error("nothing was reloaded", "why", err)
		return
	}
	r.server.SetToken(token)
	r.log.Info("reloaded")
}

// close ends everything, each part before those that it needs.
func (r *running) close() {
	if r.server != nil {
		r.server.Close()
	}
	if r.told != nil {
		if err := r.told.Close(); err != nil {
			r.log.Error("telling", "what", err)
		}
	}
	if r.conn != nil {
		r.conn.Close()
	}
	if r.broker != nil {
		r.broker.Close()
	}
	r.log.Info("end")
}

// tellHelp is the part of a long description about who is told.
const tellHelp = `Campaigns are told when they begin, change and end, and sensors when they fall silent and
speak again, as qsniff monitor tells incidents: --tell FILE appends JSON lines, --webhooks
FILE lists services (discord, slack, matrix, ntfy, json), --on-campaign-exec starts a
PROGRAM with QSNIFF_EVENT, QSNIFF_THREAD, QSNIFF_KIND, QSNIFF_LEVEL, QSNIFF_TEXT,
QSNIFF_ADVICE and more in its environment, and the line on standard input. Of several
hubs the one that leads tells. What it told just before it ended, and may not have
arrived, is counted as uncertain, and not told again.`

// startTelling starts the messenger process. It returns nil if c names nothing for it to do.
func startTelling(c *notify.Config, log func(string)) (*notify.Messenger, error) {
	if c.IsEmpty() {
		return nil, nil
	}
	cmd, err := cli.OwnCommand("qsniff-hub", "messenger")
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	m, err := notify.Start(cmd, c, log)
	if err != nil {
		return nil, cli.Hinted(err, "qsniff-hub run --help has who can be told, and how")
	}
	return m, nil
}

// newMessenger is the command that run starts as a process of its own.
func newMessenger(io streams) *cobra.Command {
	return &cobra.Command{Use: "messenger", Short: "tell what another qsniff-hub finds: started by it", Hidden: true, Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			cli.SurviveSignals()
			return messenger.Serve(os.Stdin, os.Stdout, messenger.Options{Errors: io.err, Report: func(string) (*exec.Cmd, error) {
				return nil, errors.New("a hub has no captures")
			}})
		}}
}

// freeBytes returns how many bytes a user without rights may still write on the file system of a path; where that does not
// exist yet, of the nearest folder above it that does.
func freeBytes(path string) (uint64, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return 0, err
	}
	for {
		n, err := statFree(path)
		above := filepath.Dir(path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || above == path {
			return n, err
		}
		path = above
	}
}

// usedBytes returns how many bytes the regular files below a folder have. What vanishes meanwhile is left out.
func usedBytes(folder string) (n int64) {
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}
