package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/dissect"
	"qsniff/dissect/protocols"
	"qsniff/pipeline"
)

func newRead(io streams) *cobra.Command {
	opts := readDefaults()
	cmd := &cobra.Command{
		Use:   "read [flags] FILE",
		Short: "decode a capture",
		Long: `read decodes a capture and prints its messages in the order of the packets that
completed them; a message that stays incomplete comes where that was decided.
FILE is a classic pcap file; "-" is standard input, whose messages are printed as
packets come in.

Exit status: 0 fine, 1 the run failed (what precedes damage is printed), 2 wrong
usage, 130 interrupted.`,
		Example: `  qsniff read -o tree -c 1 capture.pcap      the first message, every byte
  qsniff read -o json --layout capture.pcap  for programs
  ssh host tcpdump -U -w - udp port 27015 | qsniff read -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{errors.New("read: no capture given"), "name a file, or - for standard input"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return read(cmd.Context(), opts, args, io)
		},
	}
	opts.register(cmd)
	return cmd
}

// read decodes one capture to io.
func read(ctx context.Context, opts *readOptions, args []string, io streams) error {
	if len(args) > 1 {
		return &usageError{fmt.Errorf("%d captures given, one can be read at a time", len(args)),
			"join them first: mergecap -w all.pcap FILE..."}
	}
	r, err := opts.renderer(io.out)
	if err != nil {
		return err
	}
	reg, err := dissect.NewRegistry(protocols.All()...)
	if err != nil {
		return err
	}
	as, err := decodeAs(opts.as, reg)
	if err != nil {
		return err
	}
	ctx, release := graceful(ctx, args[0])
	defer release()
	src, err := opts.open(ctx, args[0])
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(int64(opts.memory))
	tell, done := progress(io.err, src)
	result, err := pipeline.Run(ctx, pipeline.Config{
		Source: src, Registry: reg, Renderer: r, Out: io.out,
		Jobs: opts.jobs, Max: opts.count, Memory: int64(opts.memory),
		DecodeAs: as, Progress: tell,
	})
	done()
	if err == nil && opts.count == 0 { // else the reader may still be at it; it ends with the program
		if err := src.Close(); err != nil {
			return err
		}
	}
	if opts.count == 0 {
		remark(io.err, &result)
	}
	if err == nil && interrupted(ctx) {
		return context.Canceled
	}
	return err
}

// open opens the capture with the reader that was asked for. The start of standard
// input may never come, so it is waited for beside ctx.
func (o *readOptions) open(ctx context.Context, name string) (capture.Source, error) {
	if name == stdin && isTerminal(os.Stdin) {
		return nil, &usageError{errors.New("standard input is a terminal"), "pipe a capture in: tcpdump -U -w - udp | qsniff -"}
	}
	type opened struct {
		src capture.Source
		err error
	}
	got := make(chan opened, 1)
	go func() {
		var x opened
		if o.reader == readerLibpcap {
			x.src, x.err = file.OpenLibpcap(name)
		} else {
			x.src, x.err = file.Open(name)
		}
		got <- x
	}()
	select {
	case x := <-got:
		if x.err != nil && interrupted(ctx) {
			return nil, context.Canceled
		}
		return x.src, x.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
