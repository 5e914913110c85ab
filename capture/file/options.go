package file

import (
	"io"
	"os"
)

// Option changes how a capture is opened.
type Option func(*options)

type options struct {
	readAhead func(io.Reader) io.ReadCloser
	pipe      func(io.Reader) (*os.File, error)
	wait      func() error
}

func optionsOf(opts []Option) (o options) {
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// ReadAhead has the expanded bytes of a compressed capture read through what
// wrap returns, so that expanding them can go on beside decoding: this package
// starts no goroutines. Close closes the wrapper before the file.
func ReadAhead(wrap func(io.Reader) io.ReadCloser) Option {
	return func(o *options) { o.readAhead = wrap }
}

// Pipe has OpenLibpcap read compressed captures through a pipe that feed fills
// from the expanded bytes: libpcap reads files only. Close closes the pipe's
// end that feed returned.
func Pipe(feed func(io.Reader) (*os.File, error)) Option {
	return func(o *options) { o.pipe = feed }
}

// Wait has Follow call wait whenever there is nothing to read: it should sleep
// for a moment, or until something has happened. An error of wait ends the
// capture: io.EOF as its end, others as they are.
func Wait(wait func() error) Option {
	return func(o *options) { o.wait = wait }
}
