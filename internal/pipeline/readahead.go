package pipeline

import (
	"io"
	"io/fs"
	"os"
	"sync"
)

const (
	// aheadBuffers is how many buffers a reader may be ahead: one being filled,
	// one being taken apart, and two between them, for inputs that come in
	// bursts.
	aheadBuffers = 4

	// aheadBytes is the size of each, in bytes: large against the cost of
	// handing it over, and all four together stay in a second-level cache.
	aheadBytes = 128 << 10

	// maxEmptyReads is how many times in a row in may return neither bytes nor
	// an error: as many as in bufio.
	maxEmptyReads = 100
)

// ReadAhead returns a reader of what in reads, with in read by a goroutine of
// its own, such as a decompressor beside the decoding of what it expands to. It
// hands over what each read of in brings, so that an input that stops for a
// while holds nothing back.
//
// Close ends the goroutine, but does not close in and does not wait for a read
// of it that is under way. in must not be used by anybody else until then.
func ReadAhead(in io.Reader) io.ReadCloser {
	a := &aheadReader{
		full:  make(chan chunk, aheadBuffers),
		empty: make(chan []byte, aheadBuffers),
		done:  make(chan struct{}),
	}
	for range aheadBuffers {
		a.empty <- make([]byte, aheadBytes)
	}
	go a.fillBuffers(in)
	return a
}

// aheadReader is the reader that ReadAhead returns.
type aheadReader struct {
	full  chan chunk
	empty chan []byte
	done  chan struct{}
	close sync.Once

	now  chunk  // the one that is being read
	left []byte // bytes of now that were not read yet
}

// chunk is the result of one read: n bytes in buf, and its error.
type chunk struct {
	buf []byte
	n   int
	err error
}

// fillBuffers reads in until its end or Close.
func (a *aheadReader) fillBuffers(in io.Reader) {
	for {
		var c chunk
		select {
		case c.buf = <-a.empty:
		case <-a.done:
			return
		}
		for tries := 0; c.n == 0 && c.err == nil; tries++ {
			if c.n, c.err = in.Read(c.buf); tries == maxEmptyReads {
				c.err = io.ErrNoProgress
			}
		}
		select {
		case a.full <- c:
		case <-a.done:
			return
		}
		if c.err != nil {
			return
		}
	}
}

// Read returns what has been read, or waits for it.
func (a *aheadReader) Read(b []byte) (int, error) {
	for len(a.left) == 0 {
		if a.now.err != nil {
			return 0, a.now.err
		}
		if a.now.buf != nil {
			a.empty <- a.now.buf
			a.now.buf = nil
		}
		select {
		case a.now = <-a.full:
			a.left = a.now.buf[:a.now.n]
		case <-a.done:
			return 0, fs.ErrClosed
		}
	}
	n := copy(b, a.left)
	a.left = a.left[n:]
	return n, nil
}

// Close ends reading.
func (a *aheadReader) Close() error {
	a.close.Do(func() { close(a.done) })
	return nil
}

// Pipe returns the end of a pipe from which what in reads can be read, for
// libraries that read files only. A goroutine fills the pipe until in ends or
// the pipe is closed.
func Pipe(in io.Reader) (*os.File, error) {
	out, feed, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		// An error of in ends the pipe, as its end would; the caller
		// gets it from in.
		io.Copy(feed, in)
		feed.Close()
	}()
	return out, nil
}
