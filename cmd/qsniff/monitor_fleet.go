//go:build !js

package main

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/base/digits"
	"qsniff/internal/fleet"
	"qsniff/internal/fleet/outbox"
	"qsniff/internal/fleet/sensor"
	"qsniff/internal/flood"
	"qsniff/internal/monitor/notify"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/track"
)

// fleetOptions are the flags about the fleet that this host is one of.
type fleetOptions struct {
	url        string // of the broker; empty: there is no fleet
	name       string // of this sensor
	secretFile string
	prefix     string // of subjects
	creds, ca  string
	spool      string
	spoolSize  cli.ByteSize
	addresses  bool // messages have the addresses of clients

	secret *fleet.Secret // that of secretFile
}

// addFleet adds to the run a sensor, which passes its messages for the hub of the fleet to m.toFleet. It
// comes before all other watchers: it ends a window before these count the first packet of the next one.
func (m *monitorRun) addFleet(cfg *pipeline.Config) {
	o := &m.opts.fleet
	var run [8]byte
	rand.Read(run[:]) // it does not fail
	opt := sensor.Options{Meter: m.meter, Detector: m.detector.Detector, Secret: o.secret, Name: o.name, Run: hex.EncodeToString(run[:]),
		Program: readBuild().Version, Input: m.inputName(), Packets: func() uint64 { return m.received }, Put: m.toFleet}
	if m.opts.isLive() {
		opt.Wall = func() int64 { return time.Now().UnixNano() }
	}
	if o.addresses {
		line := &fleetLine{json: jsonl.New(jsonl.Options{})}
		opt.Line = line.make
		cfg.OnStart = append(cfg.OnStart, func(totals func() tally.Run) { line.totals = totals })
	}
	x := sensor.New(opt)
	cfg.Seed = o.secret.Seed()
	cfg.Watchers = append([]track.Watcher{x}, cfg.Watchers...)
	m.detector.Detector.AddObserver(func(in *flood.Incident, e flood.Event) { m.detector.filter(x.AddIncident)(in, e) })
	if cfg.Listener != nil { // findings are wanted
		cfg.Listener = x.Listen(cfg.Listener)
	}
}

// inputName returns what is read, as the hub shows it: interfaces, or a capture without its folder.
func (m *monitorRun) inputName() string {
	if m.opts.isLive() {
		return strings.Join(m.opts.interfaces, ", ")
	}
	return filepath.Base(m.in.what)
}

// fleetLine makes the lines of incidents for the hub.
type fleetLine struct {
	json   *jsonl.Renderer
	totals func() tally.Run // of the run so far
}

// make returns an incident as floods -o json prints it, with what happened to it.
func (l *fleetLine) make(in *flood.Incident, e flood.Event) []byte {
	run := l.totals()
	line := l.json.AppendIncident(nil, &render.IncidentEvent{Nanos: max(in.Detected, in.End), Event: e, Incident: in, Run: &run})
	return line[:len(line)-1]
}

// fleetHelp is the part of the long description about the fleet.
const fleetHelp = `--fleet has it tell a hub, qsniff-hub, what its servers are asked, through a broker (NATS with
JetStream): every 10 s a message for each of 64 servers, of the same size in a flood as in peace,
and incidents. No packet is in them and, but for --fleet-addresses, no address of a client that
somebody without the secret of the fleet could read. The credentials of --fleet-creds need the
right to publish to PREFIX.NAME.> and to subscribe to _INBOX.NAME.>, and no other. What the broker
does not take waits, 8 MiB in memory and what --fleet-spool has room for; the oldest goes first
and is counted.`

// register adds the flags.
func (o *fleetOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	o.spoolSize = outbox.DefaultSpool
	f.StringVar(&o.url, "fleet", "", "tell the hub of a fleet, by the broker at `URL`: nats://HOST or tls://HOST; several with commas")
	f.StringVar(&o.name, "fleet-name", "", "be `NAME` in the fleet: letters, digits, - and _; without it the name of the host")
	f.StringVar(&o.secretFile, "fleet-secret", "", "hide addresses by the secret in `FILE`, the same on all hosts and on the hub")
	f.StringVar(&o.prefix, "fleet-prefix", fleet.DefaultPrefix, "publish to `PREFIX`.NAME.KIND")
	f.StringVar(&o.creds, "fleet-creds", "", "be let in by the credentials, or the seed of an NKey, in `FILE`")
	f.StringVar(&o.ca, "fleet-ca", "", "encrypt, and trust brokers whose certificates those in `FILE` have signed, PEM")
	f.StringVar(&o.spool, "fleet-spool", "", "keep in the folder `DIR` what the broker has not taken")
	f.Var(&o.spoolSize, "fleet-spool-size", "keep so many bytes there")
	f.BoolVar(&o.addresses, "fleet-addresses", false, "send incidents with the addresses of clients")
	for _, name := range []string{"fleet", "fleet-name", "fleet-prefix", "fleet-spool-size"} {
		propose(cmd, name, cobra.NoFileCompletions)
	}
	propose(cmd, "fleet-spool", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
}

// prepare checks the flags, and reads the secret.
func (o *fleetOptions) prepare(isGiven func(flag string) bool) error {
	if o.url == "" {
		for _, name := range []string{"fleet-name", "fleet-secret", "fleet-prefix", "fleet-creds", "fleet-ca", "fleet-spool", "fleet-spool-size", "fleet-addresses"} {
			if isGiven(name) {
				return cli.Usage(fmt.Errorf("--%s without --fleet", name), "--fleet nats://HOST names the broker")
			}
		}
		return nil
	}
	if o.secretFile == "" {
		return cli.Usage(errors.New("--fleet needs --fleet-secret FILE: the same on all hosts of the fleet and on the hub"), secretHint)
	}
	if _, err := outbox.ParseURLs(o.url); err != nil {
		return cli.Usage(fmt.Errorf("--fleet: %w", err), "as in nats://hub.example or tls://hub.example:4222")
	}
	if o.name == "" {
		host, err := os.Hostname()
		o.name = fleet.NameOf(host)
		if err != nil || o.name == "" {
			return cli.Usage(errors.New("--fleet: this host has no name"), "--fleet-name NAME gives it one")
		}
	}
	if err := fleet.CheckName(o.name); err != nil {
		return cli.Usage(fmt.Errorf("--fleet-name %w", err), "leave it out for the name of the host")
	}
	if err := outbox.CheckPrefix(o.prefix); err != nil {
		return cli.Usage(fmt.Errorf("--fleet-prefix %w", err), "leave it out for "+fleet.DefaultPrefix)
	}
	if n := o.spoolSize; n < outbox.LeastSpool || n > outbox.MostSpool {
		return cli.Usage(fmt.Errorf("--fleet-spool-size %s: from %s to %s", digits.Bytes(float64(n)), digits.Bytes(outbox.LeastSpool), digits.Bytes(outbox.MostSpool)),
			"leave it out for "+digits.Bytes(outbox.DefaultSpool))

	}
	return cmp.Or(o.loadSecret(), o.checkCreds())
}

// secretHint is how a secret is made.
const secretHint = "head -c 24 /dev/urandom | base64 > FILE makes one; chmod 600 FILE keeps it"

// loadSecret reads the secret.
func (o *fleetOptions) loadSecret() error {
	text, err := notify.ReadSecret(o.secretFile, "whoever has the secret of the fleet can read addresses", longestSecret)
	if err == nil {
		o.secret, err = fleet.NewSecret(bytes.TrimSpace([]byte(text)))
	}
	return cli.NameFile("--fleet-secret "+o.secretFile, err, secretHint)
}

// checkCreds returns an error if others can read the credentials.
func (o *fleetOptions) checkCreds() error {
	if o.creds == "" {
		return nil
	}
	_, err := notify.ReadSecret(o.creds, "whoever has the credentials can speak as this host", longestCreds)
	return cli.NameFile("--fleet-creds "+o.creds, err, "docs/fleet.md has how they are made")
}

// config returns where messages go; nil: nowhere.
func (o *fleetOptions) config() *notify.Fleet {
	if o.url == "" {
		return nil
	}
	return &notify.Fleet{URL: o.url, Name: o.name, Prefix: o.prefix, Creds: o.creds, CA: o.ca, Spool: o.spool, SpoolSize: int64(o.spoolSize)}
}

// describe returns what would be sent where, for --check.
func (o *fleetOptions) describe() string {
	if o.url == "" {
		return "none"
	}
	spool, addresses := "in memory only", "sealed addresses"
	if o.spool != "" {
		spool = fmt.Sprintf("%s of %s", o.spool, digits.Bytes(float64(o.spoolSize)))
	}
	if o.addresses {
		addresses = "addresses of clients"
	}
	return fmt.Sprintf("%s as %s, spool %s, %s", o.url, o.name, spool, addresses)
}

// putFleet passes a message on to the messenger process. It does not block.
func (m *monitorRun) putFleet(x fleet.Message) {
	line, err := fleet.Encode(x)
	if err != nil {
		m.told.Messenger.AddFleetLost()
		return
	}
	h := fleet.HeadOf(x)
	m.told.Messenger.PutFleet(&notify.FleetMessage{Kind: string(h.Kind), ID: h.MessageID(), Line: line})
}

// limit: longestCreds is the greatest size of the file of credentials for a broker, in bytes. Chosen: that of
// a token with a hundred permissions.
const longestCreds = 64 << 10
