package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qsniff/internal/app/cli"
	"qsniff/internal/fleet"
	"qsniff/internal/fleet/hub"
	"qsniff/internal/fleet/hub/broker"
	"qsniff/internal/monitor/notify"
)

// brokerOptions are the flags about the broker, which several commands have.
type brokerOptions struct {
	prefix string
	url    string // of a broker elsewhere; empty: it is within the process
	creds  string
	ca     string
	store  string
}

func (o *brokerOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.prefix, "prefix", fleet.DefaultPrefix, "the subjects of the fleet begin with `WORD`, as --fleet-prefix of sensors")
	f.StringVar(&o.url, "nats", "", "use the broker at `URL`, nats://HOST:PORT or tls://..., in place of one within this process")
	f.StringVar(&o.creds, "nats-creds", "", "the credentials for the broker are in `FILE`, as qsniff-hub creds writes it")
	f.StringVar(&o.ca, "nats-ca", "", "check the certificate of the broker at URL by the authorities in `FILE`, PEM")
	f.StringVar(&o.store, "store", "", "the streams of the broker within this process are in `DIR`")
}

// dial returns how the broker is connected to.
func (o *brokerOptions) dial() (broker.Dial, error) {
	d := broker.Dial{URL: o.url, CA: o.ca}
	if err := hub.CheckPrefix(o.prefix); err != nil {
		return d, cli.Usage(err, "as in --prefix qsniff")
	}
	switch {
	case o.url == "" && o.store == "":
		return d, cli.Usage(errors.New("neither --store nor --nats is given"), "--store DIR has the streams of a broker within this process; --nats URL names another one")
	case o.url != "" && o.store != "":
		return d, cli.Usage(errors.New("--store is for the broker within this process, --nats names another one"), "leave one of them out")
	case o.url != "" && broker.PortOf(o.url) == 0:
		return d, cli.Usage(errors.New("--nats: it is no address of a broker"), "as in nats://127.0.0.1:4222, or tls://broker.example:4222")
	}
	var err error
	if o.creds != "" {
		if d.Creds, err = broker.LoadCreds(o.creds); err != nil {
			return d, cli.Hinted(err, "qsniff-hub creds makes such files")
		}
	}
	return d, nil
}

// hubOptions are the flags of run and check.
type hubOptions struct {
	brokerOptions
	told       cli.TellFlags
	configFile string
	secretFile string
	thresholds string

	natsListen string
	natsConfig string
	natsCert   string
	natsKey    string
	natsCA     string
	replicas   int
	age        time.Duration
	size       cli.ByteSize

	web cli.WebFlags

	noSandbox bool
	log       cli.LogFlags
}

func (o *hubOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	o.size = 8 << 30
	f.StringVar(&o.configFile, "config", "", "take flags from `FILE`, a TOML file with their long names")
	f.StringVar(&o.secretFile, "secret", "", "the secret that all sensors and hubs share is in `FILE`")
	o.brokerOptions.register(cmd)
	f.StringVar(&o.thresholds, "thresholds", "", "take thresholds of floods from `FILE.toml`, as qsniff floods does")
	f.StringVar(&o.natsListen, "nats-listen", usualNATS, "sensors reach the broker within this process at `ADDR:PORT`; none: by --nats-config only")
	f.StringVar(&o.natsConfig, "nats-config", "", "who may do what at this broker is in `FILE`, as qsniff-hub creds writes it")
	f.StringVar(&o.natsCert, "nats-cert", "", "encrypt connections of sensors, with the certificate in `FILE`, PEM")
	f.StringVar(&o.natsKey, "nats-key", "", "the key of this certificate is in `FILE`, PEM")
	f.StringVar(&o.natsCA, "nats-client-ca", "", "sensors must bring a certificate of the authorities in `FILE`, PEM")
	f.IntVar(&o.replicas, "replicas", 1, "keep streams on `N` servers of a cluster")
	f.DurationVar(&o.age, "retention-age", 7*24*time.Hour, "keep counts for this `TIME`; incidents and campaigns ten times as long")
	f.Var(&o.size, "retention-size", "keep so many bytes of counts; a quarter of that of incidents, a tenth of campaigns")
	o.web.Register(f, "127.0.0.1:9478")
	o.told.Register(f, "campaigns", "campaign")
	f.BoolVar(&o.noSandbox, "no-sandbox", false, "keep all rights")
	o.log.Register(f)
}

// usualNATS is where sensors of this machine reach the broker.
const usualNATS = "127.0.0.1:4222"

// leastAge is the shortest time that counts may be kept. Chosen: a hub that is started anew after an
// hour still has the counts of that hour.
const leastAge = time.Hour

// check returns an error for flags that cannot be.
func (o *hubOptions) check() error {
	if err := cmp.Or(o.web.Check(), cli.CheckPair("nats-cert", o.natsCert, "nats-key", o.natsKey)); err != nil {
		return err
	}
	if o.natsListen != "none" && o.url == "" {
		if err := cli.CheckAddress("nats-listen", o.natsListen, usualNATS); err != nil {
			return err
		}
		host, _, _ := net.SplitHostPort(o.natsListen)
		if host != "localhost" && !cli.IsLoopback(host) && o.natsCert == "" && o.natsConfig != "" && !o.web.Insecure {
			return cli.Usage(fmt.Errorf("--nats-listen %s: what sensors tell could be read and changed on the way", o.natsListen),
				"--nats-cert and --nats-key encrypt; --insecure is for a tunnel")
		}
	}
	if o.url != "" {
		if err := o.web.CheckBroker("nats", o.url); err != nil {
			return err
		}
	}
	if o.age < leastAge {
		return cli.Usage(fmt.Errorf("--retention-age %v: at least %v", o.age, leastAge), "as in 168h")
	}
	if o.size < leastRetention {
		return cli.Usage(fmt.Errorf("--retention-size %s: at least 64M", o.size.String()), "as in 8G")
	}
	return nil
}

// server returns how the broker within the process runs.
func (o *hubOptions) server(log *slog.Logger) broker.Options {
	b := broker.Options{Listen: o.natsListen, Store: o.store, Config: o.natsConfig, Cert: o.natsCert, Key: o.natsKey, CA: o.natsCA,
		MaxStore: int64(o.size) + int64(o.size)/2 + bucketRoom, Log: log}
	if o.natsListen == "none" {
		b.Listen = ""
	}
	return b
}

// leastRetention is the smallest size of the counts that are kept.
const leastRetention = 64 << 20

// bucketRoom is how many bytes the broker may store besides the streams: the state of the hubs, and the
// next one while it is being written.
const bucketRoom = 1 << 30

// notInConfig are flags that a file cannot set.
var notInConfig = []string{"config", "help"}

// loadConfig sets flags by a TOML file with their long names, unless the command line has them.
func loadConfig(flags *pflag.FlagSet, name string) error {
	if name == "" {
		return nil
	}
	c := cli.Config{Name: name, Command: "qsniff-hub run", Path: "qsniff-hub run", Not: notInConfig}
	return c.Load(flags)
}

// longestSecret is the greatest size of a file with a secret, a token or credentials.
const longestSecret = 64 << 10

const secretHint = "head -c 24 /dev/urandom | base64 > FILE makes one, for all sensors and hubs; chmod 600 FILE keeps it"

// loadSecret reads the secret of the fleet.
func loadSecret(name string) (*fleet.Secret, error) {
	if name == "" {
		return nil, needs("secret", secretHint)
	}
	text, err := notify.ReadSecret(name, "whoever has the secret of the fleet can read addresses", longestSecret)
	var s *fleet.Secret
	if err == nil {
		s, err = fleet.NewSecret(bytes.TrimSpace([]byte(text)))
	}
	return s, cli.NameFile(name, err, secretHint)
}

const credsHelp = `creds makes what a broker tells sensors apart by, in a folder: its configuration, the
credentials of hubs, and a file for each SENSOR. It makes what is missing and leaves the rest.

  nats.conf       for qsniff-hub --nats-config, or to include in that of a nats-server;
                  it has no secrets
  _hub.creds      for qsniff-hub --nats-creds
  SENSOR.creds    for qsniff monitor --fleet-creds on that host, and nowhere else
  operator.seed, account.seed, hub.seed    sign all of these: they belong on no host of
                  the fleet

With its file a sensor can publish as itself and get the acks for that. It cannot publish as
another sensor, and read nothing that any has published: hubs and streams are in an account
of their own, which sensors reach by these subjects alone. In a folder that was made before
that, _hub.creds and nats.conf are made anew, and the hub is to be started with them: it
finds its streams. The files of sensors stay as they are. --revoke makes the file of a
SENSOR worthless, once the broker runs with the new nats.conf.

Exit status: 0 made, 1 failed, 2 wrong usage.`

func newCreds(io streams) *cobra.Command {
	dir, prefix, revoke := "", fleet.DefaultPrefix, false
	cmd := &cobra.Command{Use: "creds --dir DIR [SENSOR]...", Short: "make credentials for sensors, hubs and their broker", Long: credsHelp,
		Example: `  qsniff-hub creds --dir fleet-keys ams-1 ams-2 fra-1
  qsniff-hub creds --dir fleet-keys --revoke ams-2`,
		RunE: func(_ *cobra.Command, sensors []string) error {
			if dir == "" {
				return needs("dir", "a folder that only you can read")
			}
			if err := hub.CheckPrefix(prefix); err != nil {
				return cli.Usage(err, "as in --prefix qsniff")
			}
			for _, name := range sensors {
				if err := fleet.CheckName(name); err != nil {
					return cli.Usage(err, "the NAME that qsniff monitor --fleet-name has")
				}
			}
			c, err := broker.OpenCredentials(dir, prefix)
			if err != nil {
				return err
			}
			return makeCreds(c, sensors, revoke, io)
		}}
	f := cmd.Flags()
	f.StringVar(&dir, "dir", "", "the files are in `DIR`")
	f.StringVar(&prefix, "prefix", prefix, "the subjects of the fleet begin with `WORD`")
	f.BoolVar(&revoke, "revoke", false, "revoke the credentials of each SENSOR")
	return cmd
}

func makeCreds(c *broker.Credentials, sensors []string, revoke bool, io streams) error {
	if c.IsMoved() {
		fmt.Fprintf(io.out, "hubs have an account of their own now: start them with the new %s and %s\n", c.HubFile(), c.ConfigFile())
	}
	for _, name := range sensors {
		if revoke {
			if err := c.Revoke(name); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			fmt.Fprintf(io.out, "%s: revoked, once the broker runs with the new %s\n", name, c.ConfigFile())
			continue
		}
		file, err := c.AddSensor(name)
		if errors.Is(err, broker.ErrThere) {
			fmt.Fprintf(io.out, "%s: is there\n", file)
			continue
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(io.out, "%s: for the host of the sensor %s\n", file, name)
	}
	fmt.Fprintf(io.out, "%s: for --nats-config\n%s: for --nats-creds of hubs\n", c.ConfigFile(), c.HubFile())
	return nil
}
