package file

import (
	"errors"
	"io"
	"io/fs"
	"syscall"

	"qsniff/capture"
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

// ErrGap is the Err of the error that ends a file in which damage was skipped: it was
// read to its end, but not all of it.
var ErrGap = errors.New("damaged places skipped")

// soundness is whether bytes are a record or block.
type soundness uint8

const (
	unsound   soundness = iota
	undecided           // until more of the input has arrived
	sound
)

// damageAt is an error about the record or block at that position of the batch's buffer.
func (r *Reader) damageAt(pos int, reason string) *Error {
	return &Error{File: r.name, Offset: r.offset + int64(pos), Expanded: r.packed != nil,
		Reason: reason, Hint: hintDamage}
}

// lengthError is about a captured length above capture.MaxCaptured.
func (r *Reader) lengthError(pos int, captured uint32) *Error {
	return r.damageAt(pos, lengthReason(captured))
}

// lengthReason returns the reason for a captured length above capture.MaxCaptured.
func lengthReason(captured uint32) string {
	return "captured length " + digits.Grouped(int64(captured)) + " above the limit of " + digits.Grouped(capture.MaxCaptured)
}

// cutError is about a record or block at offset of which the input holds no more
// than rest. header is the length of its header, want the length of all of it as the
// header states, 0 if that is unknown.
func (r *Reader) cutError(offset int64, what string, header int, rest []byte, want int64) *Error {
	e := &Error{File: r.name, Offset: offset, Expanded: r.packed != nil, Hint: hintCut, Err: io.ErrUnexpectedEOF}
	if want == 0 {
		e.Reason = what + " header cut: " + digits.Grouped(int64(len(rest))) + " of " + digits.Grouped(int64(header)) + " bytes"
		return e
	}
	e.Reason = what + " cut: its header promises " + digits.Grouped(want-int64(header)) + " bytes, " +
		digits.Grouped(int64(len(rest)-header)) + " remain"
	return e
}

// searchSound searches for the next sound record or block after the damage, from pos
// on. It returns where that begins and true, or else where to continue the search.
func (r *Reader) searchSound(buf []byte, pos int) (int, bool) {
	if r.offset+int64(pos) == r.damage.Offset {
		pos++
	}
	pos = min(pos, len(buf))
	if r.isPcapng {
		return r.searchBlocks(buf, pos)
	}
	return r.searchRecords(buf, pos)
}

// addGap reports that skipped bytes from e.Offset on are missing before the
// next packet of b. Gaps without a packet between them become one, so that a batch
// has at most one gap more than packets.
func (r *Reader) addGap(b *capture.Batch, skipped int64, e *Error) {
	if r.extendGap(b, skipped) {
		return
	}
	r.stats.Gaps++
	r.stats.Skipped += skipped
	b.Gaps = append(b.Gaps, capture.Gap{At: len(b.Packets), File: r.name, Offset: e.Offset,
		Skipped: skipped, Reason: e.Reason, Hint: hintGap})
	if r.firstDamage == nil {
		r.firstDamage = e
	}
}

// extendGap adds skipped bytes to the gap before the next packet of b, and reports
// whether there is one.
func (r *Reader) extendGap(b *capture.Batch, skipped int64) bool {
	last := len(b.Gaps) - 1
	if last < 0 || b.Gaps[last].At != len(b.Packets) {
		return false
	}
	b.Gaps[last].Skipped += skipped
	r.stats.Skipped += skipped
	return true
}

// gapsError is the error at the end of a file in which damage was skipped: the first
// damage, and how much more there was.
func (r *Reader) gapsError() error {
	e := *r.firstDamage
	e.Err = ErrGap
	e.Hint = hintGap
	if r.stats.Gaps > 1 {
		e.Reason += "; with " + digits.Grouped(int64(r.stats.Gaps-1)) + " more damaged places"
	}
	e.Reason += "; " + digits.Counted(uint64(r.stats.Skipped), "byte") + " skipped"
	return &e
}
