package pipeline

import (
	"io"
	"io/fs"
	"os"
	"sync"

	"qsniff/capture"
)

// inputs names the files and interfaces that packets come from, and finds the comments
// and gaps of a batch that belong to a packet.
type inputs struct {
	source     capture.Describer // nil if the source does not describe its interfaces
	all        []capture.Interface
	hasSeveral bool // an input has more than one interface
	wasAsked   bool // source was asked for its interfaces in this batch
	file       uint16
	iface      uint16
	found      int     // index of the interface of file and iface, or -1: packets come in runs
	last       *origin // of the packet before, in the same batch; nil: there is none

	gap      int      // index of the batch's next gap
	comment  int      // index of its next comment
	comments [][]byte // of the packet at hand
}

// begin prepares for the packets of a new batch.
func (in *inputs) begin() {
	in.gap, in.comment, in.comments, in.wasAsked, in.last = 0, 0, nil, false, nil
}

// find sets found to the index of an interface. Files may describe interfaces between
// packets, so the source is asked again for one that is not known, once in a batch.
func (in *inputs) find(file, iface uint16) {
	if in.found >= 0 && in.file == file && in.iface == iface || in.source == nil {
		return
	}
	in.file, in.iface, in.found = file, iface, in.index(file, iface)
	if in.found >= 0 || in.wasAsked {
		return
	}
	in.all, in.wasAsked = in.source.Interfaces(), true
	for i := range in.all {
		in.hasSeveral = in.hasSeveral || in.all[i].Index > 0
	}
	in.found = in.index(file, iface)
}

func (in *inputs) index(file, iface uint16) int {
	for i := range in.all {
		if in.all[i].File == file && in.all[i].Index == iface {
			return i
		}
	}
	return -1
}

// originOf returns where a packet came from; one origin stands for a run of packets of b. A
// single interface without a name, as in every classic pcap file, is not worth mentioning.
func (in *inputs) originOf(p *capture.Packet, b *batch) *origin {
	if x := in.last; x != nil && x.file == p.File && x.iface == p.Iface && in.found >= 0 &&
		len(in.comments) == 0 && len(x.comments) == 0 {
		return x
	}
	from := origin{file: p.File, iface: p.Iface, comments: in.comments}
	in.find(p.File, p.Iface)
	if in.found >= 0 {
		from.name = in.all[in.found].Name
		from.known = in.hasSeveral || from.name != ""
	}
	b.origins = append(b.origins, from)
	in.last = &b.origins[len(b.origins)-1]
	return in.last
}

// collectComments appends the comments about packet i of a batch to notes.
func (in *inputs) collectComments(raw *capture.Batch, i int, notes [][]byte) [][]byte {
	in.comments = nil
	start := len(notes)
	for ; in.comment < len(raw.Comments) && raw.Comments[in.comment].At <= i; in.comment++ {
		notes = append(notes, raw.Comments[in.comment].Text)
	}
	if n := len(notes); n > start {
		in.comments = notes[start:n:n]
	}
	return notes
}

// nextGap returns the next gap that precedes packet i of a batch, nil if there is none.
func (in *inputs) nextGap(raw *capture.Batch, i int) *capture.Gap {
	if in.gap == len(raw.Gaps) || raw.Gaps[in.gap].At > i {
		return nil
	}
	in.gap++
	return &raw.Gaps[in.gap-1]
}

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
