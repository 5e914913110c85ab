package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qsniff/capture"
	"qsniff/internal/app/cli"
	appdiff "qsniff/internal/app/diff"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/text"
	"qsniff/internal/track/diff"
)

// diffOptions are the flags of diff.
type diffOptions struct {
	readOptions
	classes    string
	wait, late time.Duration
	dir        string

	shows [diff.NumClasses]bool
}

func newDiff() *analysis {
	o := &diffOptions{readOptions: *readDefaults(), wait: diff.DefaultWait, late: diff.DefaultLate}
	o.count = 20
	return &analysis{
		use:   "diff [flags] EDGE HOST",
		short: "compare two captures of the same traffic at two points",
		long: `diff compares two captures of the same traffic, EDGE nearer to the clients and HOST
nearer to the servers, and prints what happened between them: datagrams that were lost, on
which way, of which kind and size; late ones, copies, those out of order; changed ones, with
the fields; messages that came in other parts than they were sent in (reframed); and
answers from in between, as of a cache, with their age and time to live.

Consoles over TCP are compared by segment, acknowledgements without data left out: what was
lost, sent again (retransmitted), late, copied, changed, cut or joined in another way
(reframed), ended by a reset that the other end did not send (injected), and which
connections are at one point only. A connection counts as a console's by its messages, or
by the port of its server; other TCP is counted, and not compared.

Datagrams are matched by content, ends, order and time, segments by their place in the
stream as well, whatever a middlebox adds to sequence numbers. Translated addresses are found
and named. The clocks need not agree: what they differ by, and the drift, are estimated
from what both captures have, with the error; where that is too little to be of the same
traffic, nothing is judged ("doubtful" in clock). Fragments are joined first. Where a capture
cut packets, payloads are compared as far as both have them.

What one capture does not cover is not judged: times before its first packet, after its
last, and as long before that as datagrams usually take, and --late. One that takes longer
than --wait is lost. What passed a point and is not in its capture, as a slow disk loses
packets, is uncaptured, and not lost: replies, and other requests of the client, show it.

With -o json the first line has the totals ("record":"summary"): packets_edge, packets_host,
matched, lost (at EDGE only), extra (at HOST only), retransmitted, late, duplicated,
reordered, changed, reframed (messages), injected, answered_between, clock, translation,
connections, to_server, to_client, kinds. Each further line is a
datagram, or a pair: class, way, time (of HOST's clock), server, client, message,
frame_edge, frame_host, delay_ms, changed (field, from, to). What there was no room for is
counted in unlisted, untracked, judged_early, servers_evicted, replies_evicted, no_row,
connections_evicted, no_kind, no_bytes, no_sets and no_pieces.

-Y counts and lists only the datagrams that match by themselves, at one of the points: by
fields of a message, addresses and ports; of a segment by addresses, ports and the type of its
message. All are compared, so that no pair is torn.

Ctrl-C prints what was compared so far; the first line then says how far that is
("interrupted" in JSON).

EDGE and HOST are as FILE in qsniff read, but read more than once: no pipe. A folder of
captures is one of them, too.`,
		example: `  qsniff diff capture.pcap evening.pcap
  qsniff diff --class changed,answered_between -c 100 capture.pcap evening.pcap
  qsniff diff -Y 'message == S2A_RULES' capture.pcap evening.pcap
  qsniff diff -o json capture.pcap evening.pcap | jq -c .clock`,
		opts: &o.readOptions,
		args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.Usage(errors.New("diff: name two captures of the same traffic"), "qsniff diff EDGE HOST: the one nearer to the clients first")
			}
			return nil
		},
		flags: o.registerDiff,
		check: func(*cobra.Command, []string, streams) error { return o.check() },
		run:   func(ctx context.Context, args []string, io streams) error { return runDiff(ctx, o, args, io) },
	}
}

func (o *diffOptions) registerDiff(cmd *cobra.Command) {
	f := cmd.Flags()
	f.VarP(cli.OneOf(&o.output, "text", "json"), "output", "o", "text: for people; json: an object with the totals, then an object a line for each difference")
	f.IntVarP(&o.count, "count", "c", o.count, "text: list `N` differences")
	f.Var(cli.ListText(&o.classes, "CLASS,..."), "class", "list and write only these: "+strings.Join(diffClasses(), ", "))
	f.StringVarP(&o.dir, "write", "w", "", "write the packets of each class into the folder `DIR`, as in lost-edge.pcapng, as captured")
	f.BoolVar(&o.write.force, "force", false, "with -w: overwrite files that are there")
	f.DurationVar(&o.wait, "wait", o.wait, "how long a datagram may take")
	f.DurationVar(&o.late, "late", o.late, "how much longer than usual a late one takes")
	f.BoolVar(&o.showsSecrets, "show-secrets", false, "print passwords instead of <redacted>, and bytes of unknown messages")
	o.registerFilter(cmd)
	o.registerPage(cmd)
	o.registerServers(cmd, "which ends serve (default: learned)")
	f.Var(cli.OneOf(&o.reader, readerNative, readerGopacket), "reader", "native, or as second opinion gopacket: libpcap, or pcapgo in builds without it")
	f.Var(&o.memory, "memory", "budget of all tables")
	_ = cmd.MarkFlagDirname("write")
	propose(cmd, "class", cobra.FixedCompletions(diffClasses(), cobra.ShellCompDirectiveNoFileComp))
	propose(cmd, "memory", cobra.FixedCompletions([]cobra.Completion{"16M", "64M", "256M", "1G"}, cobra.ShellCompDirectiveNoFileComp))
	for _, name := range []string{"count", "wait", "late"} {
		propose(cmd, name, cobra.NoFileCompletions)
	}
}

// diffClasses lists the classes of differences.
func diffClasses() (names []string) {
	for c := range diff.NumClasses {
		if c != diff.Same && c != diff.Outside {
			names = append(names, c.String())
		}
	}
	return names
}

// check returns an error for values that are out of range, and sets the classes that are listed.
func (o *diffOptions) check() error {
	names := diffClasses()
	wanted := names
	if o.classes != "" {
		wanted = strings.Split(o.classes, ",")
	}
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return cli.Usage(fmt.Errorf("--class %s: no such class", name), "one of "+strings.Join(names, ", "))
		}
		for c := range diff.NumClasses {
			o.shows[c] = o.shows[c] || c.String() == name
		}
	}
	const mostWait = time.Minute // chosen: windows of twice that have to fit into memory
	switch {
	case o.wait < time.Millisecond || o.wait > mostWait:
		return cli.Usage(fmt.Errorf("--wait %v: from 1ms to %v", o.wait, mostWait), "leave it out for 2s")
	case o.late <= 0 || o.late > o.wait:
		return cli.Usage(fmt.Errorf("--late %v: more than 0, and at most --wait", o.late), "leave it out for 100ms")
	case o.count < 0:
		return cli.Usage(fmt.Errorf("-c %d: at least 0", o.count), "leave it out for 20")
	case o.dir == "" && o.write.force:
		return cli.Usage(errors.New("--force goes with -w"), "name a folder: -w DIR")
	}
	return nil
}

// runDiff compares two captures and prints the result.
func runDiff(ctx context.Context, opts *diffOptions, args []string, s streams) error {
	if _, isStream, err := opts.listInputs(args); err != nil {
		return err
	} else if isStream {
		return cli.Usage(errors.New("diff reads captures more than once, and a pipe can be read once"), "write it to a file first")
	}
	reg := opts.registry()
	o := diff.Options{Registry: reg, Servers: opts.ours, Wait: opts.wait, Late: opts.late, Scale: opts.scale(),
		Open: func(side diff.Side) (capture.Source, error) {
			in, err := opts.open(ctx, args[side:side+1])
			return in.Source, err
		}}
	if err := opts.checkFilter(); err != nil {
		return err
	}
	if p := opts.display.program; p != nil {
		if p.NeedsAnswers() || p.NeedsPairs() {
			return cli.Usage(errors.New("-Y: diff chooses datagrams, each by itself: it knows no exchanges and clients"),
				"use fields of the message, of ip and udp; qsniff exchanges -Y knows the others")

		}
		o.Wants = appdiff.NewMatcher(reg, p).Match
	}
	files := &appdiff.ClassFiles{Dir: opts.dir, Replace: opts.write.force, Shows: &opts.shows}
	if opts.dir != "" {
		o.Judged = files.Add
	}
	line := newProgress(s.err)
	o.Progress = func(r diff.Reading, read capture.Stats) { line.Update(r.String(), read) }
	result, err := diff.Run(ctx, o)
	line.Done()
	if ctx.Err() != nil {
		opts.remarkInterrupted(s, result)
	}
	if result == nil {
		return err
	}
	if printed := opts.print(s.out, &o, result); printed != nil {
		return printed
	}
	if opts.dir != "" && ctx.Err() == nil {
		n, failed := files.Write(ctx, o.Open)
		if failed == nil {
			fmt.Fprintf(s.err, "qsniff: wrote %s to %s, as captured, passwords included\n", count(uint64(n), "file"), opts.dir)
		}
		err = cmp.Or(failed, err)
	}
	return err
}

// remarkInterrupted prints on standard error how far a run came, unless that is seen in its output.
func (o *diffOptions) remarkInterrupted(s streams, r *diff.Result) {
	if r == nil {
		fmt.Fprintln(s.err, "qsniff: interrupted while the clocks were surveyed: nothing has been compared yet")
		return
	}
	if r.IsInterrupted && (o.output == "json" || !isTerminal(s.out)) {
		fmt.Fprintf(s.err, "qsniff: interrupted after %s of EDGE and %s of HOST\n", count(r.Compared[diff.Edge], "packet"), count(r.Compared[diff.Host], "packet"))
	}
	if o.dir != "" {
		fmt.Fprintf(s.err, "qsniff: nothing was written to %s: its files are written after the comparison\n", o.dir)
	}
}

func (o *diffOptions) print(out io.Writer, c *diff.Options, r *diff.Result) error {
	if o.output == "json" {
		x := jsonl.Diff{Options: jsonl.Options{ShowSecrets: o.showsSecrets}, Registry: c.Registry, Shows: o.shows}
		return write(out, x.Append(nil, r))
	}
	x := text.Diff{Options: o.textOptions(out), Registry: c.Registry, Shows: o.shows, Top: o.count}
	return write(out, x.Append(nil, r))
}
