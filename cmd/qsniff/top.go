//go:build !js

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"qsniff/capture/play"
	"qsniff/internal/app/terminal"
	"qsniff/internal/base/cli"
	"qsniff/internal/base/hostset"
	"qsniff/internal/flood"
	"qsniff/internal/monitor"
)

// topOptions are the flags of top.
type topOptions struct {
	readOptions
	speed      string
	thresholds string
	maxServers int

	// What flags name, read and parsed.
	playSpeed  float64
	limits     flood.Thresholds
	ownServers *hostset.Set // nil: all
}

func newTop(io streams) *cobra.Command {
	opts := &topOptions{readOptions: *readDefaults()}
	cmd := &cobra.Command{
		Use:     "top -i IFACE | FILE... [flags]",
		GroupID: groupTraffic,
		Short:   "the traffic of a host at a glance, on a terminal",
		Long:    topHelp,
		Example: `  qsniff top -i eth0                          what happens now
  qsniff top -i eth0 --servers 198.51.100.0/24   at one's own servers
  qsniff top --follow /var/log/ring           of a ring of files that grows
  qsniff top evening.pcap                     a capture, played as it was
  qsniff top --speed max evening.pcap         all of it at once`,
		ValidArgsFunction: completeCaptures,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.prepare(args, io); err != nil {
				return err
			}
			return onScreen(cmd.Context(), func() error { return runTop(cmd.Context(), opts, args, io) })
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	opts.registerCapture(cmd, " in place of reading FILE")
	f.StringVar(&opts.speed, "speed", "1", "play a capture `N` times as fast, from 0.25 to 1000, or max")
	f.BoolVar(&opts.follow, "follow", false, "go on as the capture, or the ring of files in a folder, grows")
	f.BoolVar(&opts.utc, "utc", false, "times in UTC instead of local time")
	f.StringVar(&opts.thresholds, "thresholds", "", "take thresholds of floods from `FILE.toml`")
	f.IntVar(&opts.maxServers, "max-servers", monitor.DefaultServers, "so many servers that --servers does not name get rows of their own, at most `N`")
	opts.registerServers(cmd, "show these servers, and floods at them, only")
	opts.registerOwn(cmd)
	opts.registerFilter(cmd)
	opts.registerInput(cmd)
	propose(cmd, "speed", cobra.FixedCompletions([]cobra.Completion{"1", "10", "100", "max"}, cobra.ShellCompDirectiveNoFileComp))
	propose(cmd, "max-servers", cobra.NoFileCompletions)
	propose(cmd, "thresholds", cobra.FixedCompletions([]cobra.Completion{formTOML}, cobra.ShellCompDirectiveFilterFileExt))
	addHabits(cmd, &opts.readOptions)
	return cmd
}

// topHelp is the long description in the help of qsniff top.
const topHelp = `top shows on the whole screen of a terminal what the servers of a host are asked and answer:
in words whether something is wrong, a row for each server, and for each its clients,
its exchanges and each byte of them. It captures on interfaces, follows a capture that
grows, or plays one: stopped, slower, faster, from any time on. It never sends packets.

  Enter  opens a server, and there an exchange       Esc  goes back
  i      incidents: evidence, what to do, lines to paste   y  copies these lines
  /      filters: servers by words and by columns (players>10 answered<90), exchanges as -Y
  w      writes the packets of a server or of an exchange as pcapng
  p      stops a capture; + - its speed; [ ] 10 seconds, { } a minute back and forth; : a time
  ?      explains every key and every column

The figures are those of qsniff monitor. Rates are over 10 seconds, shares and times over the
last minute. Of a server its last packets are kept (32 KiB; of one that is open 1 MiB), and
its clients, exchanges and findings are those of these packets: a flood makes the screen
neither slow nor large. With --servers only these servers have rows of their own. With -Y
only requests count that match.

Columns and their order are kept in top.toml in the folder qsniff of $XDG_CONFIG_HOME. It
needs 80 columns and 24 lines for all that it says; without colours (NO_COLOR) and without
UTF-8 it says the same. Secrets are not shown.

Once everything is open, the program gives up what it does not need any more, as qsniff
live does; w writes into the current folder.

Exit status: 0 ended by q, or by a signal while it captured, 1 the run failed, 2 wrong usage, 130
interrupted by a signal while it read a capture.`

// prepare checks the flags, and reads the files that they name.
func (o *topOptions) prepare(args []string, io streams) error {
	switch {
	case !o.isLive() && len(args) == 0:
		return &usageError{errors.New("top: neither an interface nor a capture given"), "name an interface after -i, or a capture; qsniff interfaces lists the interfaces"}
	case o.isLive() && len(args) > 0:
		return &usageError{errors.New("top captures on interfaces or reads a capture, not both"), "leave out -i, or " + args[0]}
	case slices.Contains(args, stdin):
		return &usageError{errors.New("top: standard input is for the keys"), "write the packets to a file, and read that with --follow: tcpdump -U -w FILE; qsniff stats - reads standard input"}
	case o.maxServers < 0 || o.maxServers > monitor.MostServers:
		return &usageError{fmt.Errorf("--max-servers %d: not from 0 to %d", o.maxServers, monitor.MostServers), "each takes some 50 KiB"}
	}
	if err := cmp.Or(o.parseSpeed(), o.checkCapture()); err != nil {
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
	if !isTerminal(io.out) || !terminal.Check(os.Stdin, os.Stdout) {
		other := "qsniff stats " + strings.Join(args, " ") + " prints the same figures"
		if o.isLive() {
			other = "qsniff monitor -i " + o.interfaces[0] + " gives the same figures over HTTP"
		}
		return &usageError{errors.New("top: standard input and output are not a terminal that shows a screen"), other}
	}
	return nil
}

// parseSpeed parses --speed.
func (o *topOptions) parseSpeed() error {
	if o.playSpeed = play.Max; o.speed == "max" {
		return nil
	}
	var err error
	o.playSpeed, err = strconv.ParseFloat(strings.TrimPrefix(o.speed, "x"), 64)
	if err != nil || !(o.playSpeed >= .25 && o.playSpeed <= 1000) {
		return &usageError{fmt.Errorf("--speed %s: not from 0.25 to 1000", o.speed), "1 is as it was captured; max waits for nothing"}
	}
	return nil
}

// topFolders returns where top writes: the current folder, and that of its settings, if they are there.
func topFolders(settings string) (all []string) {
	for _, name := range []string{".", settings} {
		if info, err := os.Stat(name); name != "" && err == nil && info.IsDir() {
			all = append(all, name)
		}
	}
	return all
}
