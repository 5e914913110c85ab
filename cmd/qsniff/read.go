package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"syscall"

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
		Long: `read decodes a capture and prints its messages in packet order. FILE is a
classic pcap file; "-" is standard input, whose messages are printed as packets
come in.

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
	src, err := opts.open(args[0])
	if err != nil {
		return err
	}
	defer src.Close()
	debug.SetMemoryLimit(int64(opts.memory))
	tell, done := progress(io.err, src)
	result, err := pipeline.Run(ctx, pipeline.Config{
		Source: src, Registry: reg, Renderer: r, Out: io.out,
		Jobs: opts.jobs, Max: opts.count, Memory: int64(opts.memory),
		DecodeAs: as, Progress: tell,
	})
	done()
	if opts.count == 0 && !errors.Is(err, syscall.EPIPE) {
		remark(io.err, &result)
	}
	return err
}

// open opens the capture with the reader that was asked for.
func (o *readOptions) open(name string) (capture.Source, error) {
	if name == "-" && isTerminal(os.Stdin) {
		return nil, &usageError{errors.New("standard input is a terminal"), "pipe a capture in: tcpdump -w - udp | qsniff -"}
	}
	if o.reader == readerLibpcap {
		return file.OpenLibpcap(name)
	}
	return file.Open(name)
}
