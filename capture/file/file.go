// Package file reads and writes capture files. It reads classic pcap in both
// byte orders, with microsecond or nanosecond time stamps and in two modified
// forms, and pcapng; plain or compressed with gzip, zstd, lz4, bzip2 or xz; from a
// file, a pipe, standard input, or a file or ring that is still being written.
// It recognises formats by content, not by name. It writes both formats, plain.
//
// Reader reads a chunk of the input, expands it if it is compressed, and cuts records
// out of it, which become the packets of a capture.Batch. It does not decode them:
// link types are passed on as numbers, network layers are read by netlayer. After
// damage it searches for the next sound record and reports what is missing; it never
// changes a file and never guesses a packet. No number in a file decides how much
// memory is used. OpenGopacket reads the same files with gopacket's readers, to compare
// with this package's own; for programs on gopacket, capture.NewPacketData takes a Reader.
package file

import (
	"io"
	"io/fs"
	"os"
	"syscall"

	"qsniff/capture"
)

// stdinArg is the file name that means standard input, stdinName its name in errors.
const (
	stdinArg  = "-"
	stdinName = "standard input"
)

// Open opens the capture file of that name for reading; "-" is standard input.
// It blocks until the file header has arrived. Its errors are of type *Error;
// those of the operating system stay visible to errors.Is, such as
// fs.ErrNotExist, and a file that is no capture is ErrFormat.
func Open(name string, opts ...Option) (*Reader, error) {
	if name == stdinArg {
		return NewReader(os.Stdin, stdinName, opts...)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, systemError(name, err)
	}
	r, err := NewReader(f, name, opts...)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.closers = append(r.closers, f)
	return r, nil
}

// NewReader reads a capture from in, which errors call name. It blocks until the file
// header has arrived. The caller owns in: Close does not close it. If in is a regular
// file, its size is part of Stats and Read fills its batches; from anything else Read
// delivers what one read of the input brought.
func NewReader(in io.Reader, name string, opts ...Option) (*Reader, error) {
	r := &Reader{in: in, name: name, chunk: minChunk}
	if f, ok := in.(interface{ Stat() (fs.FileInfo, error) }); ok {
		switch info, err := f.Stat(); {
		case err != nil:
			return nil, systemError(name, err)
		case info.IsDir():
			return nil, systemError(name, syscall.EISDIR)
		case info.Mode().IsRegular():
			r.regular = true
			r.stats.Size = info.Size()
		}
	}
	if err := r.readHeader(optionsOf(opts)); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// readHeader reads the beginning of the input, unpacks it if it is compressed, and
// decodes the file header. What arrived after that waits in r.spare for the
// first batch.
func (r *Reader) readHeader(o options) error {
	buf, err := r.readStart()
	if err != nil {
		return err
	}
	if p := packingOf(buf); p != nil {
		if err := r.unpack(p, buf, o); err != nil {
			return err
		}
		if buf, err = r.readStart(); err != nil {
			return err
		}
		if inner := packingOf(buf); inner != nil {
			return twicePackedError(r.name, p, inner)
		}
	}
	n, err := r.parseHeader(buf)
	if err != nil {
		return err
	}
	r.offset = int64(n)
	r.spare = buf[:copy(buf, buf[n:])]
	return nil
}

// readStart reads until the file header is complete, and no further: the next bytes may
// not arrive before the first packet.
func (r *Reader) readStart() (buf []byte, err error) {
	for len(buf) < headerLenOf(buf) && r.inErr == nil {
		buf = r.readMore(buf, minChunk)
	}
	if r.inErr != nil && r.inErr != io.EOF {
		return nil, r.inputError(int64(len(buf)))
	}
	return buf, nil
}

// headerLenOf returns the length of the header of a file that starts with b.
func headerLenOf(b []byte) int {
	var f recordFormat
	switch {
	case isSection(b):
		return minSection
	case len(b) >= 4 && f.parseMagic(b):
		return f.headerLen
	}
	return fileHeaderLen
}

// parseHeader recognises the format by the first bytes of the file and returns where its
// records or blocks begin: the section header of pcapng is a block itself.
func (r *Reader) parseHeader(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, &Error{File: r.name, Offset: wholeFile, Reason: "empty, not even a file header",
			Hint: "nothing was captured, or nothing was written yet: tcpdump -U writes each packet at once",
			Err:  io.ErrUnexpectedEOF}
	}
	if isSection(b) {
		r.isPcapng = true
		return 0, r.parseFirstSection(b)
	}
	return r.format.parse(r.name, b)
}

// LinkType returns the LINKTYPE_ value of all packets of a classic pcap file, without
// the upper bits of the header field (length of the frame check sequence). The packets
// of pcapng each have their own; then it returns that of the first interface, once
// packets have been read.
func (r *Reader) LinkType() uint16 {
	if r.isPcapng {
		return r.section.firstLink
	}
	return r.format.link
}

// SnapLen returns the most bytes of a packet that the capturing program kept, as the
// header of classic pcap states it; records may be longer. 0 means no limit, or pcapng,
// of which Interfaces has it.
func (r *Reader) SnapLen() uint32 { return r.format.snapLen }

// Stats counts what has been delivered so far. Bytes is the position in the
// input after the last packet delivered, or of a compressed input what has
// been read of it.
func (r *Reader) Stats() capture.Stats {
	s := r.stats
	s.Bytes = r.offset
	if r.packed != nil {
		s.Bytes = r.packed.read.Load()
	}
	return s
}

// Close closes the file if Open opened it. Packets that were delivered stay
// valid.
func (r *Reader) Close() error {
	var first error
	for _, c := range r.closers {
		if err := c.Close(); err != nil && first == nil {
			first = systemError(r.name, err)
		}
	}
	r.closers = nil
	return first
}

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
