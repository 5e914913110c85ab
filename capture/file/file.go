// Package file reads and writes capture files. It reads classic pcap in both
// byte orders, with microsecond or nanosecond time stamps and in two modified
// forms, and pcapng; plain or compressed with gzip, zstd, lz4 or bzip2; from a
// file, a pipe, standard input, or a file or ring that is still being written.
// All of this is told by content, not by name. It writes both formats, plain.
//
// It cuts records out of the input and knows nothing of what is in them: link
// types are passed on as numbers, and network layers are netlayer's business.
// Behind damage it looks for the next sound record and says what is missing; it
// never changes a file and never guesses a packet. No number in a file decides
// how much memory is used. OpenLibpcap reads the same files with libpcap, as a
// second opinion on this package's own reader.
package file

import (
	"io"
	"io/fs"
	"os"
	"syscall"

	"qsniff/capture"
)

// stdinArg is the file name that means standard input, stdinName what errors
// call it.
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

// NewReader reads a capture from in and calls it name in errors. It blocks
// until the file header has arrived. The caller keeps in: Close does not close
// it. If in is a regular file, its size is part of Stats and batches are filled
// from it; from anything else Read delivers what one read of the input brought.
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
	if err := r.start(optionsOf(opts)); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// start reads the beginning of the input, unpacks it if it is compressed, and
// decodes the file header. What arrived after that waits in r.spare for the
// first batch.
func (r *Reader) start(o options) error {
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
			return twicePacked(r.name, p, inner)
		}
	}
	n, err := r.parseStart(buf)
	if err != nil {
		return err
	}
	r.offset = int64(n)
	r.spare = buf[:copy(buf, buf[n:])]
	return nil
}

// readStart reads until the file header is complete, and no longer: more may
// not come before the first packet does.
func (r *Reader) readStart() (buf []byte, err error) {
	for len(buf) < headerLenOf(buf) && r.inErr == nil {
		buf = r.fill(buf, minChunk)
	}
	if r.inErr != nil && r.inErr != io.EOF {
		return nil, r.inputError(int64(len(buf)))
	}
	return buf, nil
}

// headerLenOf is how long the header is of a file that starts with b.
func headerLenOf(b []byte) int {
	var f format
	switch {
	case isSection(b):
		return minSection
	case len(b) >= 4 && f.parseMagic(b):
		return f.headerLen
	}
	return fileHeaderLen
}

// parseStart recognises the format by the first bytes of the file and returns
// how many of them the walk over its records leaves out.
func (r *Reader) parseStart(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, &Error{File: r.name, Offset: wholeFile, Reason: "empty, not even a file header",
			Hint: "nothing was captured, or nothing was written yet: tcpdump -U writes each packet at once",
			Err:  io.ErrUnexpectedEOF}
	}
	if isSection(b) {
		r.blocks = true
		return 0, r.parseFirstSection(b)
	}
	return r.format.parse(r.name, b)
}

// LinkType is the LINKTYPE_ value of all packets of a classic pcap file. The
// upper bits of the header field (length of the frame check sequence) are not
// part of it. The packets of pcapng each have their own; this is the link type
// of the first interface, once packets have been read.
func (r *Reader) LinkType() uint16 {
	if r.blocks {
		return r.section.firstLink
	}
	return r.format.link
}

// SnapLen is the most bytes of a packet that the capturing program kept, as
// classic pcap states it: a statement, not a limit that records were held to. 0
// means no limit, or pcapng, where Interfaces tells.
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
