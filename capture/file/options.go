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

// ReadAhead makes a Reader read the expanded bytes of a compressed capture from what
// wrap returns, which may expand them in another goroutine, beside decoding: this
// package starts none. Close closes the wrapper before the file.
func ReadAhead(wrap func(io.Reader) io.ReadCloser) Option {
	return func(o *options) { o.readAhead = wrap }
}

// Pipe makes OpenLibpcap read compressed captures through a pipe, because libpcap
// reads files only: feed writes the expanded bytes to it and returns its reading end,
// which Close closes.
func Pipe(feed func(io.Reader) (*os.File, error)) Option {
	return func(o *options) { o.pipe = feed }
}

// Wait makes Follow call wait whenever there is nothing to read: it should sleep
// for a moment, or until something has happened. An error of wait ends the
// capture, and Read returns it; io.EOF is the regular end.
func Wait(wait func() error) Option {
	return func(o *options) { o.wait = wait }
}
