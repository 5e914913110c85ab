package main

import (
	"context"

	"github.com/spf13/cobra"

	"qsniff/internal/app/remark"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/render"
)

func newRead(io streams) *cobra.Command {
	opts := readDefaults()
	cmd := &cobra.Command{
		Use:     "read [flags] FILE...",
		GroupID: groupTraffic,
		Short:   "decode captures",
		Long: `read decodes captures and prints their messages in the order of the packets that
completed them; a message that stays incomplete comes where that was decided.

FILE is a pcap or pcapng file, plain or compressed with gzip, zstd, lz4, bzip2 or xz;
a folder stands for the captures in it; "-" is standard input, whose messages are
printed as packets come in. Several captures are merged by time.

Floods, and what else qsniff floods finds that asks for something, stand among the
messages as lines of their own where they were detected, changed and were over; CSV
has no form for them.

With -w it writes the packets of these messages in place of printing them, every
fragment, segment and part: as they were captured, with their interfaces, times and
comments, and in pcapng with what qsniff reads in them and the findings as packet
comments, which tshark and Wireshark show (frame.comment). A packet that another one
completed has a comment with the number of that one; numbers are those of the capture
that was read. A file is read twice for this. Of a stream packets are held back for 10 s
of packet time, and at most 4 MiB of them, until their message is complete.

` + filterHelp + `

--mask overwrites in these packets what is printed as <redacted>: with as many x, in
segments, fragments and parts too, and adjusts checksums to that. Passwords of the same
length look the same then, and how long they are still shows. A reply that came
compressed is packed again; if it is not whole, or does not fit, all of it is
overwritten. So are bytes of TCP that are no message's.

Exit status: 0 fine, 1 the run failed (what precedes damage is printed), 2 wrong
usage, 130 interrupted.`,
		Example: `  qsniff read -o tree -c 1 capture.pcap       the first message, every byte
  qsniff read -o json --layout capture.pcap   for programs
  qsniff read monday.pcapng.zst tuesday/      several, merged by time
  qsniff read --follow /var/log/ring          a ring of files that still grows
  qsniff read -Y 'a2s.info.players > 2' evening.pcap   what matches a filter
  qsniff read -w queries.pcapng capture.pcap  the packets of messages, with comments
  ssh host tcpdump -U -w - udp port 27015 | qsniff read -`,
		Args: requireCapture,
		RunE: func(cmd *cobra.Command, args []string) error {
			return readCaptures(cmd.Context(), opts, args, io)
		},
	}
	cmd.ValidArgsFunction = completeCaptures
	opts.register(cmd)
	opts.registerFilter(cmd)
	opts.write.register(cmd)
	addHabits(cmd, opts)
	return cmd
}

// readCaptures decodes captures and prints their messages to io.
func readCaptures(ctx context.Context, opts *readOptions, args []string, io streams) error {
	r, err := opts.newRenderer(io.out, opts.registry().Protos())
	if err != nil {
		return err
	}
	if err := opts.write.check(io.out); err != nil {
		return err
	}
	if opts.write.path == "" {
		return opts.printMessages(ctx, r, args, io)
	}
	if !opts.write.printing {
		r = nil
	}
	return opts.writePackets(ctx, r, args, io)
}

// printMessages decodes captures and prints their messages with r, or nothing if r is nil.
func (o *readOptions) printMessages(ctx context.Context, r render.Renderer, args []string, io streams) error {
	j, err := o.openJob(ctx, args, io)
	if err != nil {
		return err
	}
	defer j.release()
	return o.printJob(j, r)
}

// printJob runs a job and prints its messages with r, or nothing if r is nil.
func (o *readOptions) printJob(j *job, r render.Renderer) error {
	if err := o.parseServers(); err != nil {
		return err
	}
	if err := o.parseOwn(); err != nil {
		return err
	}
	if err := writeHeader(j.io.out, r); err != nil {
		return err
	}
	j.cfg.Renderer, j.streamsOutput = r, r != nil
	if _, ok := r.(render.IncidentRenderer); ok && j.cfg.Filter.AllowsIncidents() {
		j.cfg.Incidents = &incidents{o.newDetector(j.cfg.Registry, flood.Defaults(), advice.DefaultExpiry), o.ours}
	}
	result, err := j.run()
	if o.result != nil {
		*o.result = result
	}
	if err == nil && o.count == 0 { // else a read may still be in progress; it ends with the program
		if err := j.src.Close(); err != nil {
			return err
		}
	}
	if o.count == 0 && (err == nil || result.Packets > 0) { // without packets, the error is enough
		remark.Print(j.io.err, &result)
	}
	return j.exitError(err)
}
