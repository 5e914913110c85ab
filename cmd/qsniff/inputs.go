package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/internal/pipeline"
)

// pollEvery is how long --follow sleeps when there is nothing to read. Chosen: less than
// people notice.
const pollEvery = 100 * time.Millisecond

// input is what a run reads: one capture, or several that are merged by time.
type input struct {
	capture.Source
	isMerged bool
}

// open opens captures, or returns when ctx ends: the first bytes of standard input or of a
// named pipe may never come.
func (o *readOptions) open(ctx context.Context, names []string) (input, error) {
	if slices.Contains(names, stdin) && isTerminal(os.Stdin) {
		return input{}, &usageError{errors.New("standard input is a terminal"), "pipe a capture in: tcpdump -U -w - udp | qsniff -"}
	}
	type opened struct {
		in  input
		err error
	}
	got := make(chan opened, 1)
	go func() {
		in, err := o.openSources(ctx, names)
		got <- opened{in, err}
	}()
	select {
	case x := <-got:
		if x.err != nil && isInterrupted(ctx) {
			return input{}, context.Canceled
		}
		return x.in, x.err
	case <-ctx.Done():
		return input{}, ctx.Err()
	}
}

// openSources opens captures, and keeps the packets that -f chooses.
func (o *readOptions) openSources(ctx context.Context, names []string) (input, error) {
	if o.filter == "" {
		return o.openAll(ctx, names)
	}
	f, err := newFileFilter(o.filter)
	if err != nil {
		return input{}, err
	}
	in, err := o.openAll(ctx, names)
	if in.Source != nil {
		in.Source = capture.Filtered(in.Source, f.keep)
	}
	return in, err
}

// openAll opens captures with the reader that --reader names, and merges several.
func (o *readOptions) openAll(ctx context.Context, names []string) (input, error) {
	opts := []file.Option{file.ReadAhead(pipeline.ReadAhead), file.Pipe(pipeline.Pipe)}
	if o.follow {
		if slices.Contains(names, stdin) {
			return input{}, &usageError{errors.New("standard input is read as it comes anyway"), "leave out --follow"}
		}
		if len(names) > 1 || o.reader != readerNative {
			return input{}, &usageError{errors.New("--follow takes one capture, or one folder of captures, and the native reader"), "run it once for each"}
		}
		src, err := file.Follow(names[0], append(opts, file.Wait(func() error { return wait(ctx) }))...)
		return input{Source: src}, err
	}
	names, err := file.Expand(names)
	if err != nil {
		return input{}, err
	}
	if o.reader == readerGopacket {
		return openGopacket(names, opts)
	}
	if len(names) == 1 {
		src, err := file.Open(names[0], opts...)
		if err != nil {
			return input{}, err
		}
		return input{Source: capture.Align(src)}, nil
	}
	all, err := file.OpenAll(names, opts...)
	if err != nil {
		return input{}, err
	}
	return input{Source: capture.Merge(all...), isMerged: true}, nil
}

// openGopacket opens captures with gopacket's reader.
func openGopacket(names []string, opts []file.Option) (input, error) {
	var all []capture.Source
	for _, name := range names {
		src, err := file.OpenGopacket(name, opts...)
		if err != nil {
			for _, s := range all {
				s.Close()
			}
			return input{}, err
		}
		all = append(all, src)
	}
	if len(all) == 1 {
		return input{Source: all[0]}, nil
	}
	return input{Source: capture.Merge(all...), isMerged: true}, nil
}

// wait sleeps for pollEvery. It returns io.EOF, which ends the capture, when ctx ends.
func wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return io.EOF
	case <-time.After(pollEvery):
		return nil
	}
}
