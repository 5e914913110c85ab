package main

import (
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
	"qsniff/internal/track/stats"
)

func newStats() *analysis {
	o, interval, listsAll, isVerbose := readDefaults(), time.Duration(0), false, false
	return &analysis{
		use:   "stats [flags] FILE... | -i IFACE",
		short: "add up captures",
		long: `stats reads captures and says what is in them: the rate, messages by type,
servers with what they say of themselves, what they answer and how fast, how much
larger answers are than requests, the busiest clients, findings, and what was left
out and why.

Memory does not grow with the capture. The number of clients is exact up to some
thousand and an estimate above; the list of the busiest says how much too high
each count can be. A request is unanswered if the whole wait for its answer lies
inside the capture.

With -Y only messages and findings that match are counted, and requests as unanswered
whose exchange has a request that matches; packets are all that were read. ` + filterHelp + `

Ctrl-C prints what was read so far; the first line then says how far that is ("interrupted"
in JSON).

` + captureHelp + `

FILE is as in qsniff read.`,
		example: `  qsniff stats capture.pcap
  qsniff stats --servers 198.18.0.0/15 capture.pcap   what concerns one's own servers
  qsniff stats -Y 'message == A2S_RULES' evening.pcap   one kind of message
  qsniff stats -o json --interval 1s capture.pcap | jq -c '.series[]'
  qsniff stats -i eth0                                 as it happens, until Ctrl-C
  tcpdump -U -w - udp | qsniff stats -                 what another program captures`,
		opts: o,
		flags: func(cmd *cobra.Command) {
			o.registerOutput(cmd, "text: for people; json: one object; csv: a table of the servers", "text", "json", "csv")
			cmd.Flags().DurationVar(&interval, "interval", 0, "length of the steps of the time series, as `1s` (0: so that there are up to 60)")
			propose(cmd, "interval", cobra.NoFileCompletions)
			o.registerTop(cmd, 10, "list `N` servers and clients; json: all, unless it is given")
			cmd.Flags().BoolVarP(&isVerbose, "verbose", "v", false, "text: print every counter that is not zero, too")
			o.registerFilter(cmd)
			o.registerPage(cmd)
			o.registerServers(cmd, "count messages of these servers only")
			o.registerCapture(cmd, captureInstead)
			o.registerInput(cmd)
		},
		check: func(cmd *cobra.Command, _ []string, _ streams) error {
			listsAll = o.output != "text" && !cmd.Flags().Changed("top")
			return checkInterval(interval)
		},
		start: func(j *job) error {
			opt := stats.Options{Interval: interval, Top: o.top, Ours: o.ours, Scale: o.scale()}
			if listsAll {
				opt.Top = math.MaxInt
			}
			all := stats.New(opt)
			j.cfg.Listener = all
			j.print = func(run tally.Run) error {
				s := &render.Stats{Run: run, Summary: *all.Summary(run.Last)}
				if err := printForm(o, j.io, s, "stats", jsonl.AppendStats, text.AppendStats); err != nil || !isVerbose || o.output != "text" {
					return err
				}
				return write(j.io.out, text.AppendCounters(nil, s, o.textOptions(j.io.out)))
			}
			return nil
		},
	}
}

// checkInterval returns an error for a step of charts that is too short.
func checkInterval(step time.Duration) error {
	const least = time.Millisecond
	if step != 0 && step < least {
		return cli.Usage(fmt.Errorf("--interval %v: at least %v", step, least), "write a length of time, as 500ms, 1s or 5m")
	}
	return nil
}
