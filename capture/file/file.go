// Package file reads capture files: classic pcap with microsecond or
// nanosecond time stamps in either byte order, from a file, a pipe or standard
// input.
//
// It cuts records out of the input and knows nothing of what is in them: link
// types are passed on as numbers, and network layers are netlayer's business.
// It does not decompress, does not repair a damaged file, and never lets a
// number in the file decide how much memory is used. OpenLibpcap reads the same
// files with libpcap, as a second opinion on this package's own reader.
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
// fs.ErrNotExist.
func Open(name string) (*Reader, error) {
	if name == stdinArg {
		return NewReader(os.Stdin, stdinName)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, systemError(name, err)
	}
	r, err := NewReader(f, name)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.closer = f
	return r, nil
}

// NewReader reads a capture from in and calls it name in errors. It blocks
// until the file header has arrived. The caller keeps in: Close does not close
// it. If in is a regular file, its size is part of Stats and batches are filled
// from it; from anything else Read delivers what one read of the input brought.
func NewReader(in io.Reader, name string) (*Reader, error) {
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
	if err := r.readFileHeader(); err != nil {
		return nil, err
	}
	return r, nil
}

// LinkType is the LINKTYPE_ value of all packets of the file. The upper bits of
// the header field (length of the frame check sequence) are not part of it.
func (r *Reader) LinkType() uint16 { return r.format.link }

// SnapLen is the most bytes of a packet that the capturing program kept, as the
// file header states it: a statement, not a limit that records were held to. 0
// means no limit.
func (r *Reader) SnapLen() uint32 { return r.format.snapLen }

// Stats counts what has been delivered so far. Bytes is the position in the
// input behind the last packet delivered.
func (r *Reader) Stats() capture.Stats {
	s := r.stats
	s.Bytes = r.offset
	return s
}

// Close closes the file if Open opened it. Packets that were delivered stay
// valid.
func (r *Reader) Close() error {
	if r.closer == nil {
		return nil
	}
	c := r.closer
	r.closer = nil
	if err := c.Close(); err != nil {
		return systemError(r.name, err)
	}
	return nil
}
