//go:build !js

package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qsniff/internal/base/cli"
	"qsniff/internal/base/hostset"
	"qsniff/internal/flood"
	"qsniff/internal/monitor"
	"qsniff/internal/monitor/notify"
	"qsniff/internal/monitor/serve"
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
	limits     flood.Thresholds
	ownServers *hostset.Set // nil: all
	token      []byte
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
		return &usageError{errors.New("monitor: neither an interface nor a capture given"), "name an interface after -i, or a file or a folder that grows"}
	case o.isLive() && len(args) > 0:
		return &usageError{errors.New("monitor captures on interfaces or reads a capture, not both"), "leave out -i, or " + args[0]}
	case len(args) > 1:
		return &usageError{errors.New("monitor reads one capture, or one folder of captures"), "run it once for each, with a --listen of its own"}
	case o.maxServers < 0 || o.maxServers > monitor.MostServers:
		return &usageError{fmt.Errorf("--max-servers %d: not from 0 to %d", o.maxServers, monitor.MostServers), "each is some hundred time series"}
	}
	if err := o.web.Check(); err != nil {
		return err
	}
	if !o.isLive() && o.keepOptions.write != "" {
		return &usageError{errors.New("-w writes what is captured with -i"), "the packets of a capture are in a file already"}
	}
	o.isBounded = o.flags.Changed("ring-size") || o.flags.Changed("ring-files")
	if err := cmp.Or(o.checkCapture(), o.keepOptions.check()); err != nil {
		return err
	}
	var err error
	if o.ownServers, err = o.parseServers(); err != nil {
		return err
	}
	if err = o.parseOwn(); err != nil {
		return err
	}
	if o.limits, err = cli.LoadThresholds(o.thresholds); err != nil {
		return err
	}
	if o.token, err = loadToken(o.web.TokenFile); err != nil {
		return err
	}
	if _, err = o.web.LoadCertificate(); err != nil {
		return err
	}
	_, err = o.Config()
	return cmp.Or(err, o.fleet.prepare(o.flags.Changed), o.web.CheckBroker("fleet", o.fleet.url))
}

// loadToken reads the file of a token; without a name there is none.
func loadToken(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	text, err := notify.ReadSecret(name, "whoever has the token can read the page", longestSecret)
	var token []byte
	if err == nil {
		token, err = serve.ParseToken([]byte(text))
	}
	return token, cli.NameFile(name, err, "head -c 24 /dev/urandom | base64 > FILE makes one; chmod 600 FILE keeps it")
}
