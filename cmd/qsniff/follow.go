package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

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

func newFollow() *analysis {
	o, exchange, isFull := readDefaults(), uint64(0), false
	o.clock = sinceBegin
	var renderer render.DialogueRenderer
	a := &analysis{
		use:   "follow [flags] FILE... | -i IFACE",
		short: "show exchanges as dialogues",
		long: `follow prints one exchange after the other, in the order of their first requests: who
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
		example: `  qsniff follow capture.pcap                  all exchanges
  qsniff follow --exchange 1 --full capture.pcap   one, with all its bytes
  qsniff follow -o tree capture.pcap          with every field
  qsniff follow -Y 'exchange.rtt > 10ms' evening.pcap   those with a slow answer
  qsniff follow --exchange 1 -w one.pcapng capture.pcap   its packets
  qsniff follow -o json capture.pcap          for programs
  qsniff follow -i eth0                       as they end, until Ctrl-C
  qsniff follow rcon.pcap                     what was typed, and what came back`,
		opts: o,
		flags: func(cmd *cobra.Command) {
			o.registerOutput(cmd, "text: bytes and transcripts; tree: annotated fields; hex: annotated bytes; json: an object an exchange; csv: a table", "text", "tree", "hex", "json", "csv")
			f := cmd.Flags()
			f.Uint64Var(&exchange, "exchange", 0, "only the exchange that has frame `N` (0: all)")
			f.BoolVar(&isFull, "full", false, "text: all bytes of long messages")
			f.VarP(cli.OneOf(&o.clock, sinceBegin, "a", "r", "d", "e"), "time", "t",
				"times of messages: x seconds since the exchange began, a time of day, r seconds since the first packet, d since the message before, e since 1970")
			o.registerCapture(cmd, captureInstead)
			o.registerCommon(cmd)
			o.write.registerPath(cmd, "exchanges")
			o.registerServersFilter(cmd)
			o.registerFilter(cmd)
		},
		check: func(*cobra.Command, []string, streams) error {
			if isFull && o.output != "text" {
				return cli.Usage(fmt.Errorf("--full goes with -o text, not with -o %s", o.output), "-o tree, -o hex and -o json --layout show every byte")
			}
			return nil
		},
		start: func(j *job) error {
			if o.count > 0 && j.choosesLate() {
				return cli.Usage(errors.New("-c: this filter asks what becomes of exchanges, which of a stream is known too late to end with the last message that counts"),
					"leave -c out, or write the stream to a file: files are read twice for such a filter")

			}
			dialogues := dialogue.New(dialogue.Options{Renderer: renderer, Frame: exchange, Size: o.scale()})
			o.setDialogues(j, dialogues, func() bool { return o.count != 0 || exchange != 0 && dialogues.Found() })
			j.after = func() error {
				if exchange != 0 && !dialogues.Found() {
					return noExchangeError(exchange, dialogues)
				}
				return nil
			}
			return nil
		},
	}
	a.run = func(ctx context.Context, args []string, io streams) (err error) {
		if renderer, err = o.newDialogueRenderer(io.out, isFull); err != nil {
			return err
		}
		if o.write.path != "" {
			return o.writeExchanges(ctx, exchange, args, io)
		}
		return a.read(ctx, args, io)
	}
	return a
}

// writeExchanges writes the packets of exchanges: of the one that has a frame, if that is not 0.
func (o *readOptions) writeExchanges(ctx context.Context, frame uint64, args []string, io streams) error {
	if o.isLive() {
		return cli.Usage(errors.New("follow -w does not go with -i"), "qsniff live -w FILE -i IFACE keeps what is captured")
	}
	if err := o.write.check(io.out); err != nil {
		return err
	}
	names, isStream, err := o.listInputs(args)
	if err != nil {
		return err
	}
	if isStream {
		return cli.Usage(errors.New("follow -w reads a capture twice, and a pipe can be read once"), "write it to a file first")
	}
	chosen, err := o.takeExchanges(ctx, names, frame)
	if err != nil {
		return err
	}
	if frame != 0 && !chosen.Found() {
		return noExchangeError(frame, chosen)
	}
	return o.writePackets(ctx, nil, args, io)
}

// setDialogues has a run write its dialogues as they end. endsEarly reports, after
// the run, whether it ended before the end of the capture.
func (o *readOptions) setDialogues(j *job, dialogues *dialogue.Collector, endsEarly func() bool) {
	j.cfg.Dialogues, j.streamsOutput, j.showsInterrupt = dialogues, true, o.output != "json" && o.output != "csv"
	j.cfg.AppendEnding = func(dst []byte, run tally.Run) []byte {
		run.Interrupted = isInterrupted(j.ctx)
		return o.appendInterrupted(dst, &run, j.io.out)
	}
	j.endsEarly = endsEarly
	j.print = func(run tally.Run) error {
		if !endsEarly() {
			j.printRemarks(&run)
		}
		printWrittenEarly(j.io.err, dialogues)
		return nil
	}
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
	return cli.Hinted(fmt.Errorf("no exchange has frame %d", frame), hint)
}

// newDialogueRenderer returns the renderer that -o names, after it has written its header.
func (o *readOptions) newDialogueRenderer(out io.Writer, isFull bool) (render.DialogueRenderer, error) {
	switch o.output {
	case "json":
		return jsonl.New(jsonl.Options{Layout: o.layout, ShowSecrets: o.showsSecrets}), nil
	case "csv":
		columns, err := o.parseColumns(o.registry().Protos())
		if err != nil {
			return nil, err
		}
		r := csv.New(csv.Options{Columns: columns, Clock: clocks[o.clock], ShowSecrets: o.showsSecrets, Separator: o.separator, NoHeader: o.noHeader})
		return render.TurnsOnly(r), writeHeader(out, r)
	}
	opt := o.textOptions(out)
	if o.clock == sinceBegin {
		opt.Clock = render.Offset
	}
	form := map[string]text.Form{"text": text.Dump, "tree": text.Fields, "hex": text.Annotated}[o.output]
	return text.NewDialogue(opt, form, isFull), nil
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

func newExchanges() *analysis {
	o := readDefaults()
	return &analysis{
		use:   "exchanges [flags] FILE... | -i IFACE",
		short: "list exchanges, one a line",
		long: `exchanges prints a line for each exchange, in the order of their first requests: the
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
		example: `  qsniff exchanges capture.pcap
  qsniff exchanges --servers 198.18.0.0/15 capture.pcap   of one's own servers
  qsniff exchanges -o json capture.pcap | jq -r '[.id, .server, .outcome] | @tsv'
  qsniff exchanges -o csv capture.pcap > exchanges.csv
  qsniff exchanges -i eth0                                as they end, until Ctrl-C`,
		opts: o,
		flags: func(cmd *cobra.Command) {
			o.registerOutput(cmd, "text: for people; json: an object a line; csv: a table", "text", "json", "csv")
			cmd.Flags().BoolVar(&o.follow, "follow", false, followHelp)
			o.registerPage(cmd)
			o.registerServers(cmd, "list exchanges of these servers only")
			o.registerFilter(cmd)
			o.registerCapture(cmd, captureInstead)
			o.registerInput(cmd)
		},
		start: func(j *job) error {
			r := o.newExchangeRenderer(j.io.out)
			if err := writeHeader(j.io.out, r); err != nil {
				return err
			}
			o.setDialogues(j, dialogue.New(dialogue.Options{Renderer: r, Size: o.scale()}), func() bool { return false })
			return nil
		},
	}
}

// newExchangeRenderer returns the renderer that -o names, for exchanges of the servers that
// --servers names.
func (o *readOptions) newExchangeRenderer(out io.Writer) render.DialogueRenderer {
	lines := render.Headline{Ours: o.ours}
	switch o.output {
	case "json":
		return jsonl.Exchanges{Headline: lines}
	case "csv":
		return csv.Exchanges{Headline: lines}
	}
	return text.NewExchanges(lines, o.textOptions(out))
}
