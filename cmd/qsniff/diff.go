package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/app/cli"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
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
				return &usageError{errors.New("diff: name two captures of the same traffic"), "qsniff diff EDGE HOST: the one nearer to the clients first"}
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
	f.Var(&textValue{&o.classes, "CLASS,...", true}, "class", "list and write only these: "+strings.Join(diffClasses(), ", "))
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
			return &usageError{fmt.Errorf("--class %s: no such class", name), "one of " + strings.Join(names, ", ")}
		}
		for c := range diff.NumClasses {
			o.shows[c] = o.shows[c] || c.String() == name
		}
	}
	const mostWait = time.Minute // chosen: windows of twice that have to fit into memory
	switch {
	case o.wait < time.Millisecond || o.wait > mostWait:
		return &usageError{fmt.Errorf("--wait %v: from 1ms to %v", o.wait, mostWait), "leave it out for 2s"}
	case o.late <= 0 || o.late > o.wait:
		return &usageError{fmt.Errorf("--late %v: more than 0, and at most --wait", o.late), "leave it out for 100ms"}
	case o.count < 0:
		return &usageError{fmt.Errorf("-c %d: at least 0", o.count), "leave it out for 20"}
	case o.dir == "" && o.write.force:
		return &usageError{errors.New("--force goes with -w"), "name a folder: -w DIR"}
	}
	return nil
}

// runDiff compares two captures and prints the result.
func runDiff(ctx context.Context, opts *diffOptions, args []string, s streams) error {
	if _, isStream, err := opts.listInputs(args); err != nil {
		return err
	} else if isStream {
		return &usageError{errors.New("diff reads captures more than once, and a pipe can be read once"), "write it to a file first"}
	}
	reg := opts.registry()
	o := diff.Options{Registry: reg, Servers: opts.ours, Wait: opts.wait, Late: opts.late, Scale: opts.scale(),
		Open: func(side diff.Side) (capture.Source, error) {
			in, err := opts.open(ctx, args[side:side+1])
			return in.Source, err
		}}
	wants, err := opts.datagramFilter()
	if err != nil {
		return err
	}
	o.Wants = wants
	var frames [2][diff.NumClasses]frameSet
	if opts.dir != "" {
		o.Judged = func(side diff.Side, c diff.Class, frame uint64) { frames[side][c].add(frame) }
	}
	update, done := startPasses(s.err)
	o.Progress = func(r diff.Reading, read capture.Stats) { update(r.String(), read) }
	result, err := diff.Run(ctx, o)
	done()
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
		err = cmp.Or(opts.writeClasses(ctx, s, o.Open, &frames), err)
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

// datagramFilter chooses datagrams by a display filter. It looks at nothing but the datagram itself: at
// no exchange, and at no flow.
type datagramFilter struct {
	reg     *dissect.Registry
	matcher *filter.Matcher
	msg     dissect.Message
	event   render.Event
	stream  *dissect.Proto             // the first one over TCP: it stands for segments in which no message begins
	known   map[dissect.Dissector]bool // those with a message that was believed: from then on their weak claims are, too
}

// datagramFilter returns what -Y chooses datagrams by, nil for all.
func (o *diffOptions) datagramFilter() (func(*packet.Packet, uint64, int64) bool, error) {
	if err := o.checkFilter(); err != nil || o.display.program == nil {
		return nil, err
	}
	if p := o.display.program; p.NeedsAnswers() || p.NeedsPairs() {
		return nil, &usageError{errors.New("-Y: diff chooses datagrams, each by itself: it knows no exchanges and clients"),
			"use fields of the message, of ip and udp; qsniff exchanges -Y knows the others"}
	}
	reg := o.registry()
	x := &datagramFilter{reg: reg, matcher: o.display.program.Matcher(), known: map[dissect.Dissector]bool{}}
	if i := slices.IndexFunc(reg.Protos(), reg.IsStream); i >= 0 {
		x.stream = reg.Protos()[i]
	}
	return x.wants, nil
}

// wants reports whether a datagram matches. Of messages with passwords, or with texts that may repeat
// them, nothing but the type is compared.
func (x *datagramFilter) wants(p *packet.Packet, frame uint64, nanos int64) bool {
	if p.Stop == packet.TCP {
		return x.wantsSegment(p, frame, nanos)
	}
	c := dissect.Context{Src: p.Src, Dst: p.Dst, Wire: p.Wire}
	v := x.reg.Pick(&c, p.Payload)
	if v.Dissector == nil || v.Type == nil {
		return false
	}
	if x.reg.Believe(&c, &v) {
		x.known[v.Dissector] = true
	} else if !x.known[v.Dissector] {
		return false
	}
	m := &x.msg
	if v.Type.Prints != nil || v.Type.Asks.Has(dissect.Remote) {
		m.Reset(v.Dissector.Proto(), nil)
	} else {
		m.Reset(v.Dissector.Proto(), p.Payload)
		v.Dissector.Dissect(&c, v.Type, p.Payload, m)
	}
	m.Type = v.Type
	x.event = render.Event{Frame: frame, Nanos: nanos, File: -1, Iface: -1, Src: p.Src, Dst: p.Dst, Reply: v.Type.FromServer(), Msg: m}
	return x.matcher.Match(&x.event).At(0)
}

// wantsSegment reports whether a TCP segment matches, by the type of the message that begins with it and by its
// ends. Values of consoles are not compared.
func (x *datagramFilter) wantsSegment(p *packet.Packet, frame uint64, nanos int64) bool {
	c := dissect.Context{Src: p.Src, Dst: p.Dst, Wire: p.Wire, Stream: &dissect.Stream{}}
	if x.reg.OnStreamPort(p.Dst.Port()) != x.reg.OnStreamPort(p.Src.Port()) {
		c.Stream.Dir = dissect.ToClient
		if x.reg.OnStreamPort(p.Dst.Port()) {
			c.Stream.Dir = dissect.ToServer
		}
	}
	v := x.reg.PickStream(&c, p.Payload)
	if v.Dissector == nil {
		return x.matchSegment(p, frame, nanos, c.Stream.Dir, x.stream, nil)
	}
	return x.matchSegment(p, frame, nanos, c.Stream.Dir, v.Dissector.Proto(), v.Type)
}

func (x *datagramFilter) matchSegment(p *packet.Packet, frame uint64, nanos int64, dir dissect.Direction, proto *dissect.Proto, t *dissect.Type) bool {
	m := &x.msg
	m.Reset(proto, nil)
	m.Type = t
	x.event = render.Event{Frame: frame, Nanos: nanos, File: -1, Iface: -1, Src: p.Src, Dst: p.Dst, TCP: true, Reply: dir == dissect.ToClient, Msg: m}
	return x.matcher.Match(&x.event).At(0)
}

// writeClasses writes the packets of each class that is listed: a file for each class and capture that
// has any.
func (o *diffOptions) writeClasses(ctx context.Context, s streams, open func(diff.Side) (capture.Source, error), frames *[2][diff.NumClasses]frameSet) error {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return &hintedError{fmt.Errorf("-w %s: %w", o.dir, cli.Reason(err)), "choose a folder that can be made"}
	}
	n := 0
	for side, name := range [...]string{"edge", "host"} {
		src, err := open(diff.Side(side))
		if err != nil {
			return err
		}
		described, _ := src.(capture.Describer)
		var to [diff.NumClasses]*file.Writer
		for c := range diff.NumClasses {
			if len(frames[side][c]) == 0 || !o.shows[c] {
				continue
			}
			path := filepath.Join(o.dir, c.String()+"-"+name+".pcapng")
			w, err := file.Create(path, file.WriteOptions{Interfaces: described, Application: "qsniff", Replace: o.write.force})
			if err != nil {
				src.Close()
				return err
			}
			to[c] = w
			n++
		}
		err = copyClasses(ctx, src, &to, &frames[side])
		for _, w := range to {
			if w != nil {
				err = errors.Join(err, w.Close())
			}
		}
		if err = errors.Join(err, src.Close()); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.err, "qsniff: wrote %s to %s, as captured, passwords included\n", count(uint64(n), "file"), o.dir)
	return nil
}

// copyClasses copies packets to the files of their classes. Damage ends the copy where it ended the comparison, which
// has reported it.
func copyClasses(ctx context.Context, src capture.Source, to *[diff.NumClasses]*file.Writer, frames *[diff.NumClasses]frameSet) error {
	var b capture.Batch
	for ctx.Err() == nil {
		end := src.Read(&b)
		for i := range b.Packets {
			for c, w := range to {
				if p := &b.Packets[i]; w != nil && frames[c].has(p.No) {
					if err := w.Write(p); err != nil {
						return err
					}
				}
			}
		}
		if end != nil {
			return nil
		}
	}
	return ctx.Err()
}
