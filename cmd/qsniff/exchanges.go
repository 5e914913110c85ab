package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"qsniff/internal/base/cli"
	"qsniff/internal/render"
	"qsniff/internal/render/csv"
	"qsniff/internal/render/dialogue"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/text"
)

func newExchanges(s streams) *cobra.Command {
	opts := readDefaults()
	cmd := &cobra.Command{
		Use:     "exchanges [flags] FILE... | -i IFACE",
		GroupID: groupTraffic,
		Short:   "list exchanges, one a line",
		Long: `exchanges prints a line for each exchange, in the order of their first requests: the
frame of the first request, the time, client and server, what was asked and what came of
it, with the ids of its findings. A connection of RCON is a line, too. qsniff follow
--exchange takes the number at the beginning and shows the messages.

An exchange is a request, the challenge and the request that brings it back, repeats,
and all replies. A message that belongs to none has a line of its own.

With -o json a line is the object of qsniff follow -o json, with "findings" (their ids) in
place of messages and records: id, time, server, client, protocol, message, outcome
(answered, late, unanswered, challenged, unsolicited, one_way, undecided), rtt_ms and
challenge_ms where there are any, duration_ms, and the numbers of requests, challenges,
replies and packets. A connection has "record":"connection" and no outcome.

` + filterHelp + `

Memory does not grow with the capture. Ctrl-C writes a line that says how far the run
came (JSON: "record":"interrupted"), then the exchanges that were not over.

` + captureHelp + `

FILE is as in qsniff read.`,
		Example: `  qsniff exchanges capture.pcap
  qsniff exchanges --servers 198.18.0.0/15 capture.pcap   of one's own servers
  qsniff exchanges -o json capture.pcap | jq -r '[.id, .server, .outcome] | @tsv'
  qsniff exchanges -o csv capture.pcap > exchanges.csv
  qsniff exchanges -i eth0                                as they end, until Ctrl-C`,
		Args: opts.requireInput,
		RunE: func(cmd *cobra.Command, args []string) error {
			return listExchanges(cmd.Context(), opts, args, s)
		},
	}
	cmd.ValidArgsFunction = completeCaptures
	f := cmd.Flags()
	f.SortFlags = false
	f.VarP(cli.OneOf(&opts.output, "text", "json", "csv"), "output", "o", "text: for people; json: an object a line; csv: a table")
	f.BoolVar(&opts.follow, "follow", false, "go on as the capture, or the ring of files in a folder, grows")
	opts.registerPage(cmd)
	opts.registerServers(cmd, "list exchanges of these servers only")
	opts.registerFilter(cmd)
	opts.registerCapture(cmd, captureInstead)
	opts.registerInput(cmd)
	addHabits(cmd, opts)
	return cmd
}

// listExchanges decodes captures and prints a line for each exchange.
func listExchanges(ctx context.Context, opts *readOptions, args []string, s streams) error {
	r, err := opts.newExchangeRenderer(s.out)
	if err != nil {
		return err
	}
	j, err := opts.prepareAll(ctx, args, s)
	if err != nil {
		return err
	}
	defer j.release()
	if err := writeHeader(s.out, r); err != nil {
		return err
	}
	dialogues := dialogue.New(dialogue.Options{Renderer: r, Size: opts.scale()})
	return opts.writeDialogues(j, dialogues, func() bool { return false })
}

// newExchangeRenderer returns the renderer that -o names, for exchanges of the servers that
// --servers names.
func (o *readOptions) newExchangeRenderer(out io.Writer) (render.DialogueRenderer, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	ours, err := o.parseServers()
	if err != nil {
		return nil, err
	}
	lines := render.Headline{Ours: ours}
	switch o.output {
	case "json":
		return jsonl.Exchanges{Headline: lines}, nil
	case "csv":
		return csv.Exchanges{Headline: lines}, nil
	}
	return text.NewExchanges(lines, o.textOptions(out)), nil
}
