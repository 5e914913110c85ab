package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/fleet"
	"qsniff/internal/fleet/hub"
	"qsniff/internal/fleet/hub/broker"
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
		if host != "localhost" && !isLoopback(host) && o.natsCert == "" && o.natsConfig != "" && !o.web.Insecure {
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
