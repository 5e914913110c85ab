package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"qsniff/internal/base/digits"
	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
	"qsniff/internal/track/stats"
)

func newPolls() *analysis {
	o := readDefaults()
	return &analysis{
		use:   "polls [flags] FILE... | -i IFACE",
		short: "list why monitors got no answers in time",
		long: `polls lists the clients that asked a server three times or more, and how many of their
polls got no answer in time, by cause. A poll is a request with its repeats, of which
the whole wait lies inside the capture.

  filtered  three or more in a row without an answer, while the server answered the
            same question of others: a filter or a limit, rather than loss
  lost      fewer in a row: the request or its answer was lost, or refused by a limit
  unused    the server gave a challenge, and the client did not bring it back
  rejected  an ICMP error came in place of an answer
  down      nobody was answered the same question meanwhile, as far as the capture shows

Late answers came more than 3 s after the last request. What a capture lacks looks
lost: where it has one direction only, causes mean nothing.

With -o json a line is a client at a server: client, server, every_ms (the mean time
between its requests of one kind), polls, answered, late, filtered, lost,
challenge_unused, rejected, server_down, and undecided (not over when the capture
ended).

` + filterHelp + `

Ctrl-C prints what was read so far; the first line then says how far the run came
("interrupted" in JSON).

` + captureHelp + `

FILE is as in qsniff read.`,
		example: `  qsniff polls evening.pcap
  qsniff polls --servers 198.18.0.0/15 evening.pcap   of one's own servers
  qsniff polls -o json evening.pcap | jq -r 'select(.filtered > 0) | [.client, .server] | @tsv'`,
		opts: o,
		flags: func(cmd *cobra.Command) {
			o.registerOutput(cmd, "text: for people; json: an object a line; csv: a table", "text", "json", "csv")
			o.registerTop(cmd, 20, "text: list `N` clients")
			o.registerFilter(cmd)
			o.registerPage(cmd)
			o.registerServers(cmd, "list polls to these servers only")
			o.registerCapture(cmd, captureInstead)
			o.registerInput(cmd)
		},
		start: func(j *job) error {
			c := stats.NewPolls(o.ours, o.scale())
			j.cfg.Listener = c
			j.print = func(run tally.Run) error {
				p := &render.Polls{Run: run, PollSummary: *c.Summary(), Top: o.top}
				printPollRemarks(j.io.err, p)
				return printForm(o, j.io, p, "polls", jsonl.AppendPolls, text.AppendPolls)
			}
			return nil
		},
	}
}

// printPollRemarks prints on standard error why the list is empty, or what may be missing from it.
func printPollRemarks(w io.Writer, p *render.Polls) {
	if len(p.Pollers) == 0 {
		fmt.Fprintln(w, "qsniff: no client asked a server three times; qsniff exchanges lists what there is")
	}
	if p.Evicted > 0 {
		fmt.Fprintf(w, "qsniff: %s evicted for others (--memory)\n", digits.Counted(p.Evicted, "client at a server was", "clients at servers were"))
	}
	if p.Run.Dropped > 0 {
		fmt.Fprintln(w, "qsniff: packets are missing from the capture: some answers may be among them")
	}
}
