package file

import (
	"errors"
	"io/fs"
	"strconv"
	"syscall"

	"qsniff/capture"
)

// Error says what is wrong with a file, where, and what to do about it.
type Error struct {
	File   string
	Offset int64  // of the header or record that is damaged, in bytes; negative: the file as a whole
	Reason string // lower case, one line
	Hint   string // what to do, one line; may be empty
	Err    error  // for errors.Is: io.ErrUnexpectedEOF if the file was cut, an error of the system, or nil
}

// wholeFile is the Offset of an error that has no place in the file.
const wholeFile = -1

// Error returns one line, without the hint.
func (e *Error) Error() string {
	if e.Offset < 0 {
		return e.File + ": " + e.Reason
	}
	return e.File + ": byte " + grouped(e.Offset) + ": " + e.Reason
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

const (
	hintCut    = "the capture was interrupted, or copied while it was written; everything before this byte was read"
	hintDamage = "the file was changed after it was written, or its disk was full; everything before this byte was read"
)

// lengthError is about a captured length that nobody can have captured.
func lengthError(name string, offset int64, captured uint32) error {
	return &Error{File: name, Offset: offset, Hint: hintDamage,
		Reason: "captured length " + grouped(int64(captured)) + " above the limit of " + grouped(capture.MaxCaptured)}
}

// readError is about an input that failed at offset.
func readError(name string, offset int64, err error) error {
	e := systemError(name, err)
	e.Offset = offset
	return e
}

// systemError shortens what the operating system said: its own text repeats
// the name and tells which call it was.
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

// grouped writes n with a comma between groups of three digits.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	first := len(digits) % 3
	out := []byte(digits[:first])
	for i := first; i < len(digits); i += 3 {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, digits[i:i+3]...)
	}
	return string(out)
}
