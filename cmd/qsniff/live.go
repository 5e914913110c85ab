package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qsniff/capture/live"
)

// liveOptions are the flags of live.
type liveOptions struct {
	readOptions
	keepOptions
	tellOptions
}

func newLive(io streams) *cobra.Command {
	opts := &liveOptions{readOptions: *readDefaults()}
	cmd := &cobra.Command{
		Use:     "live -i IFACE [flags]",
		GroupID: groupTraffic,
		Short:   "decode what an interface sees",
		Long:    liveHelp,
		Example: `  qsniff live -i eth0                          a line a message
  qsniff live -i eth0 -f 'udp port 27015'      the kernel keeps the rest away
  qsniff live -i any --auto-filter -o json     for programs
  qsniff live -i eth0 -Y 'finding.severity >= warn'   messages with something wrong
  qsniff live -i eth0 -o none -w /var/q.pcapng --ring-size 100M --ring-files 20
  qsniff live -i eth0 -w attack.pcapng --on-incident 30`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := "interfaces stand after -i, a capture filter after -f, a display filter after -Y"
			if _, is := dedups[args[0]]; is {
				hint = "--dedup=" + args[0] + " takes its value with a ="
			}
			return &usageError{fmt.Errorf("live: %q is not a flag", args[0]), hint}
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range []string{"write", "ring-time", "ring-age", "on-incident"} {
				if f := cmd.Flags().Lookup(name); f.Changed && (f.Value.String() == "" || f.Value.String() == f.DefValue) {
					return &usageError{fmt.Errorf("--%s %q: nothing", name, f.Value), "leave the flag out, or say what it is to do"}
				}
			}
			opts.isBounded = cmd.Flags().Changed("ring-size") || cmd.Flags().Changed("ring-files")
			if err := opts.check(); err != nil {
				return err
			}
			return watchLive(cmd.Context(), opts, io)
		},
	}
	opts.register(cmd)
	addHabits(cmd, &opts.readOptions)
	return cmd
}

// liveHelp is the long description in the help of qsniff live.
const liveHelp = `live captures on network interfaces and prints messages as read does, a moment after
they were seen, with floods and what else asks for something among them. It never sends
packets.
-o none prints nothing but the summary; packets are then only watched for floods, not
decoded further, which takes half of the time.

Ctrl-C ends it with a summary on standard error: what was captured, decoded and lost,
and by whom, and what to run next. A second one ends it at once. Incidents for which the output has no form
(-o none, -o csv) are printed there, too. Where the reader of the output is slower
than the traffic, the kernel drops packets, or with -w they are written but not
decoded; both are counted. Nothing is queued without bound.

` + filterHelp + ` -Y has no part in what -w writes.

-w writes all packets that were captured, -w with --on-incident only those around
incidents, which are found where packets are decoded: read the output, or use -o none.
The seconds count from an incident's begin, which is known some seconds later. A FILE
that is there is overwritten with --force only; a symbolic link, a pipe or a device
never is. Of an incident 128 MiB are written, and the 16 newest files of the run stay,
unless --ring-size or --ring-files say otherwise: --ring-files 0 keeps all. --ring-total
bounds the size of all files in place of their number, and --ring-age their age.
With these and with --on-incident the name is a beginning:
DIR/PREFIX.pcapng makes DIR/PREFIX_20261121T201500Z_00001.pcapng and so on. With
--incident-report each file gets a page of what happened beside it, NAME.html, which is
removed with it: one at a time and with the lowest priority; what ends meanwhile gets none,
and is counted. Packets are kept as they are, passwords included. When a file cannot be written a line on standard error says so once,
and the capture goes on.

` + tellHelp + `

Once everything is open, the program gives up what it does not need any more:
capabilities, all files but the folder of -w, and the network as far as the kernel can
take it away. The first lines on standard error say what. --no-sandbox does without.

The right to capture is cap_net_raw, for promiscuous mode too; nobody has to be root:
sudo setcap cap_net_raw+ep qsniff, or a systemd unit with
AmbientCapabilities=CAP_NET_RAW.

Exit status: 0 ended by Ctrl-C, SIGTERM, SIGHUP or -c, 1 the run failed: an interface
vanished, packets could not be written, the output was not read; 2 wrong usage.`

func (o *liveOptions) register(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	o.registerCapture(cmd, "")
	o.keepOptions.register(cmd)
	o.registerTell(cmd, "error")
	o.registerForm(cmd)
	o.registerMessages(cmd)
	o.registerPackets(cmd)
	o.registerServers(cmd, serversHelp)
	o.registerOwn(cmd)
	o.registerFilter(cmd)
}

// check returns an error for flags that do not go together.
func (o *liveOptions) check() error {
	if !o.isLive() {
		return &usageError{errors.New("live: no interface given"), "name one after -i, or any; qsniff interfaces lists them"}
	}
	if err := o.checkCapture(); err != nil {
		return err
	}
	if err := o.keepOptions.check(); err != nil {
		return err
	}
	return o.readOptions.check()
}

// isWatchOnly reports whether no messages are wanted. Packets are then read only as far as
// the detection of floods needs, which takes half of the time.
func (o *liveOptions) isWatchOnly() bool {
	return o.output == "none" && o.count == 0 && o.display.expression() == ""
}

// completeInterfaces proposes what can be captured on.
func completeInterfaces(_ *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	all, err := live.Devices()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var found []cobra.Completion
	for i := range all {
		if in := &all[i]; strings.HasPrefix(in.Name, word) {
			found = append(found, cobra.CompletionWithDesc(in.Name, strings.Join(interfaceAddresses(in), " ")))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// processStart is the moment from which monotonic counts.
var processStart = time.Now()

// monotonic returns nanoseconds of a clock that is never set.
func monotonic() int64 { return int64(time.Since(processStart)) }
