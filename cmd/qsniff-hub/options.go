package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"qsniff/fleet"
	"qsniff/fleet/hub"
	"qsniff/fleet/hub/broker"
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
		return d, &usageError{err, "as in --prefix qsniff"}
	}
	switch {
	case o.url == "" && o.store == "":
		return d, &usageError{errors.New("neither --store nor --nats is given"), "--store DIR has the streams of a broker within this process; --nats URL names another one"}
	case o.url != "" && o.store != "":
		return d, &usageError{errors.New("--store is for the broker within this process, --nats names another one"), "leave one of them out"}
	case o.url != "" && broker.PortOf(o.url) == 0:
		return d, &usageError{errors.New("--nats: it is no address of a broker"), "as in nats://127.0.0.1:4222, or tls://broker.example:4222"}
	}
	var err error
	if o.creds != "" {
		if d.Creds, err = broker.LoadCreds(o.creds); err != nil {
			return d, &hintedError{err, "qsniff-hub creds makes such files"}
		}
	}
	return d, nil
}

// hubOptions are the flags of run and check.
type hubOptions struct {
	brokerOptions
	tellOptions
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
	size       byteSize

	listen    string
	hosts     []string
	tokenFile string
	cert, key string

	noSandbox bool
	logForm   string
	logLevel  string
}

func (o *hubOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	o.size, o.logForm, o.logLevel = 8<<30, "text", "info"
	f.StringVar(&o.configFile, "config", "", "take flags from `FILE`, a TOML file with their long names")
	f.StringVar(&o.secretFile, "secret", "", "the secret that all sensors and hubs share is in `FILE`")
	o.brokerOptions.register(cmd)
	f.StringVar(&o.thresholds, "thresholds", "", "take thresholds of floods from `FILE.toml`, as qsniff floods does")
	f.StringVar(&o.natsListen, "nats-listen", "127.0.0.1:4222", "sensors reach the broker within this process at `ADDR:PORT`; none: by --nats-config only")
	f.StringVar(&o.natsConfig, "nats-config", "", "who may do what at this broker is in `FILE`, as qsniff-hub creds writes it")
	f.StringVar(&o.natsCert, "nats-cert", "", "encrypt connections of sensors, with the certificate in `FILE`, PEM")
	f.StringVar(&o.natsKey, "nats-key", "", "the key of this certificate is in `FILE`, PEM")
	f.StringVar(&o.natsCA, "nats-client-ca", "", "sensors must bring a certificate of the authorities in `FILE`, PEM")
	f.IntVar(&o.replicas, "replicas", 1, "keep streams on `N` servers of a cluster")
	f.DurationVar(&o.age, "retention-age", 7*24*time.Hour, "keep counts for this `TIME`; incidents and campaigns ten times as long")
	f.Var(&o.size, "retention-size", "keep so many bytes of counts; a tenth of that of incidents, and of campaigns")
	f.StringVar(&o.listen, "listen", "127.0.0.1:9478", "answer over HTTP at `ADDR:PORT`")
	f.StringArrayVar(&o.hosts, "host", nil, "a `NAME` under which readers may ask, besides the address; may be given several times")
	f.StringVar(&o.tokenFile, "web-token-file", "", "readers must bring the token in `FILE`")
	f.StringVar(&o.cert, "web-cert", "", "encrypt, with the certificate in `FILE`, PEM")
	f.StringVar(&o.key, "web-key", "", "the key of the certificate is in `FILE`, PEM")
	o.tellOptions.register(cmd)
	f.BoolVar(&o.noSandbox, "no-sandbox", false, "keep all rights")
	f.Var(&choice{&o.logForm, []string{"text", "json"}}, "log-format", "text: key=value; json: an object a line")
	f.Var(&choice{&o.logLevel, []string{"debug", "info", "warn", "error"}}, "log-level", "log what is at least as important")
}

// leastAge is the shortest time that counts may be kept. Chosen: a hub that is started anew after an
// hour still has all of it.
const leastAge = time.Hour

// check returns an error for flags that cannot be.
func (o *hubOptions) check() error {
	for _, pair := range [][4]string{{"web-cert", o.cert, "web-key", o.key}, {"nats-cert", o.natsCert, "nats-key", o.natsKey}} {
		if (pair[1] == "") != (pair[3] == "") {
			return &usageError{fmt.Errorf("--%s and --%s go together", pair[0], pair[2]), "name the files of both; one file may have both"}
		}
	}
	if _, _, err := net.SplitHostPort(o.listen); err != nil {
		return &usageError{fmt.Errorf("--listen %s: not an address with a port", o.listen), "as in 127.0.0.1:9478, or :9478 for all addresses"}
	}
	if _, _, err := net.SplitHostPort(o.natsListen); err != nil && o.natsListen != "none" {
		return &usageError{fmt.Errorf("--nats-listen %s: not an address with a port", o.natsListen), "as in 127.0.0.1:4222, or :4222 for all addresses"}
	}
	if o.age < leastAge {
		return &usageError{fmt.Errorf("--retention-age %v: at least %v", o.age, leastAge), "as in 168h"}
	}
	if o.size < 64<<20 {
		return &usageError{fmt.Errorf("--retention-size %s: at least 64M", o.size.String()), "as in 8G"}
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

// bucketRoom is what the broker may store besides the streams: the states of hubs, one that is and
// one that is being written.
const bucketRoom = 1 << 30

// newLogger returns the logger of the run, on standard error.
func (o *hubOptions) newLogger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(o.logLevel)) // the flag has no other values
	opt := &slog.HandlerOptions{Level: level}
	if o.logForm == "json" {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
}
