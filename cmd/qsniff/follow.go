package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"qsniff/dissect"
	"qsniff/internal/app/cli"
	"qsniff/internal/render"
	"qsniff/internal/render/csv"
	"qsniff/internal/render/dialogue"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
)

// sinceBegin is the value of -t for times since a dialogue began. For tables, which do not
// show where a dialogue begins, it means the time of day.
const sinceBegin = "x"

// followOptions are the flags of follow.
type followOptions struct {
	readOptions
	exchange uint64
	full     bool
}

func newFollow(s streams) *cobra.Command {
	opts := &followOptions{readOptions: *readDefaults()}
	opts.clock = sinceBegin
	cmd := &cobra.Command{
		Use:     "follow [flags] FILE... | -i IFACE",
		GroupID: groupTraffic,
		Short:   "show exchanges as dialogues",
		Long: `follow prints one exchange after the other, in the order of their first requests: who
asked whom, what came of it, and each message with the time since the first one, its
direction (> to the server) and its bytes, ready to be pasted into a report. What was
found stands where it was seen. RCON is a transcript, one for each connection.

An exchange is a request, the challenge and the request that brings it back, repeats,
and all replies. Messages that belong to none stand alone. The number of an exchange is
the frame of its first request; --exchange takes it, or any other frame of one.

With -o json an exchange is an object: "id", "time", "server", "client", "outcome"
(answered, late, unanswered, challenged, unsolicited, one_way, undecided), "rtt_ms" and
"challenge_ms" where there are any, and "messages", as read -o json prints them. In
"records" are findings that belong to no single message. A connection has
"record":"connection" and no outcome.

` + captureHelp + `

With -Y an exchange, or a connection, is printed as a whole if one of its messages
matches. ` + filterHelp + `

Ctrl-C writes a line that says how far the run came (JSON: "record":"interrupted"), then
the exchanges that were not over.

Exit status: 0 fine, 1 the run failed or has no such exchange, 2 wrong usage, 130
interrupted.`,
		Example: `  qsniff follow capture.pcap                  all exchanges
  qsniff follow --exchange 1 --full capture.pcap   one, with all its bytes
  qsniff follow -o tree capture.pcap          with every field
  qsniff follow -Y 'exchange.rtt > 10ms' evening.pcap   those with a slow answer
  qsniff follow -o json capture.pcap          for programs
  qsniff follow -i eth0                       as they end, until Ctrl-C
  qsniff follow rcon.pcap                     what was typed, and what came back`,
		Args: opts.requireInput,
		RunE: func(cmd *cobra.Command, args []string) error {
			return follow(cmd.Context(), opts, args, s)
		},
	}
	cmd.ValidArgsFunction = completeCaptures
	opts.register(cmd)
	addHabits(cmd, &opts.readOptions)
	return cmd
}

func (o *followOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.VarP(cli.OneOf(&o.output, "text", "tree", "hex", "json", "csv"), "output", "o",
		"text: bytes and transcripts; tree: annotated fields; hex: annotated bytes; json: an object an exchange; csv: a table")
	f.Uint64Var(&o.exchange, "exchange", 0, "only the exchange that has frame `N` (0: all)")
	f.BoolVar(&o.full, "full", false, "text: all bytes of long messages")
	f.VarP(cli.OneOf(&o.clock, sinceBegin, "a", "r", "d", "e"), "time", "t",
		"times of messages: x seconds since the exchange began, a time of day, r seconds since the first packet, d since the message before, e since 1970")
	o.registerCapture(cmd, captureInstead)
	o.registerCommon(cmd)
	o.registerFilter(cmd)
}

// follow decodes captures and prints their dialogues.
func follow(ctx context.Context, opts *followOptions, args []string, s streams) error {
	r, err := opts.newDialogueRenderer(s.out, opts.registry().Protos())
	if err != nil {
		return err
	}
	j, err := opts.openJob(ctx, args, s)
	if err != nil {
		return err
	}
	defer j.release()
	if f := j.cfg.Filter; opts.count > 0 && f != nil && f.Program.NeedsAnswers() && f.Outcomes == nil {
		return &usageError{errors.New("-c: this filter asks what becomes of exchanges, which of a stream is known too late to end with the last message that counts"),
			"leave -c out, or write the stream to a file: files are read twice for such a filter"}
	}
	dialogues := dialogue.New(dialogue.Options{Renderer: r, Frame: opts.exchange, Size: opts.scale()})
	err = opts.writeDialogues(j, dialogues, func() bool { return opts.count != 0 || opts.exchange != 0 && dialogues.Found() })
	if err == nil && opts.exchange != 0 && !dialogues.Found() {
		return noExchangeError(opts.exchange, dialogues)
	}
	return err
}

// writeDialogues reads captures and writes their dialogues as they end. endsEarly reports, after
// the run, whether it ended before the end of the capture.
func (o *readOptions) writeDialogues(j *job, dialogues *dialogue.Collector, endsEarly func() bool) error {
	j.cfg.Dialogues, j.streamsOutput, j.showsInterrupt = dialogues, true, o.output != "json" && o.output != "csv"
	j.cfg.AppendEnding = func(dst []byte, run tally.Run) []byte {
		run.Interrupted = isInterrupted(j.ctx)
		return o.appendInterrupted(dst, &run, j.io.out)
	}
	if j.live != nil {
		return j.runLive(func(tally.Run) error {
			printWrittenEarly(j.io.err, dialogues)
			return nil
		})
	}
	result, err := j.run()
	isWhole := err == nil && !endsEarly()
	if isWhole { // else a read may still be in progress; it ends with the program
		if err := j.src.Close(); err != nil {
			return err
		}
	}
	if isWhole || err != nil && result.Packets > 0 {
		printRemarks(j.io.err, &result)
	}
	printWrittenEarly(j.io.err, dialogues)
	return j.exitError(err)
}

// printWrittenEarly prints how many dialogues a table had no room for until they were over.
func printWrittenEarly(w io.Writer, dialogues *dialogue.Collector) {
	if n := dialogues.WrittenEarly(); n > 0 {
		fmt.Fprintf(w, "qsniff: %s to stay within memory\n", count(n, "dialogue was written before it was over,", "dialogues were written before they were over,"))
	}
}

// noExchangeError is the error that no dialogue has a frame. Its hint names the dialogues
// before and after that.
func noExchangeError(frame uint64, dialogues *dialogue.Collector) error {
	hint := "qsniff follow lists all"
	switch before, after := dialogues.Nearest(); {
	case before != 0 && after != 0:
		hint = fmt.Sprintf("those next to it are %d and %d", before, after)
	case before != 0:
		hint = fmt.Sprintf("the last one is %d", before)
	case after != 0:
		hint = fmt.Sprintf("the first one is %d", after)
	}
	return &hintedError{fmt.Errorf("no exchange has frame %d", frame), hint}
}

// check reports flags that do not go together.
func (o *followOptions) check() error {
	if o.full && o.output != "text" {
		return &usageError{fmt.Errorf("--full goes with -o text, not with -o %s", o.output), "-o tree, -o hex and -o json --layout show every byte"}
	}
	plain := o.readOptions
	if plain.clock == sinceBegin {
		plain.clock = "a"
	}
	return plain.check()
}

// newDialogueRenderer returns the renderer that -o names, after it has written its header.
func (o *followOptions) newDialogueRenderer(out io.Writer, protos []*dissect.Proto) (render.DialogueRenderer, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	switch o.output {
	case "json":
		return jsonl.New(jsonl.Options{Layout: o.layout, ShowSecrets: o.showsSecrets}), nil
	case "csv":
		columns, err := o.parseColumns(protos)
		if err != nil {
			return nil, err
		}
		r := csv.New(csv.Options{Columns: columns, Clock: clocks[o.clock], ShowSecrets: o.showsSecrets})
		return render.TurnsOnly(r), writeHeader(out, r)
	}
	opt := o.textOptions(out)
	if o.clock == sinceBegin {
		opt.Clock = render.Offset
	}
	form := map[string]text.Form{"text": text.Dump, "tree": text.Fields, "hex": text.Annotated}[o.output]
	return text.NewDialogue(opt, form, o.full), nil
}

// appendInterrupted appends how far a run came that the user ended, before the dialogues
// that were not over. Tables have no form for it.
func (o *readOptions) appendInterrupted(dst []byte, run *tally.Run, out io.Writer) []byte {
	switch o.output {
	case "csv":
		return dst
	case "json":
		return jsonl.AppendInterrupted(dst, run)
	}
	if dst = text.AppendInterrupted(dst, run, o.textOptions(out)); run.Interrupted {
		dst = append(dst, '\n')
	}
	return dst
}

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
	j, err := opts.openJob(ctx, args, s)
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
