package main

import (
	"errors"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/fleet/messenger"
	"qsniff/internal/monitor/notify"
)

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
