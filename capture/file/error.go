package file

import (
	"errors"
	"io/fs"
	"syscall"

	"qsniff/internal/base/digits"
)

// ErrFormat is the Err of the error about a file that is no capture, or a capture in a
// format that is not read.
var ErrFormat = errors.New("not a capture that is read")

// Error is what is wrong with a file, where, and what to do about it.
type Error struct {
	File   string
	Offset int64  // of the header or record that is malformed or cut, in bytes; negative: the file as a whole
	Reason string // lower case, one line
	Hint   string // what to do, one line; may be empty

	// Err is for errors.Is: io.ErrUnexpectedEOF if the file was cut, ErrGap if
	// reading went on after damage, ErrFormat, an error of the system or of a
	// decompressor, or nil.
	Err error

	Expanded bool // Offset counts bytes of what a compressed file expands to
}

// wholeFile is the Offset of an error about the file as a whole.
const wholeFile = -1

// Error returns one line, without the hint.
func (e *Error) Error() string {
	if e.Offset < 0 {
		return e.File + ": " + e.Reason
	}
	at := ": byte " + digits.Grouped(e.Offset)
	if e.Expanded {
		at += " of the expanded data"
	}
	return e.File + at + ": " + e.Reason
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

const (
	hintCut    = "the capture was interrupted, or copied while it was written; everything before this byte was read"
	hintDamage = "the file was changed after it was written, or its disk was full; everything before this byte was read"
	hintGap    = "the file was changed after it was written, or its disk was full; what is sound after the damage was read"
)

// inputError is about an input that returned r.inErr at offset.
func (r *Reader) inputError(offset int64) error {
	if r.packed != nil {
		return r.packed.expandError(r.name, offset, r.inErr)
	}
	return readError(r.name, offset, r.inErr)
}

// readError is about a file that could not be read at offset.
func readError(name string, offset int64, err error) error {
	e := systemError(name, err)
	e.Offset = offset
	return e
}

// systemError is about an error of the operating system, whose own text repeats the
// file name and names the system call.
func systemError(name string, err error) *Error {
	e := &Error{File: name, Offset: wholeFile, Err: err}
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Reason = "no such file"
	case errors.Is(err, fs.ErrPermission):
		e.Reason = "permission denied"
		e.Hint = "captures taken as root often belong to root: sudo chown $USER " + shellWord(name)
	case errors.Is(err, syscall.EISDIR):
		e.Reason = "is a directory"
		e.Hint = "name the captures in it: " + shellWord(name) + "/*.pcap"
	case errors.As(err, &path):
		e.Reason = path.Err.Error()
	default:
		e.Reason = err.Error()
	}
	if name == stdinName {
		e.Hint = ""
	}
	return e
}
