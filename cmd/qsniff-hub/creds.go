package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/fleet"
	"qsniff/internal/fleet/hub"
	"qsniff/internal/fleet/hub/broker"
)

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
