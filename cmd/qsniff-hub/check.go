package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/fleet/hub/broker"
	"qsniff/internal/fleet/messenger"
)

const checkHelp = `check takes the flags of run, opens the files that they name as run would, connects to the
broker of --nats, and says what would run. It starts nothing and changes nothing.

Exit status: 0 fine, 1 a file or the broker is not, 2 wrong usage.`

func newCheck(io streams) *cobra.Command {
	o := &hubOptions{}
	cmd := &cobra.Command{Use: "check [flags]", Short: "check the flags of run, and the files that they name", Long: checkHelp, Args: noArgs,
		Example: "  qsniff-hub check --secret /etc/qsniff/fleet.secret --store /var/lib/qsniff-hub\n  qsniff-hub check --config /etc/qsniff/hub.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := loadConfig(cmd.Flags(), o.configFile); err != nil {
				return err
			}
			return o.printCheck(io)
		}}
	o.register(cmd)
	return cmd
}

// printCheck checks everything, and prints what would run.
func (o *hubOptions) printCheck(to streams) error {
	if err := o.check(); err != nil {
		return err
	}
	dial, err := o.dial()
	if err != nil {
		return err
	}
	if _, err := loadSecret(o.secretFile); err != nil {
		return err
	}
	if _, err := cli.LoadThresholds(o.thresholds); err != nil {
		return err
	}
	token, err := o.web.LoadToken(longestSecret)
	if err != nil {
		return err
	}
	host, _, _ := net.SplitHostPort(o.web.Listen)
	isHere := host == "localhost" || cli.IsLoopback(host)
	if len(token) == 0 && !isHere {
		return o.web.NoToken()
	}
	if err := o.web.CheckTLS(isHere); err != nil {
		return err
	}
	if _, err := o.web.LoadCertificate(); err != nil {
		return err
	}
	where, err := o.checkBroker(dial, to)
	if err != nil {
		return err
	}
	c, err := o.told.Config()
	if err != nil {
		return err
	}
	sinks, err := messenger.Check(c)
	if err != nil {
		return err
	}
	told := "nobody"
	if len(sinks) > 0 {
		told = strings.Join(sinks, ", ")
	}
	_, err = fmt.Fprintf(to.out, "broker: %s\nsubjects: %s.>\ncounts: kept %v, at most %s\npage: %s\ntold: %s\n", where, o.prefix, o.age, o.size.String(), o.web.Listen, told)
	return err
}

// checkWait is how long the broker may take to answer.
const checkWait = 5 * time.Second

// checkBroker returns in words where the broker is, or an error if it would not start or does not answer.
func (o *hubOptions) checkBroker(dial broker.Dial, to streams) (string, error) {
	if o.url == "" {
		err := broker.Check(o.server(o.log.NewLogger(to.err)))
		if errors.Is(err, broker.ErrOpen) {
			return "", cli.Usage(fmt.Errorf("--nats-listen %s: %w", o.natsListen, err), "qsniff-hub creds makes them, and the file for --nats-config; 127.0.0.1 needs none")
		}
		if err != nil {
			return "", err
		}
		if info, err := os.Stat(o.store); err == nil && !info.IsDir() {
			return "", fmt.Errorf("--store %s: is no folder", o.store)
		}
		return "within the process, at " + o.natsListen + ", streams in " + o.store, nil
	}
	c, err := dial.Connect()
	if err != nil {
		return "", cli.Hinted(err, "is it there, and are --nats-creds for it?")
	}
	defer c.Close()
	if err := c.FlushTimeout(checkWait); err != nil {
		return "", err
	}
	return broker.Redacted(o.url) + ", nats-server " + c.ConnectedServerVersion(), nil
}
