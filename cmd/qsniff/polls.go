package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"qsniff/internal/app/cli"
	"qsniff/internal/base/digits"
	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
	"qsniff/internal/track/stats"
)

// pollsOptions are the flags of polls. Those that read has, too, are in readOptions.
type pollsOptions struct {
	readOptions
	top int
}

func newPolls(io streams) *cobra.Command {
	opts := &pollsOptions{readOptions: *readDefaults(), top: 20}
	cmd := &cobra.Command{
		Use:     "polls [flags] FILE... | -i IFACE",
		GroupID: groupTraffic,
		Short:   "list why monitors got no answers in time",
		Long: `polls lists the clients that asked a server three times or more, and how many of their
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
		Example: `  qsniff polls evening.pcap
  qsniff polls --servers 198.18.0.0/15 evening.pcap   of one's own servers
  qsniff polls -o json evening.pcap | jq -r 'select(.filtered > 0) | [.client, .server] | @tsv'`,
		Args: opts.requireInput,
		RunE: func(cmd *cobra.Command, args []string) error {
			return listPolls(cmd.Context(), opts, args, io)
		},
	}
	cmd.ValidArgsFunction = completeCaptures
	f := cmd.Flags()
	f.SortFlags = false
	f.VarP(cli.OneOf(&opts.output, "text", "json"), "output", "o", "text: for people; json: an object a line")
	f.IntVar(&opts.top, "top", opts.top, "text: list `N` clients")
	opts.registerFilter(cmd)
	opts.registerPage(cmd)
	opts.registerServers(cmd, "list polls to these servers only")
	opts.registerCapture(cmd, captureInstead)
	opts.registerInput(cmd)
	addHabits(cmd, &opts.readOptions)
	propose(cmd, "top", cobra.NoFileCompletions)
	return cmd
}

// listPolls reads captures and prints what became of polls in them.
func listPolls(ctx context.Context, opts *pollsOptions, args []string, io streams) error {
	ours, err := opts.parseServers()
	if err != nil {
		return err
	}
	if opts.top < 1 {
		return &usageError{fmt.Errorf("--top %d: at least 1 is needed", opts.top), "leave it out for twenty"}
	}
	if err := opts.check(); err != nil {
		return err
	}
	j, err := opts.openJob(ctx, args, io)
	if err != nil {
		return err
	}
	defer j.release()
	c := stats.NewPolls(ours, opts.scale())
	j.cfg.Listener = c
	j.showsInterrupt = opts.output == "text"
	return j.runToEnd(func(run tally.Run) error {
		p := &render.Polls{Run: run, PollSummary: *c.Summary(), Top: opts.top}
		printPollRemarks(io.err, p)
		if opts.output == "json" {
			return write(io.out, jsonl.AppendPolls(nil, p))
		}
		return write(io.out, text.AppendPolls(nil, p, opts.textOptions(io.out)))
	})
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
